#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "tools/report/detail/json_fields.hpp"
#include "tools/report/detail/scenario_settings.hpp"
#include "tools/report/report.hpp"

namespace furlong::tools {

namespace {

using path = std::filesystem::path;

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

// Calls `take` with every line that is not empty and its place. A last line without a line end that is no JSON was cut
// off by the end of the process; with `torn_is_fine` it is left out, and the result is true.
result<bool> each_line(std::string_view text, const path& file, bool torn_is_fine,
                       const std::function<result<void>(const nlohmann::ordered_json&, const std::string&)>& take) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const auto end = text.find('\n');
    const auto line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const auto place = file.string() + ":" + std::to_string(number);
    const auto object = parse_object(line, place);
    if (!object && end == std::string_view::npos && torn_is_fine) return true;
    if (!object) return tl::unexpected(object.error());
    if (auto taken = take(*object, place); !taken) return tl::unexpected(taken.error());
  }
  return false;
}

// What only runs in virtual time say of a round.
void read_outcomes(json_fields& fields, round_figures& round) {
  fields.read("began", round.began);
  fields.read("ended", round.ended);
  fields.read("late", round.late);
  fields.read("surplus", round.surplus);
  fields.read("dropped", round.dropped);
  fields.read("abandoned", round.abandoned);
  fields.read("in_flight", round.in_flight);
  fields.read("probed", round.probed);
  fields.read("available", round.available);
  fields.read("staleness", round.staleness);
  fields.each("spans", [&](json_fields& span) {
    std::optional<double> started;
    std::optional<double> ended;
    auto& task = round.spans.emplace_back();
    for (const auto* key : {"client", "started", "outcome"}) span.require(key);
    span.read("client", task.client);
    span.read("started", started);
    span.read("ended", ended);
    span.read("outcome", task.outcome);
    task.started = started.value_or(0.0);
    task.at_work = !ended;
    task.ended = ended ? *ended : round.ended.value_or(task.started);
  });
}

void read_attention(json_fields& fields, round_figures& round) {
  fields.each("tensors", [&](json_fields& tensor) {
    std::optional<double> least;
    std::optional<double> most;
    auto& of = round.attention.emplace_back();
    for (const auto* key : {"tensor", "min", "max"}) tensor.require(key);
    tensor.read("tensor", of.tensor);
    tensor.read("min", least);
    tensor.read("max", most);
    of.least = least.value_or(0.0);
    of.most = most.value_or(0.0);
  });
}

result<round_figures> read_round(const nlohmann::ordered_json& line, const std::string& place) {
  round_figures round;
  json_fields fields(line, place);
  fields.require("round");
  fields.read("round", round.round);
  fields.read("selected", round.selected);
  fields.read("folded", round.folded);
  fields.read("rejected", round.rejected);
  read_outcomes(fields, round);
  fields.read("examples", round.examples);
  fields.read("bytes_up", round.bytes_up);
  fields.read("bytes_down", round.bytes_down);
  fields.read("loss", round.loss);
  fields.read("change_norm", round.change_norm);
  fields.read("applied", round.applied);
  fields.read("gave_up", round.gave_up);
  fields.read("eval", round.eval);
  fields.within("attention", [&](json_fields& inner) { read_attention(inner, round); });
  if (auto good = fields.check(); !good) return tl::unexpected(good.error());
  return round;
}

result<void> read_metrics(const std::string& text, const path& file, run_record& run) {
  const auto torn = each_line(text, file, !run.summary, [&](const auto& line, const auto& place) -> result<void> {
    auto round = read_round(line, place);
    if (!round) return tl::unexpected(round.error());
    // A round that was given up makes no version: the next one tries again.
    const bool again = !run.rounds.empty() && run.rounds.back().gave_up && round->round == run.rounds.back().round;
    if (!run.rounds.empty() && !again && round->round <= run.rounds.back().round)
      return fail(
          error::kind::data, place,
          "round " + std::to_string(round->round) + " comes after round " + std::to_string(run.rounds.back().round),
          "each round has one line, in order");
    run.rounds.push_back(std::move(*round));
    return {};
  });
  if (!torn) return tl::unexpected(torn.error());
  if (*torn) run.notes.emplace_back("The last line of metrics.jsonl was cut off and is left out.");
  return {};
}

// Whom an event was about: its other members of a plain type, "client 17", and ranges, "clients 3\u20139".
std::string subject_of(const nlohmann::ordered_json& line) {
  constexpr std::array<std::string_view, 5> told_elsewhere{"time", "round", "event", "reason", "stage"};
  std::string subject;
  for (const auto& item : line.items()) {
    const auto& key = item.key();
    const auto& value = item.value();
    const bool range = value.is_array() && value.size() == 2 && value[0].is_number() && value[1].is_number();
    if (std::find(told_elsewhere.begin(), told_elsewhere.end(), key) != told_elsewhere.end()) continue;
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
  if (std::find(kind.subjects.begin(), kind.subjects.end(), subject) == kind.subjects.end())
    kind.subjects.push_back(std::move(subject));
}

result<void> read_events(const std::string& text, const path& file, run_record& run) {
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  const auto torn = each_line(text, file, !run.summary, [&](const auto& line, const auto& place) -> result<void> {
    std::string event;
    std::string reason;
    std::optional<std::uint64_t> round;
    json_fields fields(line, place);
    fields.require("event");
    fields.read("event", event);
    fields.read("stage", reason);
    fields.read("reason", reason);
    fields.read("round", round);
    if (auto good = fields.check(); !good) return good;
    const auto [at, is_new] = index.try_emplace({event, reason}, run.events.size());
    if (is_new) run.events.push_back({event, reason, 0, {}, {}, {}});
    count_event(run.events[at->second], round, subject_of(line));
    return {};
  });
  if (!torn) return tl::unexpected(torn.error());
  if (*torn) run.notes.emplace_back("The last line of events.jsonl was cut off and is left out.");
  return {};
}

void read_participation(json_fields& fields, run_summary& to) {
  fields.read("rounds_abandoned", to.rounds_abandoned);
  fields.within("wasted", [&](json_fields& inner) { inner.read("share", to.wasted_share); });
  fields.read("staleness", to.staleness);
  fields.within("participation", [&](json_fields& inner) {
    auto& of = to.participation.emplace();
    inner.read("clients", of.clients);
    inner.read("mean", of.mean);
    inner.read("gini", of.gini);
    inner.read("p10", of.p10);
    inner.read("p50", of.p50);
    inner.read("p90", of.p90);
    inner.read("max", of.max);
    inner.read("never_selected", of.never_selected);
    inner.read("never_folded", of.never_folded);
  });
  fields.within("time_to_target", [&](json_fields& inner) {
    auto& of = to.time_to_target.emplace();
    inner.read("metric", of.metric);
    inner.read("value", of.value);
    inner.read("reached", of.reached);
    inner.read("version", of.version);
    inner.read("virtual_seconds", of.virtual_seconds);
  });
  fields.within("privacy", [&](json_fields& inner) {
    auto& of = to.privacy.emplace();
    inner.read("epsilon", of.epsilon);
    inner.read("delta", of.delta);
    inner.read("relation", of.relation);
    inner.read("simulated", of.simulated);
  });
  fields.within("eval", [&](json_fields& eval) {
    eval.within("seen", [&](json_fields& seen) {
      seen.each("by_participation", [&](json_fields& bin) {
        auto& of = to.by_participation.emplace_back();
        bin.read("least", of.least);
        bin.read("most", of.most);
        bin.read(of.of);
      });
    });
  });
}

void read_figures(json_fields& fields, run_summary& to) {
  fields.read("furlong", to.version);
  fields.read("failed", to.failed);
  fields.read("kernel_level", to.kernel_level);
  fields.read("rounds", to.rounds);
  fields.read("model_sha256", to.model_sha256);
  fields.read("private_sha256", to.private_sha256);
  fields.read("added_sha256", to.added_sha256);
  fields.read("clock", to.clock);
  fields.read("wall_seconds", to.wall_seconds);
  fields.read("cpu_seconds", to.cpu_seconds);
  fields.read("train_seconds", to.train_seconds);
  fields.read("virtual_seconds", to.virtual_seconds);
  fields.read("clients_per_second", to.clients_per_second);
  fields.read("examples_per_second", to.examples_per_second);
  fields.read("bytes_up", to.bytes_up);
  fields.read("bytes_down", to.bytes_down);
  fields.read("selected", to.selected);
  fields.read("folded", to.folded);
  fields.read("rejected", to.rejected);
  fields.read("late", to.late);
  fields.read("surplus", to.surplus);
  fields.read("dropped", to.dropped);
  fields.read("abandoned", to.abandoned);
  fields.read("in_flight", to.in_flight);
  fields.read("peak_rss_bytes", to.peak_rss_bytes);
  fields.read("private_clients", to.private_clients);
  fields.read("private_staleness", to.private_staleness);
  fields.read("private_staleness_seconds", to.private_staleness_seconds);
  read_participation(fields, to);
  fields.read("eval", to.eval);
  fields.within("best", [&](json_fields& best) { best.read("version", to.best_version); });
  fields.read("personalized", to.personalized);
  fields.read("smaller_is_better", to.smaller_is_better);
}

void flatten(const nlohmann::ordered_json& object, const std::string& before, run_summary& to) {
  for (const auto& item : object.items()) {
    const auto key = before + item.key();
    if (item.value().is_object()) flatten(item.value(), key + ".", to);
    if (item.value().is_number()) to.figures[key] = item.value().get<double>();
    if (item.value().is_null()) to.figures[key] = std::numeric_limits<double>::quiet_NaN();
  }
}

result<void> read_summary(const std::string& text, const path& file, run_record& run) {
  const auto object = parse_object(text, file.string());
  if (!object) return tl::unexpected(object.error());
  json_fields fields(*object, file.string());
  fields.read("scenario", run.name);
  fields.read("algorithm", run.algorithm);
  fields.read("model", run.model);
  fields.read("seed", run.seed);
  read_figures(fields, run.summary.emplace());
  flatten(*object, "", *run.summary);
  return fields.check();
}

// What only the scenario says, and what an interrupted run has no summary for.
void read_scenario(run_record& run) {
  const auto settings = scenario_settings(run.scenario);
  const auto read = [&](std::string_view key, std::string& to) {
    if (const auto* value = find_setting(settings, key); value != nullptr && to.empty()) to = *value;
  };
  read("scenario.name", run.name);
  read("scenario.seed", run.seed);
  read("algorithm.kind", run.algorithm);
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
  if (!texts[1]) run.notes.emplace_back("This run has no metrics.jsonl: there are no curves to draw.");
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
  run.summary.emplace().failed = why;
  return run;
}

result<void> read_sweep(const path& sweep, std::vector<run_record>& to) {
  const auto file = sweep / "sweep.json";
  const auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  const auto object = parse_object(text->value_or(""), file.string());
  if (!object) return tl::unexpected(object.error());
  json_fields fields(*object, file.string());
  result<void> good;
  fields.each("runs", [&](json_fields& line) {
    std::string name;
    std::string seed;
    std::string why;
    line.require("run");
    line.read("run", name);
    line.read("seed", seed);
    line.read("why", why);
    if (!good || name.empty()) return;
    const auto folder = sweep / name;
    if (std::filesystem::exists(folder / "summary.json") || std::filesystem::exists(folder / "metrics.jsonl")) {
      auto run = read_run(folder);
      if (run)
        to.push_back(std::move(*run));
      else
        good = tl::unexpected(run.error());
    } else if (!why.empty()) {
      to.push_back(read_failed(sweep, name, seed, why));
    }
  });
  return good ? fields.check() : good;
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
