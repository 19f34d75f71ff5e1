// Tensors that an algorithm adds to those of the model: auxiliary shared values, copies that a client keeps, sums that
// clients report. Wire, store, checkpoint, exact sums and compression treat them like all others.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "models/layout.hpp"

namespace furlong::federated {

enum class place : std::uint8_t {
  kept,       ///< on the client alone: in its private store, never sent
  broadcast,  ///< on the server; clients receive the values
  report,     ///< clients send values, and the server aggregates them
  shared,     ///< both: clients receive the values and report a delta
  server,     ///< on the server alone: in its checkpoint
};

/// Initial values of a tensor. received: the model's values. A kept tensor starts as those of the broadcast if the
/// client has none of its own; rows that the client's training examples do not name are always the received ones:
/// otherwise an item that it never rated would keep the value of its first task. initial, of kept tensors: the model's
/// values before the first round, the same on all clients. random, of copies that the server has: drawn as the model's
/// initial values are, other ones for each group; not of a model that computes elsewhere, whose values are its own.
enum class first_value : std::uint8_t { zero, constant, received, initial, random };

/// Aggregation of reported values: mean weighted by examples, plain mean, or sum.
enum class sum_rule : std::uint8_t { mean, uniform_mean, sum };

/// Tensors of one kind. Its number is its index in the list of algorithm::tensors(); its tensors are named
/// KIND/GROUP/TENSOR.
struct tensor_group {
  std::string name;
  place where = place::kept;
  /// Either copies of these tensors of the model, by number, with the same gathered rows,
  std::vector<std::size_t> copies_of = {};
  /// or tensors of any shape. Those indexed by feature or client have as many rows as the model's.
  std::vector<models::tensor_spec> specs = {};
  first_value first = first_value::zero;
  float constant = 0.0F;
  sum_rule rule = sum_rule::uniform_mean;  ///< of report and shared
  double max_norm = 1024.0;                ///< largest L2 norm of one reported tensor, else the update is rejected
  bool exact = false;                      ///< float32 whatever network.compression says
  /// A kept group: rows that the client's last task did not gather are zero. Else they stay as they were.
  bool forgets = false;
  /// A broadcast group with values for each of so many clients, which receive their own: on the server its tensors have
  /// a row for each. 0: all receive the same. In one process only.
  std::uint32_t clients = 0;
};

/// A group in the layouts of a run: the number of its first tensor in each; the others follow.
struct placed_group : tensor_group {
  static constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
  std::size_t in_private = nowhere;
  std::size_t in_down = nowhere;
  std::size_t in_up = nowhere;
  std::size_t in_reported = nowhere;
  std::size_t in_server = nowhere;

  /// Tensors of the group.
  [[nodiscard]] std::size_t count() const { return copies_of.empty() ? specs.size() : copies_of.size(); }
};

}  // namespace furlong::federated
