// The parts of a report about one run, as JSON.
#include "tools/report/detail/sections.hpp"

#include <algorithm>
#include <cmath>

#include "tools/compare/numbers.hpp"
#include "tools/compare/run_figures.hpp"

namespace furlong::tools {

namespace {

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

// Which model the final evaluation is about, where that is not the last one.
std::string scored_model(const run_record& run) {
  const auto best = run.summary ? run.summary->count("best.version") : 0;
  if (best > 0) return "round " + grouped(best) + ", the best by validation";
  const auto* eval = final_evaluation(run);
  if (eval == nullptr || (run.summary && eval == &*run.summary)) return {};
  return "round " + grouped(static_cast<const round_figures*>(eval)->round);
}

// The first metric that a group has, large; the second below.
void add_metric_cards(page_json& to, const figure_set& eval, const std::string& model) {
  for (const std::size_t group : {std::size_t{2}, std::size_t{1}, std::size_t{0}}) {  // unseen, seen, validation
    std::vector<std::string> texts;
    std::string label;
    for (const auto& which : metrics) {
      const auto value = score(eval, group_key(group), which);
      if (!value) continue;
      if (texts.empty()) label = which.title + (", " + std::string(evaluation_groups[group]));
      std::string name(texts.empty() ? "" : which.title);
      if (!name.empty())
        name = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0]))) + name.substr(1) + " ";
      texts.push_back(name + written(value, is_percentage(which.style) ? number_style::percent : which.style));
    }
    if (texts.empty()) continue;
    if (!model.empty()) texts.push_back(model);
    to.push_back(card(label, texts.front(), {texts.begin() + 1, texts.end()}));
  }
}

page_json time_card(const run_summary& of) {
  std::vector<std::string> more;
  const auto add = [&](const char* word, std::optional<double> seconds) {
    if (seconds && !std::isnan(*seconds)) more.push_back(word + duration(*seconds));
  };
  add("training ", of.figure("train_seconds"));
  if (of.figure("virtual_seconds") > 0.0)
    add(of.text("clock") == "real" ? "rounds " : "virtual ", of.figure("virtual_seconds"));
  add("processor ", of.figure("cpu_seconds"));
  return card("Time", written(of.figure("wall_seconds"), number_style::seconds), more);
}

// Epsilon, and what it is about.
page_json privacy_card(const run_summary& of) {
  const auto epsilon = of.figure("privacy.epsilon");
  std::vector<std::string> more{"\u03b4 " + written(of.figure("privacy.delta"), number_style::plain)};
  if (const auto relation = of.text("privacy.relation"); !relation.empty()) more.push_back("client, " + relation);
  if (of.figure("privacy.simulated") == 1.0) more.emplace_back("simulated privacy");
  const bool known = epsilon && std::isfinite(*epsilon);
  return card("Privacy", known ? "\u03b5 " + written(epsilon, number_style::plain) : "no \u03b5", more);
}

// "after 2 h 07 min", or what was not reached.
page_json target_card(const run_summary& of) {
  const auto goal =
      of.text("time_to_target.metric") + " " + written(of.figure("time_to_target.value"), number_style::plain);
  if (of.figure("time_to_target.reached") != 1.0) return card("Target", "not reached", {goal});
  const auto seconds = of.figure("time_to_target.virtual_seconds");
  const bool timed = seconds && *seconds > 0.0;
  const auto round = "round " + grouped(of.count("time_to_target.version"));
  const auto title = !timed ? "Target" : of.text("clock") == "real" ? "Time to target" : "Virtual time to target";
  return card(title, timed ? duration(*seconds) : round, timed ? std::vector{goal, round} : std::vector{goal});
}

page_json speed_card(const run_summary& of) {
  std::vector<std::string> more;
  if (const auto rate = of.figure("examples_per_second"))
    more.push_back(written(rate, number_style::count) + " examples");
  return card("Clients per second", written(of.figure("clients_per_second"), number_style::rate), more);
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

// The first round whose loss or metrics are not finite.
std::optional<std::uint64_t> first_divergence(const run_record& run) {
  const auto judges = [](std::string_view key) {  // figures that a model defines may have gaps
    const auto name = key.starts_with("eval.") ? key.substr(key.rfind('.') + 1) : std::string_view();
    return key == "loss" || std::ranges::any_of(metrics, [&](const auto& one) { return one.key == name; });
  };
  for (const auto& round : run.rounds)
    for (const auto& [key, value] : round.figures)
      if (!std::isfinite(value) && judges(key)) return round.round;
  return std::nullopt;
}

page_json about(const run_record& run) {
  page_json parts = page_json::array();
  const auto add = [&](const std::string& before, const std::string& text) {
    if (!text.empty()) parts.push_back(before + text);
  };
  add("", run.algorithm + (is_impersonal(run) ? " (not personalized)" : ""));
  add("", run.model);
  add("seed ", run.seed);
  if (run.summary) add("kernels ", run.summary->text("kernel_level"));
  if (run.summary) add("Furlong ", run.summary->text("furlong"));
  return parts;
}

page_json notes_of(const run_record& run) {
  auto notes = run.notes;
  if (is_no_language_model(run)) notes.push_back(protocol_warning({&run, 1}));
  if (has_failed(run)) notes.push_back("This run failed: " + failure_of(run));
  if (const auto first = first_divergence(run))
    notes.push_back("Training diverged: from round " + grouped(*first) + " on, metrics are not finite.");
  const auto idle = std::ranges::count_if(run.rounds, [](const auto& r) { return !r.applied(); });
  if (idle > 0)
    notes.push_back("The model stayed as it was in " + counted(static_cast<std::uint64_t>(idle), "round") +
                    ": no update was applied.");
  return notes;
}

page_json cards(const run_record& run) {
  const auto each = [](std::optional<double> bytes, const char* what) {
    return bytes ? std::vector{written(bytes, number_style::bytes) + what} : std::vector<std::string>();
  };
  page_json out = page_json::array();
  if (const auto* eval = final_evaluation(run)) add_metric_cards(out, *eval, scored_model(run));
  const auto moved = traffic_of(run);
  std::vector<std::string> tasks{counted(moved.tasks, "client task")};
  if (const auto given_up = run.summary ? run.summary->count("rounds_abandoned") : 0; given_up > 0)
    tasks.push_back(grouped(given_up) + " abandoned");
  out.push_back(card("Rounds", grouped(rounds_of(run)), tasks));
  out.push_back(
      card("Data down", written(moved.down, number_style::bytes), each(moved.down_per_task(), " a client task")));
  out.push_back(card("Data up", written(moved.up, number_style::bytes), each(moved.up_per_report(), " a report")));
  if (!run.summary) return out;
  const auto& of = *run.summary;
  if (of.figure("time_to_target.reached")) out.push_back(target_card(of));
  if (of.figure("privacy.delta")) out.push_back(privacy_card(of));
  out.push_back(speed_card(of));
  out.push_back(time_card(of));
  if (const auto peak = of.figure("peak_rss_bytes"))
    out.push_back(card("Peak memory", written(peak, number_style::bytes)));
  if (of.figure("private_clients"))
    out.push_back(card("Private state", grouped(of.count("private_clients")), {"clients with stored values"}));
  return out;
}

page_json accounting(const run_record& run) {
  if (!run.summary) return nullptr;
  const auto& of = *run.summary;
  auto made = table_of("Accounting", "What became of every selected client.", {"outcome", "#clients", "#share"});
  const auto selected = of.count("selected");
  add_count(made, "selected", selected, selected, "total");
  std::uint64_t sum = 0;
  for (const std::string key : {"folded", "rejected", "late", "surplus", "dropped", "abandoned", "in_flight"}) {
    const auto parts = of.counts_in(key + ".");
    const auto count = tasks_with(of, key);
    sum += count;
    add_count(made, key == "in_flight" ? "in flight" : key, count, selected, count == 0 ? "none" : "");
    if (parts.size() < 2) continue;
    for (const auto& [name, part] : parts)
      if (part > 0) add_count(made, name, part, selected, "part");
  }
  if (const auto lost = wasted_tasks(of); lost > 0 && lost < selected)
    add_count(made, "wasted: ended, not folded", lost, selected, "total");
  if (sum == selected)
    made["hint"] = "Every selected client is accounted for.";
  else
    made["warning"] = "The outcomes do not add up to the selected: " +
                      counted(std::max(sum, selected) - std::min(sum, selected), "client") +
                      (sum < selected ? " missing" : " too many") + ".";
  return made;
}

page_json rejections(const run_record& run) {
  named_counts reasons;
  if (run.summary) reasons = run.summary->counts_in("rejected.");
  if (!run.summary)
    for (const auto& kind : run.events)
      if (kind.event == "rejected") reasons.emplace_back(kind.reason, kind.count);
  const auto all = sum_of(reasons);
  if (all == 0) return nullptr;
  std::ranges::stable_sort(reasons, [](const auto& a, const auto& b) { return a.second > b.second; });
  auto made =
      table_of("Rejections", "Updates that were not folded, by reason.", {"reason", "#updates", "#share", "#rounds"});
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    const auto found = std::ranges::find_if(
        run.events, [&, &why = reason](const auto& kind) { return kind.event == "rejected" && kind.reason == why; });
    add_row(made, {reason.empty() ? "not stated" : reason, grouped(count), share(count, all),
                   found == run.events.end() ? written({}, number_style::plain) : rounds_text(*found)});
  }
  return made;
}

page_json participation_summary(const run_record& run) {
  if (!run.summary || !run.summary->has_any("participation.")) return nullptr;
  const auto& of = *run.summary;
  auto made = table_of("Participation of clients", "How many updates of a client were folded, over all clients.",
                       {"a client\u2019s folded updates", "#"});
  for (const auto& [key, name] :
       std::initializer_list<std::pair<const char*, const char*>>{{"mean", "mean"},
                                                                  {"p10", "10 % have at most"},
                                                                  {"p50", "median"},
                                                                  {"p90", "90 % have at most"},
                                                                  {"max", "most"},
                                                                  {"gini", "Gini coefficient"}})
    if (const auto value = of.figure(std::string("participation.") + key))
      add_row(made, {name, written(value, key == std::string("gini") ? number_style::plain : number_style::mean)});
  for (const std::string key : {"selected", "folded"})
    if (const auto never = of.figure("participation.never_" + key)) {
      const auto all = of.count("participation.clients");
      const auto count = of.count("participation.never_" + key);
      add_row(made, {std::string("clients never ") + (key == "folded" ? "trained" : "selected"),
                     grouped(count) + (all > 0 ? " (" + share(count, all) + ")" : "")});
    }
  if (of.figure("participation.gini"))
    made["hint"] = "Gini: 0 when all took part equally often, towards 1 when few did all the work.";
  return made["rows"].empty() ? page_json() : made;
}

page_json private_state(const run_record& run) {
  if (!run.summary || !run.summary->has_any("private_staleness.") || run.summary->figure("private_clients") == 0.0)
    return nullptr;
  auto made = table_of("Private staleness", "How long ago a client\u2019s private values were last trained.",
                       {"in", "#mean", "#median", "#90 %", "#most"});
  const auto add = [&](std::string_view name, const std::string& key, number_style style) {
    std::vector<std::string> cells{std::string(name)};
    for (const auto* figure : {"mean", "p50", "p90", "max"})
      cells.push_back(written(run.summary->figure(key + figure), style));
    if (run.summary->has_any(key)) add_row(made, std::move(cells));
  };
  add("rounds", "private_staleness.", number_style::mean);
  add(time_word(run), "private_staleness_seconds.", number_style::seconds);
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
  add("shared parameters", run.summary->text("model_sha256"));
  if (run.summary->figure("private_clients") != 0.0)  // else it is the hash of nothing
    add("private parameters", run.summary->text("private_sha256"));
  add("the server\u2019s tensors of the algorithm", run.summary->text("added_sha256"));
  return made;
}

}  // namespace

page_json final_metrics(const run_record& run) {
  const auto* eval = final_evaluation(run);
  if (eval == nullptr) return nullptr;
  const bool ended = run.summary && eval == &*run.summary;
  const auto of = scored_model(run);
  auto made = table_of(ended ? "Final evaluation" : "Last evaluation",
                       (of.empty() ? "" : "Of " + of + ". ") + "Pooled over all examples of a group.", {"group"});
  std::vector<const metric*> shown;
  for (const auto& which : metrics)
    for (std::size_t group = 0; group < evaluation_groups.size(); ++group)
      if (eval->figure(group_key(group) + which.key) && (shown.empty() || shown.back() != &which)) {
        shown.push_back(&which);
        made["heads"].push_back({{"name", which.title}, {"numeric", true}});
      }
  for (const auto* name : {"clients", "examples"}) made["heads"].push_back({{"name", name}, {"numeric", true}});
  for (std::size_t i = 0; i < evaluation_groups.size(); ++i) {
    if (!eval->has_any(group_key(i))) continue;
    std::vector<std::string> cells{std::string(evaluation_groups[i])};
    for (const auto* which : shown) cells.push_back(written(eval->figure(group_key(i) + which->key), which->style));
    for (const auto* name : {"clients", "examples"}) cells.push_back(grouped(eval->count(group_key(i) + name)));
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
  if (has_failed(run)) made["badge"] = std::string(state_word(run));
  for (auto table : {accounting(run), rejections(run), participation_summary(run), private_state(run), events(run)})
    if (!table.is_null()) made["tables"].push_back(std::move(table));
  return made;
}

}  // namespace furlong::tools
