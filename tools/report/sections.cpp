// The parts of a report about one run, as JSON.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "tools/compare/run_figures.hpp"
#include "tools/report/detail/figures.hpp"

namespace furlong::tools {

namespace {

std::vector<std::string> without_empty(std::vector<std::string> texts) {
  std::erase(texts, "");
  return texts;
}

// Empty without a text.
std::string after(const char* words, const std::string& text) { return text.empty() ? "" : words + text; }

// A key figure, and what stands below it, as far as it is not empty.
page_json card(std::string_view name, const std::string& value, std::vector<std::string> details = {}) {
  return {{"name", name}, {"value", value}, {"details", without_empty(std::move(details))}};
}

// Which model the final evaluation is about, where that is not the last one.
std::string scored_model(const run_record& run) {
  const auto best = summary_of(run).count("best.version");
  if (best > 0) return "round " + grouped(best) + ", the best by validation";
  const auto* eval = final_evaluation(run);
  if (eval == nullptr || (run.summary && eval == &*run.summary)) return {};
  return "round " + grouped(static_cast<const round_figures*>(eval)->round);
}

// The first metric that a group has, large; the others below.
page_json metric_card(const figure_set& eval, std::size_t group, const std::string& model) {
  std::string title;
  std::string value;
  std::vector<std::string> details;
  for (const auto& which : metrics) {
    const auto found = score(eval, group_key(group), which);
    if (!found) continue;
    const auto text = written(found, which.style);
    std::string name(which.title);
    if (title.empty()) {
      title = name + ", " + std::string(evaluation_groups[group]);
      value = text;
      continue;
    }
    name[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(name[0])));
    details.push_back(name + " " + text);
  }
  details.push_back(model);
  return title.empty() ? page_json() : card(title, value, details);
}

page_json time_card(const run_summary& summary) {
  const auto part = [&](const char* words, const char* key) {
    const auto seconds = summary.figure(key);
    return seconds && !std::isnan(*seconds) ? words + duration(*seconds) : "";
  };
  const bool moved = summary.figure("virtual_seconds") > 0.0;
  return card("Time", written(summary.figure("wall_seconds"), number_style::seconds),
              {part("training ", "train_seconds"),
               moved ? part(summary.text("clock") == "real" ? "rounds " : "virtual ", "virtual_seconds") : "",
               part("processor ", "cpu_seconds")});
}

// Epsilon, and what it is about.
page_json privacy_card(const run_summary& summary) {
  const auto delta = summary.figure("privacy.delta");
  if (!delta) return nullptr;
  const auto epsilon = summary.figure("privacy.epsilon");
  const bool known = epsilon && std::isfinite(*epsilon);
  return card("Privacy", known ? "\u03b5 " + written(epsilon, number_style::plain) : "no \u03b5",
              {"\u03b4 " + written(delta, number_style::plain), after("client, ", summary.text("privacy.relation")),
               summary.figure("privacy.simulated") == 1.0 ? "simulated privacy" : ""});
}

// "after 2 h 07 min", or what was not reached.
page_json target_card(const run_summary& summary) {
  const auto reached = summary.figure("time_to_target.reached");
  if (!reached) return nullptr;
  const auto goal = summary.text("time_to_target.metric") + " " +
                    written(summary.figure("time_to_target.value"), number_style::plain);
  if (reached != 1.0) return card("Target", "not reached", {goal});
  const auto seconds = summary.figure("time_to_target.virtual_seconds");
  const auto round = "round " + grouped(summary.count("time_to_target.version"));
  if (!seconds || !(*seconds > 0.0)) return card("Target", round, {goal});
  return card(summary.text("clock") == "real" ? "Time to target" : "Virtual time to target", duration(*seconds),
              {goal, round});
}

page_json speed_card(const run_summary& summary) {
  const auto rate = summary.figure("examples_per_second");
  return card("Clients per second", written(summary.figure("clients_per_second"), number_style::rate),
              {rate ? written(rate, number_style::count) + " examples" : ""});
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return written({}, number_style::percent);
  return written(static_cast<double>(part) / static_cast<double>(whole), number_style::percent);
}

std::string rounds_text(const event_kind& kind) {
  if (!kind.first_round) return written({}, number_style::plain);
  const auto first = grouped(*kind.first_round);
  return kind.first_round == kind.last_round ? first : first + " \u2013 " + grouped(*kind.last_round);
}

// The first round whose loss or metrics are not finite.
std::optional<std::uint64_t> first_divergence(const run_record& run) {
  const auto judges = [](std::string_view key) {  // figures that a model defines may have gaps
    const auto name = key.starts_with("eval.") ? key.substr(key.rfind('.') + 1) : std::string_view();
    return key == "loss" || std::ranges::find(metrics, name, &metric::key) != metrics.end();
  };
  // A group of one client, which has bad data: that is no divergence.
  const auto lacks_one = [](const round_figures& round, std::string_view key) {
    const std::string group(key.substr(0, key.rfind('.') + 1));
    return round.count(group + "unscored") == 1 && round.count(group + "clients") == 0;
  };
  for (const auto& round : run.rounds)
    for (const auto& [key, value] : round.figures)
      if (!std::isfinite(value) && judges(key) && !lacks_one(round, key)) return round.round;
  return std::nullopt;
}

page_json about(const run_record& run) {
  const auto& summary = summary_of(run);
  return without_empty({run.algorithm + (is_impersonal(run) ? " (not personalized)" : ""), run.model,
                        after("seed ", run.seed), after("kernels ", summary.text("kernel_level")),
                        after("Furlong ", summary.text("furlong"))});
}

page_json notes_of(const run_record& run) {
  const auto first = first_divergence(run);
  const auto idle =
      static_cast<std::uint64_t>(std::ranges::count_if(run.rounds, [](const auto& round) { return !round.applied(); }));
  auto notes = run.notes;
  notes.push_back(protocol_warning({&run, 1}));
  notes.push_back(after("This run failed: ", failure_of(run)));
  if (first) notes.push_back("Training diverged: from round " + grouped(*first) + " on, metrics are not finite.");
  if (idle > 0) notes.push_back("The model stayed as it was in " + counted(idle, "round") + ": no update was applied.");
  return without_empty(notes);
}

page_json cards(const run_record& run) {
  const auto& summary = summary_of(run);
  const auto moved = traffic_of(run);
  const auto given_up = summary.count("rounds_abandoned");
  const auto data = [](const char* name, double total, std::optional<double> each, const char* label) {
    return card(name, written(total, number_style::bytes), {each ? written(each, number_style::bytes) + label : ""});
  };
  auto out = page_json::array();
  if (const auto* eval = final_evaluation(run))
    for (const std::size_t group : {2U, 1U, 0U}) add_some(out, metric_card(*eval, group, scored_model(run)));
  out.push_back(card("Rounds", grouped(rounds_of(run)),
                     {counted(moved.tasks, "client task"), given_up > 0 ? grouped(given_up) + " abandoned" : ""}));
  out.push_back(data("Data down", moved.down, moved.down_per_task(), " a client task"));
  out.push_back(data("Data up", moved.up, moved.up_per_report(), " a report"));
  if (!run.summary) return out;
  for (auto& card : {target_card(summary), privacy_card(summary), speed_card(summary), time_card(summary)})
    add_some(out, card);
  if (const auto peak = summary.figure("peak_rss_bytes"))
    out.push_back(card("Peak memory", written(peak, number_style::bytes)));
  if (summary.figure("private_clients"))
    out.push_back(card("Private state", grouped(summary.count("private_clients")), {"clients with stored values"}));
  return out;
}

page_json accounting(const run_record& run) {
  if (!run.summary) return nullptr;
  const auto& summary = *run.summary;
  auto made = new_table("Accounting", "The outcomes of all selected clients.", {"outcome", "#clients", "#share"});
  const auto selected = summary.count("selected");
  const auto add = [&](const std::string& name, std::uint64_t count, std::string_view kind) {
    add_row(made, {name, grouped(count), share(count, selected)}, kind);
  };
  add("selected", selected, "total");
  std::uint64_t sum = 0;
  for (const std::string key : {"folded", "rejected", "late", "surplus", "dropped", "abandoned", "in_flight"}) {
    const auto parts = summary.counts_in(key + ".");
    const auto count = tasks_with(summary, key);
    sum += count;
    add(key == "in_flight" ? "in flight" : key, count, count == 0 ? "none" : "");
    if (parts.size() < 2) continue;
    for (const auto& [name, part] : parts)
      if (part > 0) add(name, part, "part");
  }
  if (const auto lost = wasted_tasks(summary); lost > 0 && lost < selected)
    add("wasted: ended, not folded", lost, "total");
  if (sum == selected)
    made["hint"] = "Every selected client is accounted for.";
  else
    made["warning"] = "The outcomes do not add up to the selected: " +
                      counted(std::max(sum, selected) - std::min(sum, selected), "client") +
                      (sum < selected ? " missing" : " too many") + ".";
  return made;
}

page_json rejections(const run_record& run) {
  std::vector<event_kind> events;
  std::ranges::copy_if(run.events, std::back_inserter(events),
                       [](const auto& event) { return event.event == "rejected"; });
  auto reasons = summary_of(run).counts_in("rejected.");
  if (!run.summary)
    for (const auto& kind : events) reasons.emplace_back(kind.reason, kind.count);
  const auto total = sum_of(reasons);
  if (total == 0) return nullptr;
  std::ranges::stable_sort(reasons, std::greater<>(), &named_counts::value_type::second);
  auto made =
      new_table("Rejections", "Updates that were not folded, by reason.", {"reason", "#updates", "#share", "#rounds"});
  for (const auto& [reason, count] : reasons) {
    if (count == 0) continue;
    const auto found = std::ranges::find(events, reason, &event_kind::reason);
    add_row(made, {reason.empty() ? "not stated" : reason, grouped(count), share(count, total),
                   rounds_text(found == events.end() ? event_kind() : *found)});
  }
  return made;
}

page_json participation_summary(const run_record& run) {
  const auto& summary = summary_of(run);
  auto made = new_table("Participation of clients", "How many updates of a client were folded, over all clients.",
                        {"a client\u2019s folded updates", "#"});
  const auto add = [&](const char* name, const char* key, number_style style) {
    if (const auto value = summary.figure(key)) add_row(made, {name, written(value, style)});
  };
  add("mean", "participation.mean", number_style::mean);
  add("10 % have at most", "participation.p10", number_style::mean);
  add("median", "participation.p50", number_style::mean);
  add("90 % have at most", "participation.p90", number_style::mean);
  add("most", "participation.max", number_style::mean);
  add("Gini coefficient", "participation.gini", number_style::plain);
  const auto clients = summary.count("participation.clients");
  const auto add_never = [&](const char* name, const char* key) {
    const auto count = summary.count(key);
    if (summary.figure(key))
      add_row(made, {name, grouped(count) + (clients > 0 ? " (" + share(count, clients) + ")" : "")});
  };
  add_never("clients never selected", "participation.never_selected");
  add_never("clients never trained", "participation.never_folded");
  if (summary.figure("participation.gini"))
    made["hint"] = "Gini: 0 when all took part equally often, towards 1 when few did all the work.";
  return made["rows"].empty() ? page_json() : made;
}

// Under an attack or a robust rule: honest clients with few examples and with many.
page_json acceptance(const run_record& run) {
  const auto& summary = summary_of(run);
  if (!summary.has_any("participation.by_activity.")) return nullptr;
  auto made = new_table("Accepted updates by activity",
                        "Honest clients in five parts by their training examples: are those with many accepted too?",
                        {"examples", "#clients", "#tasks", "#folded", "#share"});
  for (const auto* part : {"q1.", "q2.", "q3.", "q4.", "q5."}) {
    const auto before = std::string("participation.by_activity.") + part;
    const auto tasks = summary.count(before + "tasks");
    const auto updates = summary.count(before + "updates");
    add_row(made,
            {grouped(summary.count(before + "least")) + " to " + grouped(summary.count(before + "most")),
             grouped(summary.count(before + "clients")), grouped(tasks), grouped(updates), share(updates, tasks)});
  }
  return made;
}

page_json private_state(const run_record& run) {
  const auto& summary = summary_of(run);
  if (!summary.has_any("private_staleness.") || summary.figure("private_clients") == 0.0) return nullptr;
  auto made = new_table("Private staleness", "How long ago a client\u2019s private values were last trained.",
                        {"in", "#mean", "#median", "#90 %", "#most"});
  const auto add = [&](std::string_view name, const std::string& key, number_style style) {
    std::vector<std::string> cells{std::string(name)};
    for (const auto* figure : {"mean", "p50", "p90", "max"})
      cells.push_back(written(summary.figure(key + figure), style));
    if (summary.has_any(key)) add_row(made, cells);
  };
  add("rounds", "private_staleness.", number_style::mean);
  add(time_word(run), "private_staleness_seconds.", number_style::seconds);
  return made;
}

page_json events(const run_record& run) {
  constexpr std::size_t most = 60;
  if (run.events.empty()) return nullptr;
  std::uint64_t total = 0;
  for (const auto& kind : run.events) total += kind.count;
  auto made = new_table("Events", counted(total, "event") + ", by kind in order of appearance.",
                        {"event", "reason", "#times", "#rounds", "about"});
  for (const auto& kind : std::span(run.events).first(std::min(most, run.events.size()))) {
    const auto subjects = joined(kind.subjects, "; ");
    const bool has_more = kind.subjects.size() < kind.count && !subjects.empty();
    add_row(made,
            {kind.event, kind.reason, grouped(kind.count), rounds_text(kind), subjects + (has_more ? "; \u2026" : "")});
  }
  if (run.events.size() > most) made["hint"] = counted(run.events.size() - most, "more kind") + ": see events.jsonl.";
  return made;
}

page_json hashes(const run_record& run) {
  const auto& summary = summary_of(run);
  const bool has_private = summary.figure("private_clients") != 0.0;  // else it is the hash of nothing
  auto made = page_json::array();
  const auto add = [&](const char* name, const std::string& hash) {
    if (!hash.empty()) made.push_back({name, hash});
  };
  add("shared parameters", summary.text("model_sha256"));
  add("private parameters", has_private ? summary.text("private_sha256") : "");
  add("the server\u2019s tensors of the algorithm", summary.text("added_sha256"));
  return made;
}

}  // namespace

page_json final_metrics(const run_record& run) {
  const auto* eval = final_evaluation(run);
  if (eval == nullptr) return nullptr;
  const bool ended = run.summary && eval == &*run.summary;
  const auto scored = scored_model(run);
  auto made =
      new_table(ended ? "Final evaluation" : "Last evaluation",
                (scored.empty() ? "" : "Of " + scored + ". ") + "Pooled over all examples of a group.", {"group"});
  std::vector<metric> shown(metrics.begin(), metrics.end());
  std::erase_if(shown, [&](const metric& which) {
    const auto has = [&](std::size_t group) { return eval->figure(group_key(group) + which.key).has_value(); };
    return !has(0) && !has(1) && !has(2) && !has(3);
  });
  for (const auto& which : shown) add_heads(made, {std::string("#") + which.title});
  add_heads(made, {"#clients", "#examples"});
  for (std::size_t i = 0; i < evaluation_groups.size(); ++i) {
    if (!eval->has_any(group_key(i))) continue;
    std::vector<std::string> cells{std::string(evaluation_groups[i])};
    for (const auto& which : shown) cells.push_back(written(eval->figure(group_key(i) + which.key), which.style));
    for (const auto* name : {"clients", "examples"}) cells.push_back(grouped(eval->count(group_key(i) + name)));
    add_row(made, cells);
  }
  made["warning"] = protocol_warning({&run, 1});
  made["hint"] = explained_figures({&run, 1});
  return made;
}

namespace {

// Participation and quality by groups of clients.
page_json client_groups(const run_record& run) {
  constexpr std::size_t most = 100;
  const auto& summary = summary_of(run);
  const auto names = client_groups_of(run);
  if (names.empty()) return nullptr;
  const auto before = [](const std::string& name) { return std::string(groups_key) + name + "."; };
  auto made = new_table("Groups of clients", "By evaluation.client_groups: who takes part, and how good the model is.",
                        {"group", "#clients"});
  const bool takes_part = summary.figure(before(names.front()) + "selected").has_value();
  if (takes_part) add_heads(made, {"#tasks", "#folded", "#dropped"});
  std::vector<std::pair<std::size_t, const metric*>> shown;
  for (const std::size_t group : {2U, 1U})
    for (const auto& which : metrics)
      if (std::ranges::any_of(names, [&](const auto& name) {
            return score(summary, before(name) + group_key(group), which).has_value();
          })) {
        shown.emplace_back(group, &which);
        add_heads(made, {std::string("#") + which.title}, evaluation_groups[group]);
      }
  for (const auto& name : std::span(names).first(std::min(most, names.size()))) {
    const auto own = before(name);
    std::vector<std::string> cells{name, grouped(summary.count(own + "clients"))};
    if (takes_part) {
      const auto selected = summary.count(own + "selected");
      for (const auto* key : {"selected", "folded"}) cells.push_back(grouped(summary.count(own + key)));
      cells.push_back(share(sum_of(summary.counts_in(own + "dropped.")), selected));
    }
    for (const auto& [group, which] : shown)
      cells.push_back(written(score(summary, own + group_key(group), *which), which->style));
    add_row(made, cells);
  }
  if (names.size() > most) made["hint"] = counted(names.size() - most, "more group") + ": see summary.json.";
  return made;
}

}  // namespace

page_json run_data(const run_record& run, const std::string& label) {
  page_json made{{"label", label},          {"about", about(run)},          {"notes", notes_of(run)},
                 {"cards", cards(run)},     {"tables", page_json::array()}, {"hashes", hashes(run)},
                 {"scenario", run.scenario}};
  if (!run.summary) made["badge"] = "interrupted";
  if (has_failed(run)) made["badge"] = std::string(state_word(run));
  for (auto& table : {accounting(run), rejections(run), participation_summary(run), acceptance(run), client_groups(run),
                      private_state(run), events(run)})
    add_some(made["tables"], table);
  return made;
}

}  // namespace furlong::tools
