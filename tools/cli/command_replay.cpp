// furlong replay
//
// A replay is a run of the same scenario with one more event: the removed clients are unresponsive from the start. They
// are selected as before and never report; every draw about another client is keyed by that client and stays. So the
// replay is the run that would have been, to the bit. Rounds before the first of them was selected are not trained
// again if a checkpoint of these was kept (kept_checkpoints.hpp).
#include <algorithm>
#include <fmt/format.h>
#include <fstream>
#include <iostream>
#include <ranges>
#include <utility>

#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/private_values.hpp"
#include "scenarios/schema/records.hpp"
#include "storage/checkpoint.hpp"
#include "storage/durable_folder.hpp"
#include "storage/rocks_store.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/influence.hpp"
#include "tools/cli/run_session.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/kept_checkpoints.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/run_start.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

namespace {

namespace fs = std::filesystem;
using federated::server_state;
using client_list = std::vector<std::uint32_t>;

tl::unexpected<error> refuse(const fs::path& run, std::string why, std::string fix) {
  return fail(error::kind::usage, run.string(), std::move(why), std::move(fix));
}

/// The clients of "--without", ascending.
result<client_list> parse_clients(const std::vector<std::string>& texts) {
  client_list all;
  for (const auto& text : texts) {
    const auto range = scenarios::parse_subjects(text);
    if (!range || range->target != federated::event_target::clients)
      return fail(error::kind::usage, "--without", "\"" + text + "\" names no clients", "write 3,17,20-25");
    for (auto client = std::uint64_t{range->first}; client <= range->last; ++client)
      all.push_back(static_cast<std::uint32_t>(client));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Their ranges as events of a scenario.
std::string events_about(const client_list& clients) {
  std::string text;
  for (std::size_t i = 0; i < clients.size();) {
    auto end = i + 1;
    while (end < clients.size() && clients[end] == clients[end - 1] + 1) ++end;
    text += fmt::format("\n[[event]]\nat = \"round 1\"\nunresponsive = \"{}-{}\"\n", clients[i], clients[end - 1]);
    i = end;
  }
  return text;
}

/// What a replay needs of a run.
result<void> check_replayable(const scenarios::scenario& of, const run_directory& run) {
  if (!fs::exists(run.summary()))
    return refuse(run.root(), "is no run that has ended", "let it end with furlong run --resume");
  const auto& traits = of.settings.algorithm->traits;
  if (!traits.sends)
    return refuse(run.root(), of.settings.algorithm->kind + " trains on pooled data: no client reports",
                  "remove the clients from the data");
  if (of.settings.clock == federated::clock_kind::real)
    return refuse(run.root(), "ran under scenario.clock = \"real\"; a replay simulates clients that do not respond",
                  "run the scenario with clock = \"virtual\"");
  if (of.values.integer("topology.nodes") > 0)
    return refuse(run.root(), "simulated the processes of a federation (topology.nodes)",
                  "run the scenario without topology.nodes");
  const auto& privacy = *of.settings.privacy;
  if (privacy.noise > 0 && privacy.noise_key == federated::noise_keying::secret)
    return refuse(run.root(), "has noise of a secret key, which is gone: another one changes every model",
                  "run the scenario with privacy.noise_key = \"seed\"");
  return {};
}

/// The scenario of the run with `without` unresponsive from the start.
result<scenarios::scenario> scenario_without(const run_directory& run, const client_list& without) {
  auto original = read_scenario(run);
  if (!original) return original;
  if (auto possible = check_replayable(*original, run); !possible) return tl::unexpected(possible.error());
  original->expectations.clear();  // they are about the run with all clients
  auto changed = scenarios::parse_scenario_text(scenarios::resolved_toml(*original) + events_about(without),
                                                run.scenario().string(), {{"checkpoint.keep", "0"}});
  if (changed) return std::move(*changed);
  return fail(error::kind::data, "", changed.error().front().text(), "name the folder of a run");
}

result<void> check_training_clients(const session& of, const client_list& clients) {
  const auto& all = *of.experiment.clients;
  if (const auto count = all.facts().clients; clients.back() >= count)
    return fail(error::kind::usage, "--without", fmt::format("client {} does not exist", clients.back()),
                fmt::format("name clients from 0 to {}", count - 1));
  for (const auto client : clients)
    if (!std::ranges::binary_search(all.training(), client))
      return fail(error::kind::usage, "--without", fmt::format("client {} does not train", client),
                  fmt::format("name some of the {} clients that train: furlong export RUN --split FILE lists them",
                              all.training().size()));
  return {};
}

/// Fails if the run cannot be replayed, or does not train all of these clients.
result<void> check_request(const run_directory& run, const client_list& without) {
  auto original = read_scenario(run);
  if (!original) return tl::unexpected(original.error());
  if (auto possible = check_replayable(*original, run); !possible) return possible;
  const auto opened = open_session(std::move(*original));
  return opened ? check_training_clients(*opened, without) : tl::unexpected(opened.error());
}

/// Fails (kind usage) if the folder has anything but an earlier start of this replay, which is continued.
result<void> check_out(const session& of, const run_directory& out) {
  if (out.vacant()) return {};
  constexpr const char* fix = "choose another folder with --out";
  if (!out.is_of_run()) return fail(error::kind::usage, out.root().string(), "the folder exists and is not empty", fix);
  if (!fs::exists(out.scenario())) return {};
  const auto there = scenarios::parse_scenario(out.scenario());
  if (there && scenarios::run_id(*there) == of.experiment.run) return {};
  return fail(error::kind::usage, out.root().string(), "the folder holds another run already", fix);
}

/// The evaluation of the run's final model without these clients.
result<federated::evaluation_report> evaluate_without(const session& of, const run_directory& run,
                                                      const server_state& state, const client_list& without) {
  std::unique_ptr<storage::rocks_store> store;
  if (of.experiment.settings.algorithm->traits.keeps_state) {
    auto opened = storage::rocks_store::inspect(run.private_store(), storage::store_access::read,
                                                of.experiment.settings.own->key_file);
    if (!opened) return tl::unexpected(opened.error());
    if (auto fits = (*opened)->check_fits(state.version, state.private_save); !fits)
      return tl::unexpected(fits.error());
    store = std::move(*opened);
  }
  const auto model = state.chosen();
  federated::evaluation scores(of.experiment, model, store.get());
  scores.leave_out(without);
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (auto done = scores.score(i, use); !done) return tl::unexpected(done.error());
  return scores.report();
}

// ---- the start of a replay -----------------------------------------------------------------------------------------

/// True if figures about training clients may decide what the run does: then a kept checkpoint may depend on the
/// removed clients although none was selected.
bool judged_by_training_clients(const session& of) {
  const auto& how = *of.experiment.settings.evaluation;
  if (how.every == 0 || (!how.keep_best && how.target.metric.empty())) return false;
  const bool held_out = !of.experiment.clients->unseen_validation().empty();
  return how.target.metric.starts_with("seen.") || how.target.metric.starts_with("train.") || !held_out;
}

/// The newest kept checkpoint from before the first of these clients was selected. Nothing: there is none.
/// @param newest the run's own checkpoint
result<std::optional<std::uint64_t>> newest_without(const session& of, const run_directory& run,
                                                    const server_state& newest, const client_list& without) {
  if (judged_by_training_clients(of)) return std::optional<std::uint64_t>();
  const kept_checkpoints kept(run);
  const auto versions = kept.versions();
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const auto state = storage::read_checkpoint(kept.at(*version).checkpoint(), of.experiment.parts);
    if (!state) return tl::unexpected(state.error());
    if (auto own = kept.check(*version, *state, newest); !own) return tl::unexpected(own.error());
    if (std::ranges::all_of(without, [&](auto client) { return (*state->ledger)[client].asked_version == 0; }))
      return std::optional(*version);
  }
  return std::optional<std::uint64_t>();
}

/// Writes the lines of a run's file up to a length, without figures of groups that have removed clients.
result<std::uint64_t> copy_lines(const fs::path& from, std::uint64_t bytes, const fs::path& to, const session& of) {
  std::ifstream in(from, std::ios::binary);
  auto out = growing_file::open(to, 0);
  if (!out) return tl::unexpected(out.error());
  std::string line;
  for (std::uint64_t read = 0; read < bytes && std::getline(in, line);) {
    read += line.size() + 1;
    auto value = json::parse(line, nullptr, false);
    if (value.is_object() && value.contains("eval")) {
      value["eval"].erase("seen");
      value["eval"].erase("train");
      if (of.experiment.clients->unseen_validation().empty()) value["eval"].erase("validation");
      line = value.dump();
    }
    if (auto written = out->append(line); !written) return tl::unexpected(written.error());
  }
  return out->sync();
}

/// Copies the values of a kept store to a new one of the replay.
/// @param save of the kept checkpoint, which the kept store must belong to
result<federated::store_save> copy_store(const session& of, const run_directory& kept, const run_directory& to,
                                         std::uint64_t version, const federated::store_save& save) {
  const auto& e = of.experiment;
  auto from =
      storage::rocks_store::inspect(kept.private_store(), storage::store_access::read, e.settings.own->key_file);
  if (!from) return tl::unexpected(from.error());
  if (auto fits = (*from)->check_fits(version, save); !fits) return tl::unexpected(fits.error());
  auto store = open_private_store(e, to.private_store(), {}, static_cast<std::uint32_t>(e.clients->training().size()),
                                  false, {});
  if (!store) return tl::unexpected(store.error());
  result<void> copied;
  auto visited = (*from)->visit([&](std::uint32_t client, std::uint64_t at, const models::private_parameters& value) {
    if (copied) copied = (*store)->commit(client, at, value);
  });
  if (!visited) return tl::unexpected(visited.error());
  if (!copied) return tl::unexpected(copied.error());
  return (*store)->save(version);
}

/// Makes the replay's directory as that of a run that stopped after a kept checkpoint.
result<void> begin_at(const session& of, const run_directory& run, std::uint64_t version, const run_directory& to) {
  const auto kept = kept_checkpoints(run).at(version);
  auto state = storage::read_checkpoint(kept.checkpoint(), of.experiment.parts);
  if (!state) return tl::unexpected(state.error());
  if (auto made = to.create(); !made) return made;
  const auto bytes = state->output_bytes;
  for (const std::string name : {"metrics.jsonl", "events.jsonl", "cohorts.jsonl"}) {
    const auto length = bytes.find(name);
    const auto copied = copy_lines(run.root() / name, length == bytes.end() ? 0 : length->second, to.root() / name, of);
    if (!copied) return tl::unexpected(copied.error());
    state->output_bytes[name] = *copied;
  }
  state->run = of.experiment.run;
  for (auto& task : state->open) task.id.run = state->run;
  for (auto& task : state->simulation.tasks) task.id.run = state->run;
  // The events about the removed clients have happened, also if the run is over.
  const auto& events = *of.experiment.settings.events;
  auto& happened = state->simulation.events;
  for (std::uint32_t i = 0; i < events.size(); ++i)
    if (events[i].what == federated::event_kind::unresponsive && events[i].at_round && events[i].round == 1 &&
        std::ranges::find(happened, i) == happened.end())
      happened.push_back(i);
  state->history = {};
  state->wall_seconds = state->cpu_seconds = state->train_seconds = state->train_cpu_seconds = 0.0;
  const auto kept_save = std::exchange(state->private_save, {});
  if (of.experiment.settings.algorithm->traits.keeps_state) {
    auto saved = copy_store(of, kept, to, version, kept_save);
    if (!saved) return tl::unexpected(saved.error());
    state->private_save = *saved;
  }
  if (auto copied = storage::copy_checkpoint(kept.checkpoint(), to.checkpoint()); !copied) return copied;
  if (auto written = storage::write_checkpoint(to.checkpoint(), *state); !written) return written;
  // Last: a folder without it is not that of a run, and is not resumed.
  return write_atomically(to.scenario(), scenarios::resolved_toml(of.scenario));
}

// ---- results -------------------------------------------------------------------------------------------------------

json participation_json(const server_state& state, const client_list& without) {
  json all = json::array();
  for (const auto client : without) {
    const auto& of = (*state.ledger)[client];
    all.push_back({{"client", client}, {"selected", of.selected}, {"folded", of.folded}});
  }
  return all;
}

void print_replay(const json& of) {
  const auto from = of["started_from"].get<std::uint64_t>();
  fmt::print("without {}: selected {} times, {} updates aggregated; trained again from {}\n",
             of["clients"].size() == 1 ? "client " + of["clients"][0]["client"].dump()
                                       : fmt::format("{} clients", of["clients"].size()),
             of["selected"].get<std::uint64_t>(), of["folded"].get<std::uint64_t>(),
             from == 0 ? "the start" : fmt::format("the checkpoint of version {}", from));
  fmt::print("{:<28} {:>12} {:>12} {:>12}\n", "figure, of all others", "with", "without", "change");
  for (const auto& one : influence_figures(of))
    fmt::print("{:<28} {:>12.6f} {:>12.6f} {:>+12.6f}\n", one.name, one.with, one.without, one.without - one.with);
  fmt::print("model {} -> {}\nrun directory: {}\n", of["model_sha256"]["with"].get<std::string>().substr(0, 16),
             of["model_sha256"]["without"].get<std::string>().substr(0, 16), for_people(of["out"].get<std::string>()));
}

fs::path default_out(const replay_options& options, const client_list& without) {
  auto out = options.run;
  if (!out.has_filename()) out = out.parent_path();
  out += options.each ? "-influence" : fmt::format("-without-{}", without.front());
  if (!options.each && without.size() > 1) out += fmt::format("-and-{}", without.size() - 1);
  return out;
}

/// Trains without these clients, and writes replay.json.
int replay(const replay_options& options, const client_list& without) {
  const run_directory run(options.run);
  auto scenario = scenario_without(run, without);
  if (!scenario) return report_failure(scenario.error());
  const auto original = read_scenario(run);
  if (!original) return report_failure(original.error());
  auto of = open_session(std::move(*scenario));
  if (!of) {
    // The scenario is refused for its events if a client does not exist: then the option is at fault.
    const auto sound = check_request(run, without);
    return report_failure(sound ? of.error() : sound.error());
  }
  if (auto known = check_training_clients(*of, without); !known) return report_failure(known.error());
  const auto is_right = [&](const storage::checkpoint_origin& from) -> result<void> {
    if (from.run != scenarios::run_id(*original))
      return fail(error::kind::data, run.root().string(), "the checkpoint is of another scenario than scenario.toml",
                  "restore the folder from a copy");
    if (auto same = check_same_data(*of, from.data_sha256, run.root()); !same) return same;
    return check_same_code(of->code, from.code, run.root(), code_change::refused);
  };
  const auto state = storage::read_checkpoint(run.checkpoint(), of->experiment.parts, is_right);
  if (!state) return report_failure(state.error());
  if (state->code_changed)
    return report_failure(
        {error::kind::usage, run.root().string(),
         "was made with several versions of its class's code (--accept-changed-code), which no replay "
         "can repeat",
         "train it anew with one version, and replay that run"});
  if (state->start_id != 0)
    return report_failure({error::kind::usage, run.root().string(),
                           "is the folder of furlong serve: a federation of real processes cannot be replayed",
                           "replay a run of furlong run"});
  run_directory out(options.out.empty() ? default_out(options, without) : options.out);
  if (auto free = check_out(*of, out); !free) return report_failure(free.error());
  const auto start = newest_without(*of, run, *state, without);
  if (!start) return report_failure(start.error());
  const bool continues = !out.vacant() && out.is_of_run();
  if (!continues && *start)
    if (auto begun = begin_at(*of, run, **start, out); !begun) return report_failure(begun.error());
  run_options how;
  how.threads = options.threads;
  how.log_level = options.log_level;
  how.resume = continues || start->has_value();
  if (const int code = run_session(*of, out, how, std::nullopt); code != done) return code;
  const auto with = evaluate_without(*of, run, *state, without);
  if (!with) return report_failure(with.error());
  const auto before = read_object(run.summary());
  const auto after = read_object(out.summary());
  if (before.is_null() || after.is_null())
    return report_failure({error::kind::data, run.summary().string(), "cannot be read", "restore it from a copy"});
  json made = {{"run", run.root().string()},
               {"out", out.root().string()},
               {"clients", participation_json(*state, without)},
               {"selected", 0},
               {"folded", 0},
               {"started_from", start->value_or(0)},
               {"model_sha256", {{"with", before["model_sha256"]}, {"without", after["model_sha256"]}}},
               {"eval", {{"with", furlong::tools::to_json(*with)}, {"without", after["eval"]}}}};
  for (const auto* count : {"selected", "folded"})
    for (const auto& one : made["clients"])
      made[count] = made[count].get<std::uint64_t>() + one[count].get<std::uint64_t>();
  if (auto written = write_atomically(out.root() / "replay.json", json_text(made)); !written)
    return report_failure(written.error());
  if (options.format == output_format::json)
    std::cout << json_text(made) << '\n';
  else
    print_replay(made);
  return done;
}

int replay_command(const replay_options& options) {
  const auto without = parse_clients(options.without);
  if (!without) return report_failure(without.error());
  if (!options.each) return replay(options, *without);
  if (auto sound = check_request(run_directory(options.run), *without); !sound) return report_failure(sound.error());
  auto complete = options;
  if (complete.out.empty()) complete.out = default_out(options, *without);
  return measure_influence(complete, *without);
}

}  // namespace

void add_replay(CLI::App& app, command& chosen) {
  const auto [sub, options] =
      add_command(app, chosen, "replay", "train a run again as if some clients had never reported", replay_command);
  sub->add_option("run", options->run, "directory of a run that has ended")->required()->option_text("RUN");
  repeated(sub->add_option("--without", options->without, "the clients, such as 3,17,20-25"), "CLIENTS")
      ->required()
      ->delimiter(',');
  auto* each = sub->add_flag("--each", options->each,
                             "one replay without each of them, and a table of the influence of each on the evaluation");
  sub->add_option("--out", options->out, "folder of the replay (default: RUN-without-CLIENT; --each: RUN-influence)")
      ->option_text("DIR");
  add_threads(sub, options->threads, "scheduler threads of a replay (default: one per core; --each: 1)");
  add_jobs(sub, options->jobs, "with --each: replays at once (default: one per core)")->needs(each);
  add_log_level(sub, options->log_level, "of log.txt (default info)");
  add_format(sub, options->format);
}

}  // namespace furlong::tools
