// One run, assembled: what both engines (the reference loop and the actors) work on.
#pragma once

#include <functional>
#include <memory>

#include "base/result.hpp"
#include "federated/population.hpp"
#include "federated/settings.hpp"
#include "federated/tensor_groups.hpp"
#include "federated/update.hpp"
#include "models/model.hpp"

namespace furlong::federated {

struct world;

/// Immutable once built; shared by all threads of a run.
struct experiment {
  std::uint64_t run = 0;  ///< identifies the resolved scenario
  run_settings settings;
  std::shared_ptr<const models::model> model;
  models::partition parts;
  std::vector<placed_group> groups;                ///< tensors that the algorithm adds, by their number
  std::shared_ptr<const population> clients;       ///< who is evaluated, with whose data
  std::shared_ptr<const population> participants;  ///< who trains: `clients`, or one that pools them (!traits.sends)
  std::function<std::uint64_t(const client_update&)> upload_bytes;  ///< encoded size of an update
  /// Encoded size of a task and its broadcast, before zstd: what is known before there is a model.
  std::uint64_t download_bytes = 0;
  /// The same of one broadcast, with zstd; empty: download_bytes of all.
  std::function<std::uint64_t(const broadcast&)> sent_bytes;
  /// Encoded size that the simulation takes for a client's update before it is trained; empty: nothing is sent.
  std::function<std::uint64_t(std::uint32_t client)> planned_upload_bytes;
  bool sizes_declared =
      false;  ///< nodes alone know how many examples clients have: the adaptive limit of weights holds
  std::shared_ptr<const world> around;  ///< the simulated world; null under the real clock
};

/// Settles `parts` and `groups`: which tensors of the model are private, and where those are that the algorithm adds.
/// `settings` and `model` are there. Fails where names or groups make no sense, and says which.
[[nodiscard]] result<void> lay_out(experiment& e, std::span<const std::string> private_names);

/// The server's added tensors before the first round; without any, of no layout.
[[nodiscard]] models::shared_parameters initial_added(const experiment& e, const models::shared_parameters& model);

/// Draws the first shared parameters: each tensor from its own stream, keyed by the seed.
[[nodiscard]] models::shared_parameters initial_model(const experiment& e);
/// What a client's private parameters are before it has trained (kept tensors that begin as received: zero): keyed by
/// (seed, round, client). Evaluation draws at round 0; in training the algorithm's traits say at which.
void initial_private(const experiment& e, std::uint32_t round, std::uint32_t client, models::private_parameters& out);

}  // namespace furlong::federated
