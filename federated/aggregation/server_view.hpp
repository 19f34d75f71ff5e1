// The input of an algorithm's server step: the model, the added tensors, and what clients reported.
#pragma once

#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

class server_optimizer;

/// The round that is being closed. step() may write the model and the added tensors.
struct server_view {
  const experiment& e;
  models::shared_parameters& model;
  models::shared_parameters& added;  ///< of the layout parts.server
  server_optimizer& optimizer;
  std::uint64_t version = 0;  ///< of the model before the step

  /// Number of training clients; constant during a run.
  [[nodiscard]] std::size_t training_clients() const { return e.participants->training().size(); }
  /// A tensor on the server: of a broadcast, shared or server group.
  [[nodiscard]] std::span<float> tensor(std::size_t group, std::size_t i = 0) const {
    return added.tensor(place_of(group, i, &placed_group::in_server));
  }
  /// The aggregate of a tensor that clients report: of a report or shared group.
  [[nodiscard]] std::span<const float> reported(const aggregate& of, std::size_t group, std::size_t i = 0) const {
    return of.added.tensor(place_of(group, i, &placed_group::in_reported));
  }
  /// Applies a delta to the model with the server optimizer.
  void optimize(const models::shared_parameters& change) const;
  /// Adds the aggregate to each tensor of the shared groups.
  void add_reported(const aggregate& of) const;

 private:
  /// Throws std::out_of_range for a group or tensor that there is not.
  [[nodiscard]] std::size_t place_of(std::size_t group, std::size_t i, std::size_t placed_group::*first) const;
};

}  // namespace furlong::federated
