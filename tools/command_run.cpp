// furlong run
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csignal>
#include <fmt/format.h>
#include <iostream>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <thread>

#include "actors/actor_engine.hpp"
#include "federated/reference_loop.hpp"
#include "federated/round.hpp"
#include "federated/simulation/simulate.hpp"
#include "models/kernels/kernels.hpp"
#include "storage/checkpoint.hpp"
#include "storage/key_file.hpp"
#include "storage/memory_store.hpp"
#include "storage/rocks_store.hpp"
#include "tools/commands.hpp"
#include "tools/exit_code.hpp"
#include "tools/report/report.hpp"
#include "tools/run_outputs.hpp"

namespace furlong::tools {

namespace {

namespace protocol = federated::protocol;

std::atomic<bool> stop_requested{false};

void on_signal(int number) {
  stop_requested = true;
  std::signal(number, SIG_DFL);  // a second one ends the process at once
}

/// What a run starts from.
struct start_point {
  protocol::server_state state;
  std::unique_ptr<federated::private_store> store;
};

result<void> open_log(const run_directory& folder, const std::string& level) {
  try {
    auto file = std::make_shared<spdlog::sinks::basic_file_sink_mt>(folder.log().string());
    auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    console->set_level(spdlog::level::warn);  // progress tells the rest
    auto logger = std::make_shared<spdlog::logger>("furlong", spdlog::sinks_init_list{file, console});
    logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::warn);
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& why) {
    return fail(error::kind::runtime, folder.log().string(), why.what());
  }
  return {};
}

result<std::unique_ptr<federated::private_store>> open_store(const session& of, const run_directory& folder,
                                                             const federated::run_history& history) {
  const auto& e = of.experiment;
  if (!federated::is_stateful(e.settings.algorithm))
    return std::make_unique<storage::memory_store>(e.parts.private_);  // stays empty, and leaves no trace
  storage::store_options options;
  options.run = e.run;
  options.history = history;
  options.expected_clients = static_cast<std::uint32_t>(e.clients->training().size());
  options.open_shards = e.settings.own.open_shards;
  options.layout = e.settings.own.layout == federated::layout_kind::bucketed ? storage::store_layout::bucketed
                                                                             : storage::store_layout::per_client;
  options.key_file = e.settings.own.key_file;
  const bool there = std::filesystem::exists(folder.private_store());
  if (const auto& key = options.key_file; !there && !key.empty() && !std::filesystem::exists(key)) {
    if (auto made = storage::create_key_file(key); !made) return tl::unexpected(made.error());
    spdlog::warn("made the key file {}: without it the private values cannot be read", key.string());
  }
  auto store = there ? storage::rocks_store::open(folder.private_store(), e.parts.private_, options)
                     : storage::rocks_store::create(folder.private_store(), e.parts.private_, options);
  if (!store) return tl::unexpected(store.error());
  std::error_code ignored;  // a file system without permissions has none to take
  std::filesystem::permissions(folder.private_store(), std::filesystem::perms::owner_all, ignored);
  return std::move(*store);
}

result<start_point> start_afresh(const session& of, const run_directory& folder) {
  if (auto written = write_atomically(folder.scenario(), scenarios::resolved_toml(of.scenario)); !written)
    return tl::unexpected(written.error());
  std::error_code ignored;  // what a run left that was killed before its first checkpoint
  std::filesystem::remove_all(folder.private_store(), ignored);
  auto store = open_store(of, folder, {});
  if (!store) return tl::unexpected(store.error());
  return start_point{initial_state(of.experiment), std::move(*store)};
}

result<start_point> start_from_checkpoint(const session& of, const run_directory& folder) {
  auto state = storage::read_checkpoint(folder.checkpoint(), of.experiment.parts.shared);
  if (!state) return tl::unexpected(state.error());
  if (state->run != of.experiment.run)
    return fail(error::kind::usage, folder.root().string(), "the checkpoint is of another scenario or seed",
                "resume with the scenario that the folder's scenario.toml shows, or choose another --out");
  if (const std::string here(models::kernels().level); !state->kernel_level.empty() && state->kernel_level != here)
    fmt::print(
        stderr,
        "note: the checkpoint was computed with kernels of level {}, this process uses {}: the results will differ "
        "in their last bits (FURLONG_KERNEL_LEVEL pins the level)\n",
        state->kernel_level, here);
  // What may change between lives (the number of rounds, say) is on record too: infer and report read it.
  if (auto written = write_atomically(folder.scenario(), scenarios::resolved_toml(of.scenario)); !written)
    return tl::unexpected(written.error());
  // The new life must be on record before it changes anything.
  state->history.resumed_at.push_back(state->version);
  if (auto written = storage::write_checkpoint(folder.checkpoint(), *state); !written)
    return tl::unexpected(written.error());
  auto store = open_store(of, folder, state->history);
  if (!store) return tl::unexpected(store.error());
  return start_point{std::move(*state), std::move(*store)};
}

/// A run without a checkpoint starts from nothing. That is only right for one that was killed before its first.
result<void> check_nothing_is_lost(const session& of, const run_directory& folder) {
  const auto before = scenarios::parse_scenario(folder.scenario());
  if (!before || scenarios::run_id(*before) != of.experiment.run)
    return fail(error::kind::usage, folder.root().string(), "is the folder of another scenario or seed",
                "resume with the scenario that the folder's scenario.toml shows, or choose another --out");
  if (std::filesystem::exists(folder.summary()))
    return fail(error::kind::data, folder.checkpoint().string(), "the checkpoint of a finished run is gone",
                "put it back, or remove " + folder.root().string() + " to run from the start");
  return {};
}

/// Whether a run was killed here before it wrote anything but its log.
bool barely_begun(const run_directory& folder) {
  const auto scenario = folder.scenario().filename().string();
  std::error_code ignored;
  return std::ranges::all_of(std::filesystem::directory_iterator(folder.root(), ignored), [&](const auto& entry) {
    const auto name = entry.path().filename().string();
    return name == folder.log().filename() || name == scenario + ".new";
  });
}

result<start_point> prepare(const session& of, run_directory& folder, const run_options& options) {
  const bool resumes = options.resume && !folder.vacant();
  if (!resumes) {
    if (options.resume)
      fmt::print(stderr, "note: {} does not exist or is empty: the run starts from nothing\n", folder.root().string());
    if (auto made = folder.create(); !made) return tl::unexpected(made.error());
  } else if (!std::filesystem::exists(folder.scenario()) && !barely_begun(folder)) {
    return fail(error::kind::usage, folder.root().string(), "is not the folder of a run: it has no scenario.toml",
                "name the folder of the run with --out");
  }
  if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  if (auto opened = open_log(folder, options.log_level); !opened) return tl::unexpected(opened.error());
  if (!resumes || !std::filesystem::exists(folder.scenario())) return start_afresh(of, folder);
  if (storage::has_checkpoint(folder.checkpoint())) return start_from_checkpoint(of, folder);
  if (auto safe = check_nothing_is_lost(of, folder); !safe) return tl::unexpected(safe.error());
  return start_afresh(of, folder);
}

result<federated::run_outcome> run_engine(const session& of, start_point& from, run_outputs& outputs,
                                          const run_options& options) {
  const auto observer = outputs.observer();
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  if (options.engine == engine_kind::reference && of.experiment.around != nullptr)
    return federated::simulate(of.experiment, std::move(from.state), *from.store, observer, stop_requested);
  if (options.engine == engine_kind::reference) {
    auto outcome = federated::run_reference(of.experiment, *from.store, observer);
    if (!outcome) return outcome;
    if (auto synced = from.store->sync(); !synced) return tl::unexpected(synced.error());
    if (auto written = observer.on_checkpoint(outcome->state); !written) return tl::unexpected(written.error());
    return outcome;
  }
  const std::size_t threads = options.threads > 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  return actors::run_actors(of.experiment, std::move(from.state), *from.store, observer, stop_requested, {threads});
}

/// summary.json and report.html of a run that has ended; the closing table on stdout.
result<void> conclude(const session& of, const run_directory& folder, const federated::run_outcome& outcome,
                      federated::private_store& store, output_format format) {
  auto own = read_private_facts(store, outcome.state.version);
  if (!own) return tl::unexpected(own.error());
  const auto summary = summary_json(of, outcome, *own);
  if (auto written = write_atomically(folder.summary(), summary.dump(2)); !written) return written;
  auto record = read_run(folder.root());
  if (!record) return tl::unexpected(record.error());
  if (auto written = write_report({&*record, 1}, folder.report()); !written) return written;
  if (format == output_format::json) {
    std::cout << summary.dump(2) << '\n';
    return {};
  }
  std::cout << comparison_table({&*record, 1});
  fmt::print("{:.1f} s, of these {:.1f} s training; model {}\nreport: {}\n", outcome.state.wall_seconds,
             outcome.state.train_seconds, summary["model_sha256"].get<std::string>().substr(0, 16),
             folder.report().string());
  return {};
}

int report_failure(const error& why) {
  std::cerr << "furlong: " << why.text() << '\n';
  return exit_code_of(why);
}

scenarios::setting_override seed_override(std::uint64_t seed) { return {"scenario.seed", std::to_string(seed)}; }

std::filesystem::path default_folder(const scenarios::scenario& of) {
  return std::filesystem::path("runs") / (of.name + "-" + std::to_string(of.settings.seed));
}

/// What is wrong with how a run went, though it ran to its end; empty: nothing.
std::string verdict(const session& of, const federated::run_outcome& outcome) {
  for (const auto* group : {&outcome.evaluation.validation, &outcome.evaluation.seen, &outcome.evaluation.unseen})
    if (*group && !std::isfinite((*group)->loss)) return "training diverged: the loss is not finite";
  if (std::ranges::equal(outcome.state.model.values(), initial_model(of.experiment).values()))
    return "no update was of use: the model is as it was at first";
  return {};
}

int run_session(const session& of, run_directory& folder, const run_options& options) {
  auto from = prepare(of, folder, options);
  if (!from) return report_failure(from.error());
  spdlog::info("scenario {}, seed {}, from version {}", of.scenario.name, of.experiment.settings.seed,
               from->state.version);
  auto outputs = run_outputs::open(folder, from->state, of.experiment.settings.rounds);
  if (!outputs) return report_failure(outputs.error());
  auto outcome = run_engine(of, *from, **outputs, options);
  if (auto written = (*outputs)->finish(); !written) return report_failure(written.error());
  if (!outcome) return report_failure(outcome.error());
  if (outcome->interrupted) {
    fmt::print(stderr, "furlong: stopped after round {}; go on with --resume --out {}\n", outcome->state.version,
               folder.root().string());
    return interrupted;
  }
  if (auto concluded = conclude(of, folder, *outcome, *from->store, options.format); !concluded)
    return report_failure(concluded.error());
  if (const auto wrong = verdict(of, *outcome); !wrong.empty())
    return report_failure(
        {error::kind::runtime, of.scenario.name, wrong,
         "lower algorithm.client.lr or algorithm.server.lr, and look for rejections in " + folder.events().string()});
  return done;
}

}  // namespace

int run_command(const run_options& options) {
  static_cast<void>(models::kernels());  // a wrong FURLONG_KERNEL_LEVEL shows here, not in a thread
  auto overrides = options.overrides;
  if (options.seed) overrides.push_back(seed_override(*options.seed));
  if (options.resume && options.engine == engine_kind::reference)
    return report_failure({error::kind::usage, "--resume", "the reference engine always runs from the start",
                           "leave out --engine reference"});
  auto scenario = scenarios::parse_scenario(options.scenario, overrides);
  if (!scenario) {
    print_problems(scenario.error());
    return usage;
  }
  run_directory folder(options.out.empty() ? default_folder(*scenario) : options.out);
  if (!options.resume && !folder.vacant()) return report_failure(folder.create().error());
  const auto notes = scenario->notes;
  auto ready = open_session(std::move(*scenario));
  for (const auto& note : ready ? ready->scenario.notes : notes) fmt::print(stderr, "note: {}\n", note);
  if (!ready) return report_failure(ready.error());
  return run_session(*ready, folder, options);
}

}  // namespace furlong::tools
