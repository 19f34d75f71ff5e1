// One run, assembled: the input of the reference loop and of the actors.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/digest.hpp"
#include "base/result.hpp"
#include "federated/experiment/population.hpp"
#include "federated/experiment/tensor_groups.hpp"
#include "federated/experiment/update.hpp"
#include "federated/settings/settings.hpp"
#include "models/model.hpp"

namespace furlong::federated {

struct world;

/// Immutable once built; shared by all threads of a run.
struct experiment {
  std::uint64_t run = 0;  ///< identifies the resolved scenario
  digest terms{};         ///< in a federation: of what its server tells nodes of the run (terms_of())
  run_settings settings;
  std::shared_ptr<const models::model> model;
  models::partition parts;
  std::vector<placed_group> groups;           ///< tensors that the algorithm adds, by their number
  std::shared_ptr<const population> clients;  ///< clients to evaluate, with their data
  std::shared_ptr<const population>
      participants;  ///< clients that train: `clients`, or their pooled data (!traits.sends)
  std::function<std::uint64_t(const client_update&)> upload_bytes;  ///< encoded size of an update
  /// Encoded size of a task and its broadcast without zstd: known before there is a model.
  std::uint64_t download_bytes = 0;
  /// The size of one broadcast with zstd; empty: download_bytes for all.
  std::function<std::uint64_t(const broadcast&)> sent_bytes;
  /// Encoded size of a client's update that the simulation assumes before training; empty: nothing is sent.
  std::function<std::uint64_t(std::uint32_t client)> planned_upload_bytes;
  bool sizes_declared =
      false;  ///< nodes alone know how many examples clients have: the adaptive limit of weights holds
  std::shared_ptr<const world> around;  ///< the simulated world; null under the real clock
};

/// The values of a tensor of the model before the first round, if it is shared: drawn from its own stream, keyed by the
/// seed. `out` has its size.
void initial_tensor(const experiment& e, std::size_t tensor, std::span<float> out);
/// The initial shared parameters.
[[nodiscard]] models::shared_parameters initial_model(const experiment& e);
/// The random stream of the initial values of a client's tensor: a private one, or its row of a table over clients. The
/// algorithm's traits define what keys it.
[[nodiscard]] random_stream initial_stream(const experiment& e, std::size_t tensor, std::uint32_t round,
                                           std::uint32_t client);
/// A client's private parameters before training (kept tensors that start as received: zero), keyed by (seed, round,
/// client). Evaluation uses round 0; the algorithm's traits define the round in training.
void initial_private(const experiment& e, std::uint32_t round, std::uint32_t client, models::private_parameters& out);

}  // namespace furlong::federated
