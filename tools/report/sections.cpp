// The parts of a report about one run, as JSON.
#include "tools/report/detail/sections.hpp"

#include <algorithm>
#include <cmath>

#include "tools/cli/failure.hpp"
#include "tools/report/detail/comparison.hpp"
#include "tools/report/detail/numbers.hpp"

namespace furlong::tools {

namespace {

std::string joined(const std::vector<std::string>& parts, std::string_view between) {
  std::string text;
  for (const auto& part : parts)
    if (!part.empty()) text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

// A key figure, and what stands below it.
page_json card(std::string_view name, const std::string& value, const std::vector<std::string>& details = {}) {
  return {{"name", name}, {"value", value}, {"details", details}};
}

// Heads that begin with '#' are of figures.
page_json table_of(std::string_view title, std::string_view caption, std::initializer_list<std::string_view> heads) {
  page_json made{{"title", title}, {"caption", caption}, {"heads", page_json::array()}, {"rows", page_json::array()}};
  for (const auto head : heads) {
    const bool numeric = head.starts_with('#');
    made["heads"].push_back({{"name", head.substr(numeric ? 1 : 0)}, {"numeric", numeric}});
  }
  return made;
}

void add_row(page_json& to, std::vector<std::string> cells, std::string_view kind = {}) {
  page_json row{{"cells", std::move(cells)}};
  if (!kind.empty()) row["kind"] = kind;
  to["rows"].push_back(std::move(row));
}

// The first metric that a group has, large; the second below.
void add_metric_cards(page_json& to, const evaluation_figures& eval) {
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
    to.push_back(card(label, texts.front(), {texts.begin() + 1, texts.end()}));
  }
}

page_json time_card(const run_summary& of) {
  std::vector<std::string> more;
  if (of.train_seconds) more.push_back("training " + duration(*of.train_seconds));
  if (of.virtual_seconds && *of.virtual_seconds > 0)
    more.push_back((of.clock == "real" ? "rounds " : "virtual ") + duration(*of.virtual_seconds));
  if (of.cpu_seconds) more.push_back("processor " + duration(*of.cpu_seconds));
  return card("Time", of.wall_seconds ? duration(*of.wall_seconds) : written({}, number_style::plain), more);
}

// Epsilon, and what it is about.
page_json privacy_card(const privacy_figures& of) {
  const bool known = of.epsilon && std::isfinite(*of.epsilon);
  std::vector<std::string> more{"\u03b4 " + written(of.delta, number_style::plain)};
  if (!of.relation.empty()) more.push_back("client, " + of.relation);
  if (of.simulated) more.emplace_back("simulated privacy");
  return card("Privacy", known ? "\u03b5 " + written(of.epsilon, number_style::plain) : "no \u03b5", more);
}

// "after 2 h 07 min", or what was not reached.
page_json target_card(const run_summary& of) {
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

page_json speed_card(const run_summary& of) {
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

void add_count(page_json& to, const std::string& name, std::uint64_t count, std::uint64_t whole,
               std::string_view kind = {}) {
  add_row(to, {name, grouped(count), share(count, whole)}, kind);
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

page_json about(const run_record& run) {
  page_json parts = page_json::array();
  const auto add = [&](const std::string& before, const std::string& text) {
    if (!text.empty()) parts.push_back(before + text);
  };
  const bool impersonal = run.summary && run.summary->personalized == false;
  add("", run.algorithm + (impersonal ? " (not personalized)" : ""));
  add("", run.model);
  add("seed ", run.seed);
  if (run.summary) add("kernels ", run.summary->kernel_level);
  if (run.summary) add("Furlong ", run.summary->version);
  return parts;
}

page_json notes_of(const run_record& run) {
  auto notes = run.notes;
  if (is_no_language_model(run)) notes.push_back(protocol_warning({&run, 1}));
  if (has_failed(run)) notes.push_back("This run failed: " + run.summary->failed);
  if (const auto first = first_divergence(run))
    notes.push_back("Training diverged: from round " + grouped(*first) + " on, metrics are not finite.");
  const auto idle = std::count_if(run.rounds.begin(), run.rounds.end(), [](const auto& r) { return !r.applied; });
  if (idle > 0)
    notes.push_back("The model stayed as it was in " + counted(static_cast<std::uint64_t>(idle), "round") +
                    ": nothing usable was folded.");
  return notes;
}

page_json cards(const run_record& run) {
  const auto each = [](std::optional<double> bytes, const char* what) {
    return bytes ? std::vector{written(bytes, number_style::bytes) + what} : std::vector<std::string>();
  };
  page_json out = page_json::array();
  if (const auto eval = final_evaluation(run)) add_metric_cards(out, *eval);
  const auto moved = traffic_of(run);
  std::vector<std::string> tasks{counted(moved.tasks, "client task")};
  if (run.summary && run.summary->rounds_abandoned > 0)
    tasks.push_back(grouped(run.summary->rounds_abandoned) + " abandoned");
  out.push_back(card("Rounds", grouped(rounds_of(run)), tasks));
  out.push_back(
      card("Data down", written(moved.down, number_style::bytes), each(moved.down_per_task(), " a client task")));
  out.push_back(card("Data up", written(moved.up, number_style::bytes), each(moved.up_per_report(), " a report")));
  if (!run.summary) return out;
  if (run.summary->time_to_target) out.push_back(target_card(*run.summary));
  if (run.summary->privacy) out.push_back(privacy_card(*run.summary->privacy));
  out.push_back(speed_card(*run.summary));
  out.push_back(time_card(*run.summary));
  if (run.summary->peak_rss_bytes)
    out.push_back(card("Peak memory", written(static_cast<double>(*run.summary->peak_rss_bytes), number_style::bytes)));
  if (run.summary->private_clients)
    out.push_back(card("Private state", grouped(*run.summary->private_clients), {"clients with stored values"}));
  return out;
}

page_json accounting(const run_record& run) {
  if (!run.summary) return nullptr;
  const auto& of = *run.summary;
  auto made = table_of("Accounting", "What became of every selected client.", {"outcome", "#clients", "#share"});
  add_count(made, "selected", of.selected, of.selected, "total");
  std::uint64_t sum = 0;
  for (const auto& end : outcomes_of(of)) {
    sum += end.count;
    add_count(made, end.name, end.count, of.selected, end.count == 0 ? "none" : "");
    if (end.parts == nullptr || end.parts->size() < 2) continue;
    for (const auto& [name, count] : *end.parts)
      if (count > 0) add_count(made, name, count, of.selected, "part");
  }
  if (const auto lost = wasted_tasks(of); lost > 0 && lost < of.selected)
    add_count(made, "wasted: ended, not folded", lost, of.selected, "total");
  if (sum == of.selected) {
    made["hint"] = "Every selected client is accounted for.";
  } else {
    const auto off = sum < of.selected ? of.selected - sum : sum - of.selected;
    made["warning"] = "The outcomes do not add up to the selected: " + counted(off, "client") +
                      (sum < of.selected ? " missing" : " too many") + ".";
  }
  return made;
}

page_json rejections(const run_record& run) {
  named_counts reasons;
  if (run.summary) reasons = run.summary->rejected;
  if (!run.summary)
    for (const auto& kind : run.events)
      if (kind.event == "rejected") reasons.emplace_back(kind.reason, kind.count);
  const auto all = sum_of(reasons);
  if (all == 0) return nullptr;
  std::stable_sort(reasons.begin(), reasons.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  auto made =
      table_of("Rejections", "Updates that were not folded, by reason.", {"reason", "#updates", "#share", "#rounds"});
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    const auto found = std::find_if(run.events.begin(), run.events.end(), [&, &why = reason](const auto& kind) {
      return kind.event == "rejected" && kind.reason == why;
    });
    add_row(made, {reason.empty() ? "not stated" : reason, grouped(count), share(count, all),
                   found == run.events.end() ? written({}, number_style::plain) : rounds_text(*found)});
  }
  return made;
}

// How many, and their share where all are known.
std::string never(std::uint64_t count, std::optional<std::uint64_t> clients) {
  return grouped(count) + (clients && *clients > 0 ? " (" + share(count, *clients) + ")" : "");
}

page_json participation_summary(const run_record& run) {
  if (!run.summary || !run.summary->participation) return nullptr;
  const auto& of = *run.summary->participation;
  auto made = table_of("Participation of clients", "How many updates of a client were folded, over all clients.",
                       {"a client\u2019s folded updates", "#"});
  const auto add = [&](std::string name, std::optional<double> value, number_style style) {
    if (value) add_row(made, {std::move(name), written(value, style)});
  };
  add("mean", of.mean, number_style::mean);
  add("10 % have at most", of.p10, number_style::mean);
  add("median", of.p50, number_style::mean);
  add("90 % have at most", of.p90, number_style::mean);
  add("most", of.max, number_style::mean);
  add("Gini coefficient", of.gini, number_style::plain);
  if (of.never_selected) add_row(made, {"clients never selected", never(*of.never_selected, of.clients)});
  if (of.never_folded) add_row(made, {"clients never trained", never(*of.never_folded, of.clients)});
  if (of.gini) made["hint"] = "Gini: 0 when all took part equally often, towards 1 when few did all the work.";
  return made["rows"].empty() ? page_json() : made;
}

page_json private_state(const run_record& run) {
  if (!run.summary || !run.summary->private_staleness || run.summary->private_clients == 0U) return nullptr;
  auto made = table_of("Private staleness", "How long ago a client\u2019s private values were last trained.",
                       {"in", "#mean", "#median", "#90 %", "#most"});
  const auto add = [&](std::string_view name, const staleness_figures& of, number_style style) {
    add_row(made, {std::string(name), written(of.mean, style), written(of.p50, style), written(of.p90, style),
                   written(of.max, style)});
  };
  add("rounds", *run.summary->private_staleness, number_style::mean);
  if (run.summary->private_staleness_seconds)
    add(time_word(run), *run.summary->private_staleness_seconds, number_style::seconds);
  return made;
}

page_json events(const run_record& run) {
  constexpr std::size_t most = 60;
  if (run.events.empty()) return nullptr;
  std::uint64_t all = 0;
  for (const auto& kind : run.events) all += kind.count;
  auto made = table_of("Events", counted(all, "event") + ", by kind in order of appearance.",
                       {"event", "reason", "#times", "#rounds", "about"});
  for (std::size_t i = 0; i < std::min(most, run.events.size()); ++i) {
    const auto& kind = run.events[i];
    auto subjects = joined(kind.subjects, "; ");
    if (kind.subjects.size() < kind.count && !subjects.empty()) subjects += "; \u2026";
    add_row(made, {kind.event, kind.reason, grouped(kind.count), rounds_text(kind), subjects});
  }
  if (run.events.size() > most) made["hint"] = counted(run.events.size() - most, "more kind") + ": see events.jsonl.";
  return made;
}

page_json hashes(const run_record& run) {
  page_json made = page_json::array();
  const auto add = [&](const char* name, const std::string& hash) {
    if (!hash.empty()) made.push_back({name, hash});
  };
  if (!run.summary) return made;
  add("shared parameters", run.summary->model_sha256);
  if (run.summary->private_clients.value_or(1) > 0)  // else it is the hash of nothing
    add("private parameters", run.summary->private_sha256);
  add("the server\u2019s tensors of the algorithm", run.summary->added_sha256);
  return made;
}

}  // namespace

page_json final_metrics(const run_record& run) {
  const auto eval = final_evaluation(run);
  if (!eval) return nullptr;
  const bool ended = run.summary && run.summary->eval;
  std::string caption = "Pooled over all examples of a group.";
  if (!ended) {
    const auto last =
        std::find_if(run.rounds.rbegin(), run.rounds.rend(), [](const auto& r) { return r.eval.has_value(); });
    caption = "After round " + grouped(last->round) + ". " + caption;
  }
  auto made = table_of(ended ? "Final evaluation" : "Last evaluation", caption, {"group"});
  std::vector<const metric*> shown;
  for (const auto& which : metrics)
    if (std::any_of(eval->begin(), eval->end(), [&](const auto& group) { return group && *group.*which.value; })) {
      shown.push_back(&which);
      made["heads"].push_back({{"name", which.title}, {"numeric", true}});
    }
  for (const auto* name : {"clients", "examples"}) made["heads"].push_back({{"name", name}, {"numeric", true}});
  for (std::size_t i = 0; i < evaluation_groups.size(); ++i) {
    if (!(*eval)[i]) continue;
    const auto& group = *(*eval)[i];
    std::vector<std::string> cells{std::string(evaluation_groups[i])};
    for (const auto* which : shown) cells.push_back(written(group.*which->value, which->style));
    cells.push_back(grouped(group.clients));
    cells.push_back(grouped(group.examples));
    add_row(made, std::move(cells));
  }
  made["warning"] = protocol_warning({&run, 1});
  made["hint"] = explained_figures({&run, 1});
  return made;
}

page_json run_data(const run_record& run, const std::string& label) {
  page_json made{{"label", label},          {"about", about(run)},          {"notes", notes_of(run)},
                 {"cards", cards(run)},     {"tables", page_json::array()}, {"hashes", hashes(run)},
                 {"scenario", run.scenario}};
  if (!run.summary) made["badge"] = "interrupted";
  if (has_failed(run)) made["badge"] = failure_word(run.summary->failed);
  for (auto table : {accounting(run), rejections(run), participation_summary(run), private_state(run), events(run)})
    if (!table.is_null()) made["tables"].push_back(std::move(table));
  return made;
}

}  // namespace furlong::tools
