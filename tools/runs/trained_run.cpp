#include "tools/runs/trained_run.hpp"

#include "federated/rounds/divergence.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/state/broadcasts.hpp"
#include "scenarios/traces/device_file.hpp"
#include "storage/checkpoint.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

namespace {

/// A diverged model makes no predictions.
result<void> check_sound(const federated::server_state& state, const std::filesystem::path& run) {
  const auto why = federated::divergence_of(state);
  if (!why) return {};
  return fail(error::kind::runtime, run.string(), std::string(divergence_text) + ": " + *why,
              "train with a lower algorithm.client.lr or algorithm.server.lr");
}

bool lacks_devices(const scenarios::scenario& given) {
  return std::ranges::any_of(scenarios::device_files(*given.settings.devices), [](const auto& file) {
    std::error_code ignored;
    return !std::filesystem::exists(file, ignored);
  });
}

}  // namespace

result<scenarios::scenario> read_scenario(const run_directory& folder) {
  auto scenario = scenarios::parse_scenario(folder.scenario());
  if (scenario) return std::move(*scenario);
  auto why = scenario.error().front();
  why.fix.clear();
  return fail(error::kind::data, "", why.text(), "name the folder of a run");
}

result<federated::server_state> read_state(const prepared_run& run, const run_directory& folder) {
  return storage::read_checkpoint(
      folder.checkpoint(), run.experiment.parts, [&](const storage::checkpoint_origin& origin) -> result<void> {
        // The digest is also over the files of devices, and a reader without devices needs none.
        const bool whole = run.experiment.around != nullptr || !lacks_devices(run.scenario);
        if (auto same = check_same_data(run, origin.data_sha256, folder.root()); whole && !same) return same;
        return check_same_code(run.code, origin.code, folder.root(),
                               code_change::accepted);  // what it answers may be corrected
      });
}

result<trained_run> open_trained_run(const run_directory& folder, clients_are where) {
  auto ready = read_scenario(folder).and_then(
      [where](auto&& scenario) { return open_prepared_run(std::move(scenario), where); });
  if (!ready) return tl::unexpected(ready.error());
  auto state = read_state(*ready, folder);
  if (!state) return tl::unexpected(state.error());
  const auto& chosen = state->chosen();
  if (auto sound = check_sound(*state, folder.root()); !sound) return tl::unexpected(sound.error());
  auto sent = federated::sent_model(ready->experiment, chosen);
  trained_run run{std::move(*ready), std::move(sent), chosen.model,   *chosen.added, nullptr,
                  state->ledger,     state->now,      state->version, folder.root(), state->start_id != 0};
  if (!std::filesystem::exists(folder.private_store())) return run;
  if (!std::filesystem::exists(folder.summary()))  // stored values may be newer than the checkpoint's model
    return fail(error::kind::usage, folder.root().string(), "the run has not ended", "let it end with run --resume");
  auto store = storage::rocks_store::inspect(folder.private_store(), storage::store_access::read,
                                             run.prepared.experiment.settings.own->key_file);
  if (!store) return tl::unexpected(store.error());
  if (auto fits = (*store)->check_fits(state->version, state->private_save); !fits) return tl::unexpected(fits.error());
  run.store = std::move(*store);
  return run;
}

result<void> check_private_values(const trained_run& run, std::optional<std::uint32_t> client) {
  const auto& experiment = run.prepared.experiment;
  const auto& traits = experiment.settings.algorithm->traits;
  // What clients keep beside private tensors predicts, too, unless it only corrects the server's sums.
  const bool predicts =
      !experiment.parts.own_tensors.empty() || (experiment.parts.private_->count() > 0 && !traits.exact_state);
  if (run.store != nullptr || !traits.keeps_state || !predicts) return {};
  if (client && !std::ranges::binary_search(experiment.clients->training(), *client)) return {};
  const auto values = "the private values that " + experiment.settings.algorithm->kind + " predicts with are ";
  if (!run.served)
    return fail(error::kind::data, run.folder.string(), values + "missing: the folder has no private store",
                "restore it from the same copy as the checkpoint");
  return fail(error::kind::usage, run.folder.string(),
              values + "on the nodes of this run of furlong serve: others would be predicted without them",
              "see the evaluation of the nodes in summary.json, or take the shared model alone: furlong export RUN "
              "--model FILE");
}

}  // namespace furlong::tools
