#include "tools/runs/read_run.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "tools/runs/algorithm_name.hpp"
#include "tools/runs/detail/record_json.hpp"
#include "tools/runs/scenario_settings.hpp"

namespace furlong::tools {

namespace {

using namespace detail;
using path = std::filesystem::path;

/// Of a line of metrics.jsonl. Lists of single rounds are longer than all other figures where versions are many.
void add_staleness(const ordered_json& line, std::vector<std::uint64_t>& sums) {
  const auto list = line.value("staleness", ordered_json());
  if (!list.is_null() && !(list.is_array() && std::ranges::all_of(list, &ordered_json::is_number_unsigned)))
    complain("staleness", "a list of whole numbers of 0 or more");
  if (list.size() > sums.size()) sums.resize(list.size());
  for (std::size_t i = 0; i < list.size(); ++i) sums[i] += list[i].get<std::uint64_t>();
}

round_figures read_round(const ordered_json& line) {
  round_figures round;
  round.round = whole(member(line, "round"), "round");
  read_figures(line, "", round);
  each(line, "spans", "", [&](const ordered_json& span, const std::string& before) {
    const auto started = number(member(span, "started", before), before + "started");
    const auto ended = span.contains("ended") ? number(span["ended"], before + "ended") : std::nan("");
    round.spans.push_back({whole(member(span, "client", before), before + "client"), started,
                           std::isnan(ended) ? round.figure("ended").value_or(started) : ended, std::isnan(ended),
                           text_of(member(span, "outcome", before), before + "outcome")});
  });
  if (const auto attention = line.find("attention"); attention != line.end() && attention->is_object())
    each(*attention, "tensors", "attention.", [&](const ordered_json& tensor, const std::string& before) {
      round.attention.push_back({text_of(member(tensor, "tensor", before), before + "tensor"),
                                 number(member(tensor, "min", before), before + "min"),
                                 number(member(tensor, "max", before), before + "max")});
    });
  return round;
}

result<void> read_metrics(const std::string& text, const path& file, run_record& run) {
  const auto torn = each_line(text, file, !run.summary, [&](const auto& line, const auto& place) -> result<void> {
    auto round = read_round(line);
    // A round that was given up makes no version: the next one tries again.
    const auto* last = run.rounds.empty() ? nullptr : &run.rounds.back();
    const bool again = last != nullptr && last->figure("gave_up") == 1.0 && round.round == last->round;
    if (last != nullptr && !again && round.round <= last->round)
      return fail(error::kind::data, place,
                  "round " + std::to_string(round.round) + " comes after round " + std::to_string(last->round),
                  "each round has one line, in order");
    add_staleness(line, run.staleness);
    round.figures.shrink_to_fit();
    run.rounds.push_back(std::move(round));
    return {};
  });
  if (!torn) return tl::unexpected(torn.error());
  if (*torn) run.notes.emplace_back("The last line of metrics.jsonl was cut off and is left out.");
  return {};
}

// Whom an event was about: its other members of a plain type, "client 17", and ranges, "clients 3\u20139".
std::string subject_of(const ordered_json& line) {
  constexpr std::array<std::string_view, 5> told_elsewhere{"time", "round", "event", "reason", "stage"};
  std::string subject;
  for (const auto& item : line.items()) {
    const auto& key = item.key();
    const auto& value = item.value();
    const bool range = value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
    if (std::ranges::find(told_elsewhere, key) != told_elsewhere.end()) continue;
    if (value.is_structured() && !range) continue;
    const auto text = range               ? value[0].dump() + "\u2013" + value[1].dump()
                      : value.is_string() ? value.template get<std::string>()
                                          : value.dump();
    subject += (subject.empty() ? "" : ", ") + key + " " + text;
  }
  return subject;
}

void count_event(event_kind& kind, std::optional<std::uint64_t> round, std::string subject) {
  constexpr std::size_t shown = 4;
  ++kind.count;
  if (round) {
    kind.first_round = std::min(*round, kind.first_round.value_or(*round));
    kind.last_round = std::max(*round, kind.last_round.value_or(*round));
  }
  if (subject.empty() || kind.subjects.size() >= shown) return;
  if (std::ranges::find(kind.subjects, subject) == kind.subjects.end()) kind.subjects.push_back(std::move(subject));
}

result<void> read_events(const std::string& text, const path& file, run_record& run) {
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  const auto torn = each_line(text, file, !run.summary, [&](const auto& line, const auto&) -> result<void> {
    const auto event = text_of(member(line, "event"), "event");
    const auto reason = text_at(line, line.contains("reason") ? "reason" : "stage");
    const auto round = line.contains("round") ? std::optional(whole(line["round"], "round")) : std::nullopt;
    const auto [place, is_new] = index.try_emplace({event, reason}, run.events.size());
    if (is_new) run.events.push_back({event, reason, 0, {}, {}, {}});
    count_event(run.events[place->second], round, subject_of(line));
    return {};
  });
  if (!torn) return tl::unexpected(torn.error());
  if (*torn) run.notes.emplace_back("The last line of events.jsonl was cut off and is left out.");
  return {};
}

result<void> read_summary(const std::string& text, const path& file, run_record& run) {
  const auto object = parse_object(text, file.string());
  if (!object) return tl::unexpected(object.error());
  return guarded(file.string(), [&]() -> result<void> {
    run.name = text_at(*object, "scenario");
    run.algorithm = text_at(*object, "algorithm");
    run.model = text_at(*object, "model");
    run.seed = text_at(*object, "seed");
    auto& summary = run.summary.emplace();
    read_figures(*object, "", summary, &summary.texts);
    for (const auto* key : {"failed", "furlong", "kernel_level", "clock"}) static_cast<void>(text_at(*object, key));
    const auto seen = object->value("/eval/seen"_json_pointer, ordered_json());
    if (!seen.is_object()) return {};
    const auto read_bins = [&](const char* name, std::vector<figure_set>& bins) {
      each(seen, name, "eval.seen.", [&](const ordered_json& bin, const std::string& before) {
        figure_set figures;
        for (const auto& [key, value] : bin.items())
          figures.figures[key] =
              is_count(key) ? static_cast<double>(whole(value, before + key)) : number(value, before + key);
        bins.push_back(std::move(figures));
      });
    };
    read_bins("by_participation", summary.by_participation);
    read_bins("by_activity", summary.by_activity);
    return {};
  });
}

// What only the scenario says, and what an interrupted run has no summary for.
void read_scenario(run_record& run) {
  const auto settings = scenario_settings(run.scenario);
  const auto read = [&](std::string_view key, std::string& text) {
    if (const auto* value = find_setting(settings, key); value != nullptr && text.empty()) text = *value;
  };
  read("scenario.name", run.name);
  read("scenario.seed", run.seed);
  if (run.algorithm.empty()) run.algorithm = algorithm_name(settings);
  read("model.kind", run.model);
  read("model.protocol", run.protocol);
  if (run.name.empty()) run.name = run.directory.filename().string();
  std::string deadline;
  read("participation.deadline", deadline);
  double seconds = 0.0;
  const auto end = std::from_chars(deadline.data(), deadline.data() + deadline.size(), seconds);
  if (end.ec == std::errc{} && seconds > 0.0) run.deadline = seconds;
}

}  // namespace

result<run_record> read_run(const path& run_directory) {
  run_record run;
  run.directory = run_directory.lexically_normal();
  if (!run.directory.has_filename()) run.directory = run.directory.parent_path();  // "run/" is "run"
  std::array<std::optional<std::string>, 4> texts;
  const std::array names{"summary.json", "metrics.jsonl", "events.jsonl", "scenario.toml"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    auto text = read_file(run_directory / names[i]);
    if (!text) return tl::unexpected(text.error());
    texts[i] = std::move(*text);
  }
  if (!std::filesystem::exists(run_directory))
    return fail(error::kind::data, run_directory.string(), "does not exist", "name the folder of a run");
  if (!texts[0] && !texts[1])
    return fail(error::kind::data, run_directory.string(), "holds neither summary.json nor metrics.jsonl",
                "name the folder that `furlong run` wrote");

  result<void> good;
  if (texts[0]) good = read_summary(*texts[0], run_directory / names[0], run);
  if (good && texts[1]) good = read_metrics(*texts[1], run_directory / names[1], run);
  if (good && texts[2]) good = read_events(*texts[2], run_directory / names[2], run);
  if (!good) return tl::unexpected(good.error());
  run.scenario = std::move(texts[3]).value_or("");
  read_scenario(run);
  if (!run.summary) run.notes.emplace_back("This run has no summary.json: it was interrupted, or is still going on.");
  if (!texts[1]) run.notes.emplace_back("This run has no metrics.jsonl: the page has no curves.");
  if (!texts[2]) run.notes.emplace_back("This run has no events.jsonl: the page lists no events.");
  if (!texts[3]) run.notes.emplace_back("This run has no scenario.toml: the page does not show its settings.");
  return run;
}

namespace {

// A run of a sweep that left nothing to read, because it failed before its first round.
run_record read_failed(const path& sweep, const std::string& name, const std::string& seed, const std::string& why) {
  run_record run;
  run.directory = sweep / name;
  run.seed = seed;
  if (const auto text = read_file(sweep / "logs" / (name + ".toml")); text && *text) run.scenario = **text;
  read_scenario(run);
  run.summary.emplace().texts["failed"] = why;
  return run;
}

result<void> read_sweep(const path& sweep, std::vector<run_record>& records) {
  const auto file = sweep / "sweep.json";
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  const auto object = parse_object(text->value_or(""), file.string());
  if (!object) return tl::unexpected(object.error());
  return guarded(file.string(), [&]() -> result<void> {
    result<void> good;
    each(*object, "runs", "", [&](const ordered_json& line, const std::string& before) {
      const auto name = text_of(member(line, "run", before), before + "run");
      const auto why = text_at(line, "why");
      const auto folder = sweep / name;
      if (!good) return;
      if (std::filesystem::exists(folder / "summary.json") || std::filesystem::exists(folder / "metrics.jsonl")) {
        auto run = read_run(folder);
        if (run)
          records.push_back(std::move(*run));
        else
          good = tl::unexpected(run.error());
      } else if (!why.empty()) {
        records.push_back(read_failed(sweep, name, text_at(line, "seed"), why));
      }
    });
    return good;
  });
}

}  // namespace

result<std::vector<run_record>> read_runs(std::span<const path> folders) {
  std::vector<run_record> runs;
  for (const auto& folder : folders) {
    if (std::filesystem::exists(folder / "sweep.json")) {
      if (auto good = read_sweep(folder, runs); !good) return tl::unexpected(good.error());
      continue;
    }
    auto run = read_run(folder);
    if (!run) return tl::unexpected(run.error());
    runs.push_back(std::move(*run));
  }
  // A run that is named twice, also as part of a sweep, is one run.
  std::set<path> known;
  std::erase_if(
      runs, [&](const auto& run) { return !known.insert(std::filesystem::weakly_canonical(run.directory)).second; });
  return runs;
}

}  // namespace furlong::tools
