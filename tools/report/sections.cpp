#include "tools/report/detail/sections.hpp"

#include <algorithm>
#include <cmath>

#include "tools/cli/failure.hpp"
#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/html.hpp"
#include "tools/report/detail/numbers.hpp"

namespace furlong::tools {

namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// A key figure. The details below it break between lines, not within.
std::string card(std::string_view label, const std::string& value, const std::vector<std::string>& details = {}) {
  std::vector<std::string> parts;
  for (const auto& detail : details) parts.push_back("<span>" + escape(detail) + "</span>");
  return "<div class=\"card\"><dt>" + escape(label) + "</dt><dd><b>" + escape(value) + "</b>" + joined(parts, ", ") +
         "</dd></div>\n";
}

// The first metric that a group has, large; the second below.
std::string metric_cards(const evaluation_figures& eval) {
  std::string out;
  for (const std::size_t group : {std::size_t{2}, std::size_t{1}, std::size_t{0}}) {  // unseen, seen, validation
    if (!eval[group]) continue;
    std::vector<std::string> texts;
    std::string label;
    for (const auto& which : metrics) {
      const auto value = *eval[group].*which.value;
      if (!value || is_redundant(which, *eval[group])) continue;
      if (texts.empty()) label = which.title + (", " + std::string(evaluation_groups[group]));
      std::string name(texts.empty() ? "" : which.title);
      if (!name.empty())
        name = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0]))) + name.substr(1) + " ";
      texts.push_back(name + written(value, which.style));
    }
    if (texts.empty()) continue;
    out += card(label, texts.front(), {texts.begin() + 1, texts.end()});
  }
  return out;
}

std::string time_card(const run_summary& of) {
  std::vector<std::string> more;
  if (of.train_seconds) more.push_back("training " + duration(*of.train_seconds));
  if (of.virtual_seconds && *of.virtual_seconds > 0)
    more.push_back((of.clock == "real" ? "rounds " : "virtual ") + duration(*of.virtual_seconds));
  if (of.cpu_seconds) more.push_back("processor " + duration(*of.cpu_seconds));
  return card("Time", of.wall_seconds ? duration(*of.wall_seconds) : written({}, number_style::plain), more);
}

// "after 2 h 07 min", or what was not reached.
std::string target_card(const run_summary& of) {
  if (!of.time_to_target) return {};
  const auto& target = *of.time_to_target;
  const auto goal = target.metric + " " + written(target.value, number_style::plain);
  if (!target.reached) return card("Target", "not reached", {goal});
  const bool timed = target.virtual_seconds && *target.virtual_seconds > 0.0;
  std::vector<std::string> more{goal};
  if (target.version && timed) more.push_back("round " + grouped(*target.version));
  const auto when = timed            ? duration(*target.virtual_seconds)
                    : target.version ? "round " + grouped(*target.version)
                                     : std::string("reached");
  const auto title = !timed ? "Target" : of.clock == "real" ? "Time to target" : "Virtual time to target";
  return card(title, when, more);
}

std::string speed_card(const run_summary& of) {
  std::vector<std::string> more;
  if (of.examples_per_second) more.push_back(written(of.examples_per_second, number_style::count) + " examples");
  return card("Clients per second", written(of.clients_per_second, number_style::rate), more);
}

// Rows of the accounting: an outcome, and what it consists of.
struct outcome {
  std::string name;
  std::uint64_t count = 0;
  const named_counts* parts = nullptr;
};

std::vector<outcome> outcomes_of(const run_summary& of) {
  return {{"folded", of.folded, nullptr},
          {"rejected", sum_of(of.rejected), &of.rejected},
          {"late", of.late, nullptr},
          {"surplus", of.surplus, nullptr},
          {"dropped", sum_of(of.dropped), &of.dropped},
          {"abandoned", of.abandoned, nullptr},
          {"in flight", of.in_flight, nullptr}};
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return written({}, number_style::percent);
  return written(static_cast<double>(part) / static_cast<double>(whole), number_style::percent);
}

table_row count_row(const std::string& name, std::uint64_t count, std::uint64_t whole, std::string kind = {}) {
  return {{text_cell(name), number_cell(grouped(count)), number_cell(share(count, whole))}, std::move(kind)};
}

std::string rounds_text(const event_kind& of) {
  if (!of.first_round) return written({}, number_style::plain);
  const auto first = grouped(*of.first_round);
  return of.first_round == of.last_round ? first : first + " \u2013 " + grouped(*of.last_round);
}

bool is_finite(const std::optional<double>& value) { return !value || std::isfinite(*value); }

// The first round whose loss or metrics are not finite.
std::optional<std::uint64_t> first_divergence(const run_record& run) {
  for (const auto& round : run.rounds) {
    bool finite = is_finite(round.loss);
    for (const auto& group : round.eval.value_or(evaluation_figures{}))
      for (const auto& which : metrics) finite = finite && (!group || is_finite(*group.*which.value));
    if (!finite) return round.round;
  }
  return std::nullopt;
}

std::string hash_row(std::string_view name, const std::string& hash) {
  return hash.empty() ? "" : "<dt>" + escape(name) + "</dt><dd><code>" + escape(hash) + "</code></dd>";
}

}  // namespace

std::string about_line(const run_record& run) {
  std::vector<std::string> parts{run.algorithm, run.model};
  if (!run.seed.empty()) parts.push_back("seed " + run.seed);
  if (run.summary && !run.summary->kernel_level.empty()) parts.push_back("kernels " + run.summary->kernel_level);
  if (run.summary && !run.summary->version.empty()) parts.push_back("Furlong " + run.summary->version);
  for (auto& part : parts)
    if (!part.empty()) part = "<span>" + escape(part) + "</span>";
  std::string out = "<p class=\"about\">" + joined(parts, "<i> \u00B7 </i>");
  if (!run.summary) out += " <strong class=\"badge\">interrupted</strong>";
  if (has_failed(run))
    out.append(" <strong class=\"badge\">").append(failure_word(run.summary->failed)).append("</strong>");
  return out + "</p>\n";
}

std::string notes_of(const run_record& run) {
  auto notes = run.notes;
  if (is_no_language_model(run)) notes.push_back(protocol_warning({&run, 1}));
  if (has_failed(run)) notes.push_back("This run failed: " + run.summary->failed);
  if (const auto first = first_divergence(run))
    notes.push_back("Training diverged: from round " + grouped(*first) + " on, metrics are not finite.");
  const auto idle = std::count_if(run.rounds.begin(), run.rounds.end(), [](const auto& r) { return !r.applied; });
  if (idle > 0)
    notes.push_back("The model stayed as it was in " + counted(static_cast<std::uint64_t>(idle), "round") +
                    ": nothing usable was folded.");
  std::string out;
  for (const auto& note : notes) out += warning(note);
  return out;
}

std::string cards(const run_record& run) {
  const auto each = [](std::optional<double> bytes, const char* what) {
    return bytes ? std::vector{written(bytes, number_style::bytes) + what} : std::vector<std::string>();
  };
  std::string out = "<dl class=\"cards\">\n";
  if (const auto eval = final_evaluation(run)) out += metric_cards(*eval);
  const auto moved = traffic_of(run);
  std::vector<std::string> tasks{counted(moved.tasks, "client task")};
  if (run.summary && run.summary->rounds_abandoned > 0)
    tasks.push_back(grouped(run.summary->rounds_abandoned) + " abandoned");
  out += card("Rounds", grouped(rounds_of(run)), tasks);
  out += card("Data down", written(moved.down, number_style::bytes), each(moved.down_per_task(), " a client task"));
  out += card("Data up", written(moved.up, number_style::bytes), each(moved.up_per_report(), " a report"));
  if (!run.summary) return out + "</dl>\n";
  out += target_card(*run.summary) + speed_card(*run.summary) + time_card(*run.summary);
  if (run.summary->peak_rss_bytes)
    out += card("Peak memory", written(static_cast<double>(*run.summary->peak_rss_bytes), number_style::bytes));
  if (run.summary->private_clients)
    out += card("Private state", grouped(*run.summary->private_clients), {"clients with stored values"});
  return out + "</dl>\n";
}

std::string final_metrics(const run_record& run) {
  const auto eval = final_evaluation(run);
  if (!eval) return {};
  std::vector<table_head> heads{{"group", "", false}};
  std::vector<const metric*> shown;
  for (const auto& which : metrics)
    for (const auto& group : *eval)
      if (group && *group.*which.value && (shown.empty() || shown.back() != &which)) {
        shown.push_back(&which);
        heads.push_back({which.title, "", true});
      }
  heads.push_back({"clients", "", true});
  heads.push_back({"examples", "", true});
  std::vector<table_row> rows;
  for (std::size_t i = 0; i < evaluation_groups.size(); ++i) {
    if (!(*eval)[i]) continue;
    const auto& group = *(*eval)[i];
    table_row row{{text_cell(evaluation_groups[i])}, ""};
    for (const auto* which : shown) row.cells.push_back(number_cell(written(group.*which->value, which->style)));
    row.cells.push_back(number_cell(grouped(group.clients)));
    row.cells.push_back(number_cell(grouped(group.examples)));
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return {};
  std::string title = "Final evaluation";
  std::string caption = "Pooled over all examples of a group.";
  if (!run.summary || !run.summary->eval) {
    const auto last =
        std::find_if(run.rounds.rbegin(), run.rounds.rend(), [](const auto& r) { return r.eval.has_value(); });
    title = "Last evaluation";
    caption = "After round " + grouped(last->round) + ". " + caption;
  }
  return "<h2>" + title + "</h2>\n" + html_table(caption, heads, rows) + warning(protocol_warning({&run, 1})) +
         hint(explained_figures({&run, 1}));
}

std::string accounting(const run_record& run) {
  if (!run.summary) return {};
  const auto& of = *run.summary;
  std::vector<table_row> rows{count_row("selected", of.selected, of.selected, "total")};
  std::uint64_t sum = 0;
  for (const auto& end : outcomes_of(of)) {
    sum += end.count;
    rows.push_back(count_row(end.name, end.count, of.selected, end.count == 0 ? "none" : ""));
    if (end.parts == nullptr || end.parts->size() < 2) continue;
    for (const auto& [name, count] : *end.parts)
      if (count > 0) rows.push_back(count_row(name, count, of.selected, "part"));
  }
  if (const auto lost = wasted_tasks(of); lost > 0 && lost < of.selected)
    rows.push_back(count_row("wasted: ended, not folded", lost, of.selected, "total"));
  std::string verdict = "<p class=\"hint\">Every selected client is accounted for.</p>\n";
  if (sum != of.selected) {
    const auto off = sum < of.selected ? of.selected - sum : sum - of.selected;
    verdict = "<p class=\"note\">The outcomes do not add up to the selected: " + counted(off, "client") +
              (sum < of.selected ? " missing" : " too many") + ".</p>\n";
  }
  return "<h2>Accounting</h2>\n" +
         html_table("What became of every selected client.",
                    {{"outcome", "", false}, {"clients", "", true}, {"share", "", true}}, rows) +
         verdict;
}

std::string rejections(const run_record& run) {
  named_counts reasons;
  if (run.summary) reasons = run.summary->rejected;
  if (!run.summary)
    for (const auto& kind : run.events)
      if (kind.event == "rejected") reasons.emplace_back(kind.reason, kind.count);
  const auto all = sum_of(reasons);
  if (all == 0) return {};
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<table_row> rows;
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    auto row = count_row(reason.empty() ? "not stated" : reason, count, all);
    const auto found = std::find_if(run.events.begin(), run.events.end(), [&, &why = reason](const auto& kind) {
      return kind.event == "rejected" && kind.reason == why;
    });
    row.cells.push_back(
        number_cell(found == run.events.end() ? written({}, number_style::plain) : rounds_text(*found)));
    rows.push_back(std::move(row));
  }
  return "<h2>Rejections</h2>\n" +
         html_table("Updates that were not folded, by reason.",
                    {{"reason", "", false}, {"updates", "", true}, {"share", "", true}, {"rounds", "", true}}, rows);
}

std::string events(const run_record& run) {
  constexpr std::size_t most = 60;
  if (run.events.empty()) return {};
  std::vector<table_row> rows;
  std::uint64_t all = 0;
  for (const auto& kind : run.events) {
    all += kind.count;
    if (rows.size() == most) continue;
    auto subjects = joined(kind.subjects, "; ");
    if (kind.subjects.size() < kind.count && !subjects.empty()) subjects += "; \u2026";
    rows.push_back({{text_cell(kind.event), text_cell(kind.reason), number_cell(grouped(kind.count)),
                     number_cell(rounds_text(kind)), text_cell(subjects)},
                    ""});
  }
  std::string out = "<h2>Events</h2>\n" + html_table(counted(all, "event") + ", by kind in order of appearance.",
                                                     {{"event", "", false},
                                                      {"reason", "", false},
                                                      {"times", "", true},
                                                      {"rounds", "", true},
                                                      {"about", "", false}},
                                                     rows);
  if (run.events.size() > most)
    out += "<p class=\"hint\">" + counted(run.events.size() - most, "more kind") + ": see events.jsonl.</p>\n";
  return out;
}

std::string identity(const run_record& run) {
  if (!run.summary) return {};
  auto rows = hash_row("shared parameters", run.summary->model_sha256);
  if (run.summary->private_clients.value_or(1) > 0)  // else it is the hash of nothing
    rows += hash_row("private parameters", run.summary->private_sha256);
  rows += hash_row("the server's tensors of the algorithm", run.summary->added_sha256);
  if (rows.empty()) return {};
  return "<h2>Hashes</h2>\n<p class=\"hint\">SHA-256 of the final parameters: equal hashes, equal bits.</p>\n"
         "<dl class=\"hashes\">" +
         rows + "</dl>\n";
}

std::string scenario_text(const run_record& run) {
  if (run.scenario.empty()) return {};
  return "<details><summary>Resolved scenario</summary><pre tabindex=\"0\"><code>" + escape(run.scenario) +
         "</code></pre></details>\n";
}

}  // namespace furlong::tools
