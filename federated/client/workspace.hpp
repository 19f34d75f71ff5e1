// Buffers that one thread reuses for its clients.
#pragma once

#include <cstdint>
#include <vector>

#include "base/large_memory.hpp"
#include "federated/client/local_training.hpp"
#include "federated/experiment/negatives.hpp"
#include "models/parameters.hpp"
#include "models/working_set.hpp"

namespace furlong::federated {

/// The values of one group of tensors that an algorithm adds, in the task at hand.
struct group_buffers {
  large_floats values;
  large_floats reported;
  bool loaded = false;   ///< `values` are those of the task
  bool reports = false;  ///< so is `reported`
};

struct workspace {
  models::working_set weights;
  models::examples data;
  negatives_room negatives;
  std::size_t per_interaction = 1;  ///< examples of the task for each interaction: with negatives more than 1
  models::private_parameters own;
  std::vector<batch_range> batches;
  std::vector<batch_range> support;
  std::vector<batch_range> query;
  std::vector<std::uint32_t> order;
  std::vector<std::uint32_t> visits;  ///< features of examples, in the order of a loop of the model's own
  large_floats own_values;            ///< what such a loop makes
  std::vector<std::size_t> moved;     ///< buffers that a phase moves
  std::vector<float> predictions;
  std::vector<float> item_scores;  ///< of a ranking: one per item of the data
  std::vector<group_buffers> groups;
  large_floats received;
  large_floats initial;  ///< of one tensor, all of its rows
  std::vector<large_floats> scratch;
  solver_scratch solver;
};

/// Cuts the examples of `use.weights` into batches of `batch_size` and assigns even ones to `use.support`, odd ones to
/// `use.query`; without `split` all to both. With how.batch_size the support is cut again into batches of that size
/// (its examples are moved to the front for that).
void assign_batches(workspace& use, std::uint32_t batch_size, bool split, const reconstruction_settings& how);

}  // namespace furlong::federated
