#include "tools/runs/run_start.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "actors/federation/nonce.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/private_values.hpp"
#include "models/kernels/levels.hpp"
#include "scenarios/schema/scenario.hpp"
#include "storage/checkpoint.hpp"
#include "storage/key_file.hpp"
#include "storage/memory_store.hpp"
#include "storage/rocks_store.hpp"
#include "tools/runs/child_runs.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/messages.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

result<void> open_log(const std::filesystem::path& file, const std::string& level) {
  try {
    auto lines = std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string());
    auto console = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    console->set_level(spdlog::level::warn);  // progress shows the rest
    auto logger = std::make_shared<spdlog::logger>("furlong", spdlog::sinks_init_list{lines, console});
    logger->set_level(spdlog::level::from_str(level));
    logger->flush_on(spdlog::level::warn);
    logger->set_formatter(log_format());
    spdlog::set_default_logger(std::move(logger));
  } catch (const spdlog::spdlog_ex& why) {
    return fail(error::kind::runtime, file.string(), why.what());
  }
  log_failures_to(file);
  return {};
}

result<std::unique_ptr<federated::private_store>> open_private_store(const federated::experiment& experiment,
                                                                     const std::filesystem::path& folder,
                                                                     const federated::run_history& history,
                                                                     std::uint32_t expected_clients, bool same_life,
                                                                     const federated::store_save& save) {
  if (!experiment.settings.algorithm->traits.keeps_state)
    return std::make_unique<storage::memory_store>(experiment.parts.private_);  // stays empty
  storage::store_options options;
  options.run = experiment.run;
  options.history = history;
  options.same_life = same_life;
  options.save = save;
  options.expected_clients = expected_clients;
  options.open_shards = experiment.settings.own->open_shards;
  options.layout = experiment.settings.own->layout == federated::layout_kind::bucketed
                       ? storage::store_layout::bucketed
                       : storage::store_layout::per_client;
  options.key_file = experiment.settings.own->key_file;
  const bool there = storage::rocks_store::is_in(folder);
  if (const auto& key = options.key_file; !there && !key.empty() && !std::filesystem::exists(key)) {
    if (auto made = storage::create_key_file(key); !made) return tl::unexpected(made.error());
    spdlog::warn("created the key file {}: without it the private values cannot be read", key.string());
  }
  auto store = there ? storage::rocks_store::open(folder, experiment.parts.private_, options)
                     : storage::rocks_store::create(folder, experiment.parts.private_, options);
  if (!store) return tl::unexpected(store.error());
  std::error_code ignored;  // a file system without permissions
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all, ignored);
  return std::move(*store);
}

namespace {

result<std::unique_ptr<federated::private_store>> open_store(const prepared_run& run, const run_directory& folder,
                                                             const federated::run_history& history,
                                                             const federated::store_save& save, store_holder holder) {
  const auto& experiment = run.experiment;
  if (holder == store_holder::nodes) return std::make_unique<storage::memory_store>(experiment.parts.private_);
  return open_private_store(experiment, folder.private_store(), history,
                            static_cast<std::uint32_t>(experiment.clients->training().size()), false, save);
}

result<start_point> start_afresh(const prepared_run& run, const run_directory& folder, store_holder holder) {
  if (auto written = write_atomically(folder.scenario(), scenarios::resolved_toml(run.scenario)); !written)
    return tl::unexpected(written.error());
  std::error_code failed;  // the files of a run that was killed before its first checkpoint
  std::filesystem::remove_all(folder.private_store(), failed);
  if (!failed) std::filesystem::remove_all(folder.kept(), failed);
  if (failed)
    return fail(error::kind::runtime, folder.private_store().string(),
                "cannot remove the files of an earlier start of the run: " + failed.message(),
                "remove the folder, or choose another --out");
  auto store = open_store(run, folder, {}, {}, holder);
  if (!store) return tl::unexpected(store.error());
  auto data = data_sha256(run);
  if (!data) return tl::unexpected(data.error());
  start_point made{initial_state(run.experiment), std::move(*store)};
  made.state.data_sha256 = std::move(*data);
  made.state.code = scenarios::code_text(run.code);
  made.state.arithmetic = run.data.arithmetic;
  // Nodes outlive the server: tasks of a life without a checkpoint must not be mistaken for tasks of the next.
  if (holder == store_holder::nodes) {
    made.state.start_id = actors::federation::fresh_nonce();
    if (auto written = storage::write_checkpoint(folder.checkpoint(), made.state); !written)
      return tl::unexpected(written.error());
  }
  return made;
}

/// The error about a folder of another run, naming the keys that differ.
error other_run(const prepared_run& run, const run_directory& folder, const std::string& difference) {
  const auto before = scenarios::parse_scenario(folder.scenario());
  const auto changed = before ? scenarios::run_differences(*before, run.scenario) : std::vector<std::string>();
  std::string why = difference + " of another scenario or seed";
  constexpr std::size_t most = 3;
  for (std::size_t i = 0; i < std::min(most, changed.size()); ++i) why += (i == 0 ? ": " : ", ") + changed[i];
  if (changed.size() > most) why += fmt::format(" and {} more", changed.size() - most);
  return {error::kind::usage, folder.root().string(), why,
          "resume with the scenario that the folder's scenario.toml shows, or choose another --out"};
}

/// Checks the store before anything of the run changes. The store is created before the first checkpoint: with a
/// checkpoint an empty store would restart every client.
result<void> check_store(const prepared_run& run, const run_directory& folder, store_holder holder,
                         const federated::server_state& state) {
  const auto& settings = run.experiment.settings;
  if (holder == store_holder::nodes || !settings.algorithm->traits.keeps_state) return {};
  if (storage::rocks_store::is_in(folder.private_store())) {
    const auto store =
        storage::rocks_store::inspect(folder.private_store(), storage::store_access::read, settings.own->key_file);
    if (!store) return tl::unexpected(store.error());
    return (*store)->check_fits(state.version, state.private_save);
  }
  return fail(error::kind::data, folder.private_store().string(),
              "the private store of the run is missing, although the run has a checkpoint",
              "restore it from the same copy as the checkpoint, or start a new run in another --out");
}

/// A run continues with the command that started it: `run` keeps private values in its folder, `serve` on the nodes,
/// and neither finds those of the other. Only `serve` draws a start_id.
result<void> check_holder(const run_directory& folder, store_holder holder, std::uint64_t start_id) {
  const bool served = start_id != 0;
  if (served == (holder == store_holder::nodes)) return {};
  const auto* const began = served ? "serve" : "run";
  const auto* const here = served ? "run" : "serve";
  return fail(error::kind::usage, folder.root().string(),
              fmt::format("is the folder of `furlong {}`: its private values are not where `furlong {}` would look",
                          began, here),
              fmt::format("resume it with `furlong {}`, or name another --out", began));
}

/// The checkpoint in a folder, if it is of this run and not beyond its end.
result<federated::server_state> read_own_checkpoint(const prepared_run& run, const run_directory& folder,
                                                    store_holder holder) {
  const auto is_right = [&](const storage::checkpoint_origin& origin) -> result<void> {
    if (origin.run != run.experiment.run) return tl::unexpected(other_run(run, folder, "the checkpoint is"));
    if (auto same = check_same_data(run, origin.data_sha256, folder.root()); !same) return same;
    return check_same_code(run.code, origin.code, folder.root(), run.change);
  };
  auto state = storage::read_checkpoint(folder.checkpoint(), run.experiment.parts, is_right);
  if (!state) return state;
  if (auto code = scenarios::code_text(run.code); code != state->code) {
    state->code_changed = state->code_changed || !state->code.empty();
    state->code = std::move(code);
  }
  if (const auto& now = run.data.arithmetic; now != state->arithmetic) {
    if (!state->arithmetic.empty() && !now.empty())
      fmt::print(stderr,
                 "note: the checkpoint was computed with {}, and this process has {}: the results will differ\n",
                 state->arithmetic, now);
    state->arithmetic = now;
  }
  if (auto right = check_holder(folder, holder, state->start_id); !right) return tl::unexpected(right.error());
  if (const auto rounds = run.experiment.settings.rounds; rounds < state->version)
    return fail(
        error::kind::usage, folder.root().string(),
        "the run has done " + std::to_string(state->version) + " rounds, but ends after " + std::to_string(rounds),
        "set at least " + std::to_string(state->version) + " rounds");
  federated::reset_for_evaluation(*run.experiment.settings.evaluation, *state);
  return state;
}

/// A run that has found a level that all processes have keeps it.
void use_kernels_of(federated::kernel_rule rule, const federated::server_state& state) {
  if (state.kernel_level.empty()) return;
  const auto level = models::current_level_name(state.kernel_level);
  if (rule == federated::kernel_rule::common) static_cast<void>(models::use_kernels(level));
  if (const std::string here(models::kernels().level); level != here)
    fmt::print(
        stderr,
        "note: the checkpoint was computed with kernels of level {}, this process uses {}: the results will differ "
        "in their last bits (FURLONG_KERNEL_LEVEL pins the level)\n",
        state.kernel_level, here);
}

result<start_point> start_from_checkpoint(const prepared_run& run, const run_directory& folder, store_holder holder) {
  auto state = read_own_checkpoint(run, folder, holder);
  if (!state) return tl::unexpected(state.error());
  use_kernels_of(run.experiment.settings.network->kernels, *state);
  if (auto kept = check_store(run, folder, holder, *state); !kept) return tl::unexpected(kept.error());
  // A run with remaining rounds has not ended. Its summary is removed first: a finished run without one gets it back by
  // another resume, while an unfinished run with one would be mistaken for finished.
  if (!federated::is_over(run.experiment.settings, *state))
    if (auto reopened = folder.reopen(); !reopened) return tl::unexpected(reopened.error());
  // infer and report read settings that may change between lives, such as the number of rounds: record them.
  if (auto written = write_atomically(folder.scenario(), scenarios::resolved_toml(run.scenario)); !written)
    return tl::unexpected(written.error());
  // The new life must be recorded before it changes anything.
  state->history.resume(state->version, actors::federation::fresh_nonce());
  if (auto written = storage::write_checkpoint(folder.checkpoint(), *state); !written)
    return tl::unexpected(written.error());
  auto store = open_store(run, folder, state->history, state->private_save, holder);
  if (!store) return tl::unexpected(store.error());
  return start_point{std::move(*state), std::move(*store)};
}

/// True if a run had a checkpoint that is missing. Its folder is created with the first one, and a private store
/// records from which it continued.
result<bool> lost_checkpoint(const prepared_run& run, const run_directory& folder) {
  if (std::filesystem::exists(folder.summary()) || std::filesystem::exists(folder.checkpoint())) return true;
  if (!storage::rocks_store::is_in(folder.private_store())) return false;
  const auto store = storage::rocks_store::inspect(folder.private_store(), storage::store_access::read,
                                                   run.experiment.settings.own->key_file);
  if (!store) return tl::unexpected(store.error());
  return (*store)->covered() > 0;
}

/// Without a checkpoint a run starts from nothing, which is correct only if it was killed before its first.
result<void> check_nothing_is_lost(const prepared_run& run, const run_directory& folder) {
  const auto before = scenarios::parse_scenario(folder.scenario());
  if (!before || scenarios::run_id(*before) != run.experiment.run)
    return tl::unexpected(other_run(run, folder, "is the folder"));
  const auto lost = lost_checkpoint(run, folder);
  if (!lost) return tl::unexpected(lost.error());
  if (*lost)
    return fail(error::kind::data, folder.checkpoint().string(), "the run had a checkpoint, but it is missing",
                "restore it, or remove " + folder.root().string() + " to run from the start");
  fmt::print(stderr, "note: {} has no checkpoint yet: the run starts from the beginning\n", folder.root().string());
  return {};
}

/// Services start with --resume always, so it is no error that there is no run yet. Where it is a mistake, such as a
/// mistyped folder, it must be noticed at once.
void warn_of_new_run(const run_directory& folder) {
  fmt::print(
      stderr,
      "warning: --resume: {} {}, so there is no run to continue and a new one starts there; to continue another one, "
      "stop this one with Ctrl-C and name the folder of that run with --out\n",
      for_people(folder.root().string()), std::filesystem::exists(folder.root()) ? "is empty" : "does not exist");
}

}  // namespace

result<json> find_end(const prepared_run& run, const run_directory& folder, store_holder holder) {
  if (!std::filesystem::exists(folder.summary()) || !storage::has_checkpoint(folder.checkpoint())) return json();
  const auto state = read_own_checkpoint(run, folder, holder);
  if (!state) return tl::unexpected(state.error());
  if (!federated::is_over(run.experiment.settings, *state)) return json();
  return read_object(folder.summary());
}

result<start_point> begin_run(const prepared_run& run, run_directory& folder, bool resume, const std::string& log_level,
                              store_holder holder) {
  const bool resumes = resume && !folder.vacant();
  if (!resumes) {
    if (resume) warn_of_new_run(folder);
    if (auto made = folder.create(or_resume); !made) return tl::unexpected(made.error());
  } else if (!folder.is_of_run()) {
    return fail(error::kind::usage, folder.root().string(), "is not the folder of a run: it has no scenario.toml",
                "name the folder of the run with --out");
  }
  if (auto locked = folder.lock(); !locked) return tl::unexpected(locked.error());
  if (auto opened = open_log(folder.log(), log_level); !opened) return tl::unexpected(opened.error());
  if (!resumes || !std::filesystem::exists(folder.scenario())) return start_afresh(run, folder, holder);
  if (storage::has_checkpoint(folder.checkpoint())) return start_from_checkpoint(run, folder, holder);
  if (auto safe = check_nothing_is_lost(run, folder); !safe) return tl::unexpected(safe.error());
  return start_afresh(run, folder, holder);
}

}  // namespace furlong::tools
