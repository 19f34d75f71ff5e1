#include "tools/cli/replay_start.hpp"

#include <algorithm>
#include <fstream>
#include <utility>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/private_values.hpp"
#include "storage/checkpoint.hpp"
#include "storage/durable_folder.hpp"
#include "storage/rocks_store.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/kept_checkpoints.hpp"
#include "tools/runs/run_start.hpp"

namespace furlong::tools {

namespace {

namespace fs = std::filesystem;

/// True if figures about training clients may decide what the run does: then a kept checkpoint may depend on the
/// removed clients although none was selected.
bool judged_by_training_clients(const prepared_run& run) {
  const auto& settings = *run.experiment.settings.evaluation;
  if (settings.every == 0 || (!settings.keep_best && settings.target.metric.empty())) return false;
  const bool held_out = !run.experiment.clients->unseen_validation().empty();
  return settings.target.metric.starts_with("seen.") || settings.target.metric.starts_with("train.") || !held_out;
}

/// Writes the lines of a run's file up to a length, without figures of groups that have removed clients.
result<std::uint64_t> copy_lines(const fs::path& source, std::uint64_t bytes, const fs::path& target,
                                 const prepared_run& run) {
  std::ifstream input(source, std::ios::binary);
  auto out = growing_file::open(target, 0);
  if (!out) return tl::unexpected(out.error());
  std::string line;
  for (std::uint64_t read = 0; read < bytes && std::getline(input, line);) {
    read += line.size() + 1;
    auto value = json::parse(line, nullptr, false);
    if (value.is_object() && value.contains("eval")) {
      value["eval"].erase("seen");
      value["eval"].erase("train");
      if (run.experiment.clients->unseen_validation().empty()) value["eval"].erase("validation");
      line = value.dump();
    }
    if (auto written = out->append(line); !written) return tl::unexpected(written.error());
  }
  return out->sync();
}

/// Copies the values of a kept store to a new one of the replay.
/// @param save of the kept checkpoint, which the kept store must belong to
result<federated::store_save> copy_store(const prepared_run& run, const run_directory& kept,
                                         const run_directory& target, std::uint64_t version,
                                         const federated::store_save& save) {
  const auto& experiment = run.experiment;
  auto source = storage::rocks_store::inspect(kept.private_store(), storage::store_access::read,
                                              experiment.settings.own->key_file);
  if (!source) return tl::unexpected(source.error());
  if (auto fits = (*source)->check_fits(version, save); !fits) return tl::unexpected(fits.error());
  auto store = open_private_store(experiment, target.private_store(), {},
                                  static_cast<std::uint32_t>(experiment.clients->training().size()), false, {});
  if (!store) return tl::unexpected(store.error());
  result<void> copied;
  auto visited =
      (*source)->visit([&](std::uint32_t client, std::uint64_t value_version, const models::private_parameters& value) {
        if (copied) copied = (*store)->commit(client, value_version, value);
      });
  if (!visited) return tl::unexpected(visited.error());
  if (!copied) return tl::unexpected(copied.error());
  return (*store)->save(version);
}

}  // namespace

result<std::optional<std::uint64_t>> newest_without(const prepared_run& prepared, const run_directory& run,
                                                    const federated::server_state& newest,
                                                    const std::vector<std::uint32_t>& without) {
  if (judged_by_training_clients(prepared)) return std::optional<std::uint64_t>();
  const kept_checkpoints kept(run);
  const auto versions = kept.versions();
  for (auto version = versions.rbegin(); version != versions.rend(); ++version) {
    const auto state = storage::read_checkpoint(kept.at(*version).checkpoint(), prepared.experiment.parts);
    if (!state) return tl::unexpected(state.error());
    if (auto own = kept.check(*version, *state, newest); !own) return tl::unexpected(own.error());
    if (std::ranges::all_of(without, [&](auto client) { return (*state->ledger)[client].asked_version == 0; }))
      return std::optional(*version);
  }
  return std::optional<std::uint64_t>();
}

result<void> begin_at(const prepared_run& prepared, const run_directory& run, std::uint64_t version,
                      const run_directory& target) {
  const auto kept = kept_checkpoints(run).at(version);
  auto state = storage::read_checkpoint(kept.checkpoint(), prepared.experiment.parts);
  if (!state) return tl::unexpected(state.error());
  if (auto made = target.create(); !made) return made;
  const auto bytes = state->output_bytes;
  for (const std::string name : {"metrics.jsonl", "events.jsonl", "cohorts.jsonl"}) {
    const auto length = bytes.find(name);
    const auto copied =
        copy_lines(run.root() / name, length == bytes.end() ? 0 : length->second, target.root() / name, prepared);
    if (!copied) return tl::unexpected(copied.error());
    state->output_bytes[name] = *copied;
  }
  state->run = prepared.experiment.run;
  for (auto& task : state->open) task.id.run = state->run;
  for (auto& task : state->simulation.tasks) task.id.run = state->run;
  // The events about the removed clients have happened, also if the run is over.
  const auto& events = *prepared.experiment.settings.events;
  auto& happened = state->simulation.events;
  for (std::uint32_t i = 0; i < events.size(); ++i)
    if (events[i].what == federated::event_kind::unresponsive && events[i].at_round && events[i].round == 1 &&
        std::ranges::find(happened, i) == happened.end())
      happened.push_back(i);
  state->history = {};
  state->wall_seconds = state->cpu_seconds = state->train_seconds = state->train_cpu_seconds = 0.0;
  const auto kept_save = std::exchange(state->private_save, {});
  if (prepared.experiment.settings.algorithm->traits.keeps_state) {
    auto saved = copy_store(prepared, kept, target, version, kept_save);
    if (!saved) return tl::unexpected(saved.error());
    state->private_save = *saved;
  }
  if (auto copied = storage::copy_checkpoint(kept.checkpoint(), target.checkpoint()); !copied) return copied;
  if (auto written = storage::write_checkpoint(target.checkpoint(), *state); !written) return written;
  // Last: a folder without it is not that of a run, and is not resumed.
  return write_atomically(target.scenario(), scenarios::resolved_toml(prepared.scenario));
}

}  // namespace furlong::tools
