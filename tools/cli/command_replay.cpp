// furlong replay
//
// A replay is a run of the same scenario with one more event: the removed clients are unresponsive from the start. They
// are selected as before and never report; every draw about another client is keyed by that client and stays. So the
// replay is the run that would have been, to the bit. Rounds before the first of them was selected are not trained
// again if a checkpoint of these was kept (kept_checkpoints.hpp).
#include <algorithm>
#include <fmt/format.h>
#include <iostream>
#include <ranges>
#include <utility>

#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "scenarios/schema/records.hpp"
#include "storage/checkpoint.hpp"
#include "storage/rocks_store.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/influence.hpp"
#include "tools/cli/perform_run.hpp"
#include "tools/cli/replay_start.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/messages.hpp"
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
  client_list clients;
  for (const auto& text : texts) {
    const auto range = scenarios::parse_subjects(text);
    if (!range || range->target != federated::event_target::clients)
      return fail(error::kind::usage, "--without", "\"" + text + "\" names no clients", "write 3,17,20-25");
    for (auto client = std::uint64_t{range->first}; client <= range->last; ++client)
      clients.push_back(static_cast<std::uint32_t>(client));
  }
  std::ranges::sort(clients);
  clients.erase(std::unique(clients.begin(), clients.end()), clients.end());
  return clients;
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
result<void> check_replayable(const scenarios::scenario& scenario, const run_directory& run) {
  if (!fs::exists(run.summary()))
    return refuse(run.root(), "is no run that has ended", "let it end with furlong run --resume");
  const auto& traits = scenario.settings.algorithm->traits;
  if (!traits.sends)
    return refuse(run.root(), scenario.settings.algorithm->kind + " trains on pooled data: no client reports",
                  "remove the clients from the data");
  if (scenario.settings.clock == federated::clock_kind::real)
    return refuse(run.root(), "ran under scenario.clock = \"real\"; a replay simulates clients that do not respond",
                  "run the scenario with clock = \"virtual\"");
  if (scenario.values.integer("topology.nodes") > 0)
    return refuse(run.root(), "simulated the processes of a federation (topology.nodes)",
                  "run the scenario without topology.nodes");
  const auto& privacy = *scenario.settings.privacy;
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

result<void> check_training_clients(const prepared_run& run, const client_list& clients) {
  const auto& population = *run.experiment.clients;
  if (const auto count = population.facts().clients; clients.back() >= count)
    return fail(error::kind::usage, "--without", fmt::format("client {} does not exist", clients.back()),
                fmt::format("name clients from 0 to {}", count - 1));
  for (const auto client : clients)
    if (!std::ranges::binary_search(population.training(), client))
      return fail(error::kind::usage, "--without", fmt::format("client {} does not train", client),
                  fmt::format("name some of the {} clients that train: furlong export RUN --split FILE lists them",
                              population.training().size()));
  return {};
}

/// Fails if the run cannot be replayed, or does not train all of these clients.
result<void> check_request(const run_directory& run, const client_list& without) {
  auto original = read_scenario(run);
  if (!original) return tl::unexpected(original.error());
  if (auto possible = check_replayable(*original, run); !possible) return possible;
  const auto opened = open_prepared_run(std::move(*original));
  return opened ? check_training_clients(*opened, without) : tl::unexpected(opened.error());
}

/// Fails (kind usage) if the folder has anything but an earlier start of this replay, which is continued.
result<void> check_out(const prepared_run& run, const run_directory& out) {
  if (out.vacant()) return {};
  constexpr const char* fix = "choose another folder with --out";
  if (!out.is_of_run()) return fail(error::kind::usage, out.root().string(), "the folder exists and is not empty", fix);
  if (!fs::exists(out.scenario())) return {};
  const auto there = scenarios::parse_scenario(out.scenario());
  if (there && scenarios::run_id(*there) == run.experiment.run) return {};
  return fail(error::kind::usage, out.root().string(), "the folder holds another run already", fix);
}

/// The evaluation of the run's final model without these clients.
result<federated::evaluation_report> evaluate_without(const prepared_run& prepared, const run_directory& run,
                                                      const server_state& state, const client_list& without) {
  std::unique_ptr<storage::rocks_store> store;
  if (prepared.experiment.settings.algorithm->traits.keeps_state) {
    auto opened = storage::rocks_store::inspect(run.private_store(), storage::store_access::read,
                                                prepared.experiment.settings.own->key_file);
    if (!opened) return tl::unexpected(opened.error());
    if (auto fits = (*opened)->check_fits(state.version, state.private_save); !fits)
      return tl::unexpected(fits.error());
    store = std::move(*opened);
  }
  const auto model = state.chosen();
  federated::evaluation scores(prepared.experiment, model, store.get());
  scores.leave_out(without);
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (auto done = scores.score(i, use); !done) return tl::unexpected(done.error());
  return scores.report();
}

/// The state at the end of a run that can be replayed.
/// @param original its scenario
result<server_state> read_end(const prepared_run& prepared, const run_directory& run,
                              const scenarios::scenario& original) {
  const auto is_right = [&](const storage::checkpoint_origin& origin) -> result<void> {
    if (origin.run != scenarios::run_id(original))
      return fail(error::kind::data, run.root().string(), "the checkpoint is of another scenario than scenario.toml",
                  "restore the folder from a copy");
    if (auto same = check_same_data(prepared, origin.data_sha256, run.root()); !same) return same;
    return check_same_code(prepared.code, origin.code, run.root(), code_change::refused);
  };
  auto state = storage::read_checkpoint(run.checkpoint(), prepared.experiment.parts, is_right);
  if (!state) return state;
  if (state->code_changed)
    return refuse(run.root(),
                  "was made with several versions of its class's code (--accept-changed-code), which no replay can "
                  "repeat",
                  "train it anew with one version, and replay that run");
  if (state->start_id != 0)
    return refuse(run.root(), "is the folder of furlong serve: a federation of real processes cannot be replayed",
                  "replay a run of furlong run");
  return state;
}

// ---- results -------------------------------------------------------------------------------------------------------

json participation_json(const server_state& state, const client_list& without) {
  json clients = json::array();
  for (const auto client : without) {
    const auto& record = (*state.ledger)[client];
    clients.push_back({{"client", client}, {"selected", record.selected}, {"folded", record.folded}});
  }
  return clients;
}

/// The figures of the run, without the removed clients, beside those of the replay.
/// @param start the version that it started from
result<json> replay_json(const run_directory& run, const run_directory& replayed, const json& clients,
                         std::uint64_t start, const federated::evaluation_report& with) {
  const auto before = read_object(run.summary());
  const auto after = read_object(replayed.summary());
  if (before.is_null() || after.is_null())
    return fail(error::kind::data, run.summary().string(), "cannot be read", "restore it from a copy");
  const auto sum = [&](const char* count) {
    std::uint64_t total = 0;
    for (const auto& client : clients) total += client[count].get<std::uint64_t>();
    return total;
  };
  return json{{"run", run.root().string()},
              {"out", replayed.root().string()},
              {"clients", clients},
              {"selected", sum("selected")},
              {"folded", sum("folded")},
              {"started_from", start},
              {"model_sha256", {{"with", before["model_sha256"]}, {"without", after["model_sha256"]}}},
              {"eval", {{"with", furlong::tools::to_json(with)}, {"without", after["eval"]}}}};
}

void print_replay(const json& object) {
  const auto start = object["started_from"].get<std::uint64_t>();
  fmt::print("without {}: selected {} times, {} updates aggregated; trained again from {}\n",
             object["clients"].size() == 1 ? "client " + object["clients"][0]["client"].dump()
                                           : fmt::format("{} clients", object["clients"].size()),
             object["selected"].get<std::uint64_t>(), object["folded"].get<std::uint64_t>(),
             start == 0 ? "the start" : fmt::format("the checkpoint of version {}", start));
  fmt::print("{:<28} {:>12} {:>12} {:>12}\n", "figure, of all others", "with", "without", "change");
  for (const auto& figure : influence_figures(object))
    fmt::print("{:<28} {:>12.6f} {:>12.6f} {:>+12.6f}\n", figure.name, figure.with, figure.without,
               figure.without - figure.with);
  fmt::print("model {} -> {}\nrun directory: {}\n", object["model_sha256"]["with"].get<std::string>().substr(0, 16),
             object["model_sha256"]["without"].get<std::string>().substr(0, 16),
             for_people(object["out"].get<std::string>()));
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
  auto opened = open_prepared_run(std::move(*scenario));
  if (!opened) {
    // The scenario is refused for its events if a client does not exist: then the option is at fault.
    const auto sound = check_request(run, without);
    return report_failure(sound ? opened.error() : sound.error());
  }
  if (auto known = check_training_clients(*opened, without); !known) return report_failure(known.error());
  const auto state = read_end(*opened, run, *original);
  if (!state) return report_failure(state.error());
  run_directory out(options.out.empty() ? default_out(options, without) : options.out);
  if (auto free = check_out(*opened, out); !free) return report_failure(free.error());
  const auto start = newest_without(*opened, run, *state, without);
  if (!start) return report_failure(start.error());
  const bool continues = !out.vacant() && out.is_of_run();
  if (!continues && *start)
    if (auto begun = begin_at(*opened, run, **start, out); !begun) return report_failure(begun.error());
  run_options settings;
  settings.threads = options.threads;
  settings.log_level = options.log_level;
  settings.resume = continues || start->has_value();
  if (const int code = perform_run(*opened, out, settings, std::nullopt); code != done) return code;
  const auto with = evaluate_without(*opened, run, *state, without);
  if (!with) return report_failure(with.error());
  const auto made = replay_json(run, out, participation_json(*state, without), start->value_or(0), *with);
  if (!made) return report_failure(made.error());
  if (auto written = write_atomically(out.root() / "replay.json", json_text(*made)); !written)
    return report_failure(written.error());
  if (options.format == output_format::json)
    std::cout << json_text(*made) << '\n';
  else
    print_replay(*made);
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
