// What the server's step of an algorithm sees: the model, the tensors that it added, and what clients reported.
#pragma once

#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment.hpp"

namespace furlong::federated {

class server_optimizer;

/// One round that is being closed. step() may write the model and the added tensors.
struct server_view {
  const experiment& e;
  models::shared_parameters& model;
  models::shared_parameters& added;  ///< of the layout parts.server
  server_optimizer& optimizer;
  std::uint64_t version = 0;  ///< that the model had before

  /// Clients that may be asked; the same for the whole run.
  [[nodiscard]] std::size_t training_clients() const { return e.participants->training().size(); }
  /// A tensor that the server keeps: of a broadcast, shared or server group.
  [[nodiscard]] std::span<float> tensor(std::size_t group, std::size_t i = 0) const {
    return added.tensor(e.groups[group].in_server + i);
  }
  /// The aggregate of a tensor that clients report: of a report or shared group.
  [[nodiscard]] std::span<const float> reported(const aggregate& of, std::size_t group, std::size_t i = 0) const {
    return of.added.tensor(e.groups[group].in_reported + i);
  }
  /// Moves the model by a change, as [algorithm] server says.
  void optimize(const models::shared_parameters& change) const;
  /// Adds to each tensor of the shared groups what was reported of it.
  void add_reported(const aggregate& of) const;
};

}  // namespace furlong::federated
