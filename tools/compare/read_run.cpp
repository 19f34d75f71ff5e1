#include "tools/compare/read_run.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "tools/compare/algorithm_name.hpp"
#include "tools/compare/scenario_settings.hpp"

namespace furlong::tools {

namespace {

using nlohmann::ordered_json;
using path = std::filesystem::path;

/// What is wrong with an object of a file; caught where the place is known.
struct damage {
  std::string why;
};

[[noreturn]] void complain(const std::string& key, const std::string& wanted) {
  throw damage{"\"" + key + "\" must be " + wanted};
}

const ordered_json& member(const ordered_json& of, const std::string& key, const std::string& before = {}) {
  const auto found = of.find(key);
  if (found == of.end() || found->is_null()) throw damage{"has no \"" + before + key + "\""};
  return *found;
}

std::uint64_t whole(const ordered_json& value, const std::string& key) {
  if (!value.is_number_unsigned()) complain(key, "a whole number of 0 or more");
  return value.get<std::uint64_t>();
}

/// Null is NaN: JSON has no other word for what is not finite.
double number(const ordered_json& value, const std::string& key) {
  if (value.is_null()) return std::numeric_limits<double>::quiet_NaN();
  if (!value.is_number()) complain(key, "a number");
  return value.get<double>();
}

/// A text; a number as it is written.
std::string text_of(const ordered_json& value, const std::string& key) {
  if (!value.is_string() && !value.is_number()) complain(key, "a text");
  return value.is_string() ? value.get<std::string>() : value.dump();
}

std::string text_at(const ordered_json& of, const std::string& key) {
  return of.contains(key) && !of[key].is_null() ? text_of(of[key], key) : std::string();
}

/// Calls `take` with each object of a list and what stands before its members' keys.
void each(const ordered_json& of, const std::string& key, const std::string& before,
          const std::function<void(const ordered_json&, const std::string&)>& take) {
  if (!of.contains(key) || of[key].is_null()) return;
  if (!of[key].is_array()) complain(before + key, "a list of objects");
  for (std::size_t i = 0; i < of[key].size(); ++i) {
    const auto name = before + key + "[" + std::to_string(i) + "]";
    if (!of[key][i].is_object()) complain(name, "an object");
    take(of[key][i], name + ".");
  }
}

template <std::size_t Count>
bool is_one_of(std::string_view key, const std::array<std::string_view, Count>& of) {
  return std::ranges::find(of, key) != of.end();
}

bool is_count(std::string_view key) {
  constexpr std::array<std::string_view, 18> counts{"round",    "rounds",    "selected",        "folded",  "late",
                                                    "surplus",  "abandoned", "in_flight",       "probed",  "available",
                                                    "examples", "bytes_up",  "bytes_down",      "clients", "unscored",
                                                    "least",    "most",      "rounds_abandoned"};
  const auto name = key.starts_with("eval.") ? key.substr(key.rfind('.') + 1) : key;
  return is_one_of(name, counts) || key.starts_with("rejected.") || key.starts_with("dropped.");
}

bool is_object(std::string_view key) {
  return key == "eval" || (key.starts_with("eval.") && is_one_of(key.substr(5), evaluation_groups));
}

bool is_figure(std::string_view key) {
  constexpr std::array<std::string_view, 4> figures{"began", "ended", "loss", "change_norm"};
  return is_one_of(key, figures) || key.starts_with("eval.") || key.starts_with("participation.");
}

/// All numbers and truth values outside of lists; texts where they are wanted.
void read_figures(const ordered_json& object, const std::string& before, figure_set& to,
                  std::map<std::string, std::string, std::less<>>* texts = nullptr) {
  for (const auto& item : object.items()) {
    const auto key = before + item.key();
    const auto& value = item.value();
    if (is_object(key) && !value.is_object() && !value.is_null()) complain(key, "an object");
    if (value.is_object()) {
      if (key != "attention") read_figures(value, key + ".", to, texts);
    } else if (value.is_boolean()) {
      to.figures[key] = value.get<bool>() ? 1.0 : 0.0;
    } else if (value.is_number() || value.is_null()) {
      to.figures[key] = is_count(key) && !value.is_null() ? static_cast<double>(whole(value, key)) : number(value, key);
    } else if (is_count(key) || (is_figure(key) && !value.is_array())) {
      complain(key, is_count(key) ? "a whole number of 0 or more" : "a number");
    } else if (value.is_string() && texts != nullptr) {
      (*texts)[key] = value.get<std::string>();
    }
  }
}

result<ordered_json> parse_object(std::string_view text, const std::string& place) {
  ordered_json parsed;
  try {
    parsed = ordered_json::parse(text);
  } catch (const ordered_json::exception& why) {
    const auto* syntax = dynamic_cast<const ordered_json::parse_error*>(&why);
    const auto where = syntax != nullptr ? " at byte " + std::to_string(syntax->byte) : std::string();
    return fail(error::kind::data, place, "is not valid JSON" + where,
                "restore the file, or delete what is damaged and run again");
  }
  if (!parsed.is_object()) return fail(error::kind::data, place, "is no JSON object");
  return parsed;
}

// The whole file; nothing where there is none.
result<std::optional<std::string>> read_file(const path& file) {
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return std::nullopt;
  std::ifstream in(file, std::ios::binary);
  std::ostringstream text;
  if (!in || (in.peek() != std::ifstream::traits_type::eof() && !(text << in.rdbuf())) || in.bad())
    return fail(error::kind::data, file.string(), "cannot be read: " + std::string(std::strerror(errno)));
  return std::move(text).str();
}

/// Calls `take`; what it throws becomes an error at that place.
template <class Take>
result<void> guarded(const std::string& place, const Take& take) {
  try {
    return take();
  } catch (const damage& why) {
    return fail(error::kind::data, place, why.why);
  }
}

// Calls `take` with every line that is not empty and its place. A last line without a line end that is no JSON was cut
// off by the end of the process; with `torn_is_fine` it is left out, and the result is true.
result<bool> each_line(std::string_view text, const path& file, bool torn_is_fine,
                       const std::function<result<void>(const ordered_json&, const std::string&)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto place = file.string() + ":" + std::to_string(number);
    const auto object = parse_object(line, place);
    if (!object && end == std::string_view::npos && torn_is_fine) return true;
    if (!object) return tl::unexpected(object.error());
    if (auto taken = guarded(place, [&] { return take(*object, place); }); !taken) return tl::unexpected(taken.error());
  }
  return false;
}

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
    const auto [at, is_new] = index.try_emplace({event, reason}, run.events.size());
    if (is_new) run.events.push_back({event, reason, 0, {}, {}, {}});
    count_event(run.events[at->second], round, subject_of(line));
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
    auto& to = run.summary.emplace();
    read_figures(*object, "", to, &to.texts);
    for (const auto* key : {"failed", "furlong", "kernel_level", "clock"}) static_cast<void>(text_at(*object, key));
    const auto seen = object->value("/eval/seen"_json_pointer, ordered_json());
    if (!seen.is_object()) return {};
    const auto read_bins = [&](const char* name, std::vector<figure_set>& bins) {
      each(seen, name, "eval.seen.", [&](const ordered_json& bin, const std::string& before) {
        figure_set of;
        for (const auto& [key, value] : bin.items())
          of.figures[key] =
              is_count(key) ? static_cast<double>(whole(value, before + key)) : number(value, before + key);
        bins.push_back(std::move(of));
      });
    };
    read_bins("by_participation", to.by_participation);
    read_bins("by_activity", to.by_activity);
    return {};
  });
}

// What only the scenario says, and what an interrupted run has no summary for.
void read_scenario(run_record& run) {
  const auto settings = scenario_settings(run.scenario);
  const auto read = [&](std::string_view key, std::string& to) {
    if (const auto* value = find_setting(settings, key); value != nullptr && to.empty()) to = *value;
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

result<void> read_sweep(const path& sweep, std::vector<run_record>& to) {
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
          to.push_back(std::move(*run));
        else
          good = tl::unexpected(run.error());
      } else if (!why.empty()) {
        to.push_back(read_failed(sweep, name, text_at(line, "seed"), why));
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
