// furlong run
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "actors/actor_engine.hpp"
#include "federated/engine/simulate.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tools/cli/closing_table.hpp"
#include "tools/cli/command_line.hpp"
#include "tools/cli/perform_run.hpp"
#include "tools/cli/try_problem.hpp"
#include "tools/runs/calling_script.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/found_data.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/run_end.hpp"
#include "tools/runs/run_outputs.hpp"
#include "tools/runs/run_start.hpp"
#include "tools/runs/stop_signal.hpp"

namespace furlong::tools {

namespace {

const std::map<std::string, engine_kind> engines = {{"actors", engine_kind::actors},
                                                    {"reference", engine_kind::reference}};

result<federated::run_outcome> run_engine(const prepared_run& run, start_point& start, run_outputs& outputs,
                                          const run_options& options) {
  const auto observer = outputs.observer();
  if (options.engine == engine_kind::reference && run.experiment.around != nullptr)
    return federated::simulate(run.experiment, std::move(start.state), *start.store, observer, stop_requested());
  if (options.engine == engine_kind::reference && run.experiment.settings.privacy->secure_aggregation)
    return fail(
        error::kind::usage, "--engine reference",
        "adds updates in a loop without a server, and privacy.secure_aggregation is between clients and a server",
        "leave it out, or set scenario.clock = \"virtual\"");
  if (options.engine == engine_kind::reference) {
    auto outcome = federated::run_reference(run.experiment, *start.store, observer, &stop_requested());
    if (!outcome) return outcome;
    outcome->state.data_sha256 = std::move(start.state.data_sha256);
    outcome->state.code = std::move(start.state.code);
    if (auto synced = start.store->sync(); !synced) return tl::unexpected(synced.error());
    if (auto written = observer.on_checkpoint(outcome->state); !written) return tl::unexpected(written.error());
    return outcome;
  }
  return actors::run_actors(run.experiment, std::move(start.state), *start.store, observer, stop_requested(),
                            {or_one_per_core(options.threads)});
}

/// Clients whose examples are counted at the start of a run, in less than a second.
constexpr std::size_t quickly_counted = 100'000;

std::filesystem::path default_folder(const scenarios::scenario& scenario) {
  return std::filesystem::path("runs") / (scenario.name + "-" + std::to_string(scenario.settings.seed));
}

}  // namespace

int perform_run(const prepared_run& run, run_directory& folder, const run_options& options,
                std::optional<output_format> closing) {
  const bool begins = !options.resume || folder.vacant();
  const auto threads = options.engine == engine_kind::reference ? 1 : or_one_per_core(options.threads);
  if (begins)  // before there is a folder: a corrected class starts again
    if (auto works = try_problem(run, threads); !works) return report_failure(works.error());
  watch_for_stop(stops_after_round);  // from here on there is a folder
  auto start = begin_run(run, folder, options.resume, options.log_level, store_holder::run);
  if (!start) return report_failure(start.error());
  tell_script({{"run", folder.root().string()}});
  if (!begins && !federated::is_over(run.experiment.settings, start->state))
    if (auto works = try_problem(run, threads); !works) return report_failure(works.error());
  const auto found = found_text(found_data(run.data, quickly_counted), run.data);
  fmt::print(stderr, "{}\n", found);
  spdlog::info("{}", found);
  spdlog::info("scenario {}, seed {}, from version {}", run.scenario.name, run.experiment.settings.seed,
               start->state.version);
  if (const auto last = options.stop_after; last > 0 && start->state.version >= last && !start->state.evaluation_due &&
                                            !federated::is_over(run.experiment.settings, start->state))
    return report_stop(start->state.version, folder);
  const auto keep = static_cast<std::size_t>(run.scenario.values.integer("checkpoint.keep"));
  auto outputs = run_outputs::open(folder, start->state, run.experiment,
                                   checkpoint_keeper{*start->store, keep, run.experiment.settings.own->key_file});
  if (!outputs) return report_failure(outputs.error());
  auto outcome = run_engine(run, *start, **outputs, options);
  if (auto written = (*outputs)->finish(); !written) return report_failure(written.error());
  return end_run(run, folder, outcome, *start->store, closing);
}

namespace {

int run_command(const run_options& options) {
  stop_before_work();
  auto overrides = options.overrides;
  if (options.seed) overrides.push_back(seed_override(*options.seed));
  if (options.resume && options.engine == engine_kind::reference)
    return report_failure({error::kind::usage, "--resume", "the reference engine always runs from the start",
                           "leave out --engine reference"});
  if (options.stop_after > 0 && options.engine == engine_kind::reference)
    return report_failure({error::kind::usage, "--stop-after", "the reference engine cannot go on where it stopped",
                           "leave out --engine reference"});
  auto scenario = scenarios::parse_scenario(options.scenario, overrides);
  if (!scenario) return report_problems(scenario.error());
  run_directory folder(options.out.empty() ? default_folder(*scenario) : options.out);
  if (!options.resume && !folder.vacant()) return report_failure(folder.create(or_resume).error());
  const auto notes = scenario->notes;
  auto ready = open_prepared_run(std::move(*scenario));
  for (const auto& note : ready ? ready->scenario.notes : notes) fmt::print(stderr, "note: {}\n", for_people(note));
  if (!ready) return report_failure(ready.error());
  ready->experiment.settings.until->pause_after = options.stop_after;
  if (options.accept_changed_code) ready->change = code_change::accepted;
  return perform_run(*ready, folder, options, options.format);
}

}  // namespace

void add_run(CLI::App& app, command& chosen) {
  const auto [sub, options] = add_command(app, chosen, "run", "run a scenario", run_command);
  sub->add_option("scenario", options->scenario, "scenario file")->required()->option_text("SCENARIO");
  add_overrides(sub, options->overrides);
  add_seed(sub, options->seed, "replaces scenario.seed");
  sub->add_option("--out", options->out, "run directory (default runs/NAME-SEED)")->option_text("DIR");
  add_threads(sub, options->threads, "scheduler threads (default: one per core)");
  sub->add_flag("--resume", options->resume,
                "go on from the checkpoint in the run directory; if there is no run yet, start it with a warning");
  add_accept_changed_code(sub, options->accept_changed_code);
  sub->add_option("--stop-after", options->stop_after,
                  "evaluate and stop after this round, with exit code 5; --resume goes on, and the run ends as if it "
                  "had not stopped: an evaluation made only for the stop decides nothing")
      ->transform(whole_number(1, UINT32_MAX))
      ->option_text("ROUND");
  sub->add_option("--engine", options->engine,
                  "actors, or one thread without them: under the real clock the plain loop that reads "
                  "like the papers, in virtual time the same timeline")
      ->transform(one_of(engines))
      ->option_text("actors|reference")
      ->group("");  // for tests: not in the help
  add_log_level(sub, options->log_level, "of log.txt (default info)");
  add_format(sub, options->format);
}

}  // namespace furlong::tools
