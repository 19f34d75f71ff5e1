// What a client does with a task, for every algorithm. Pure: data and parameters in, an update out.
//
// FedAvg    (McMahan et al. 2017): local SGD on all tensors; the update is the difference.
// FedSGD    the same with one step on all examples: the update is the scaled gradient.
// FURL      (Bui et al. 2019, section 3.5): SGD on shared and private tensors jointly; private ones are kept as trained
//           (eq. 7, z_i = 1) and stored by the caller; only the shared difference is in the update.
// FedRecon  (Singhal et al. 2021, algorithm 1): private tensors drawn afresh, reconstructed on the support batches with
//           shared ones frozen; then shared tensors updated on the query batches with private ones frozen.
//
// Dropout applies while the update is trained, from a stream keyed by (seed, version, client); not in reconstruction.
#pragma once

#include <cstdint>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/local_training.hpp"
#include "federated/update.hpp"
#include "models/working_set.hpp"

namespace furlong::federated {

/// Buffers that one thread uses for one client after another.
struct workspace {
  models::working_set weights;
  models::examples data;
  models::private_parameters own;
  std::vector<batch_range> batches;
  std::vector<batch_range> support;
  std::vector<batch_range> query;
  std::vector<std::uint32_t> order;
  std::vector<float> predictions;
  solver_scratch solver;
};

/// Cuts the examples of `use.weights` into batches of `batch_size` and deals them out: even ones to `use.support`, odd
/// ones to `use.query`; without `split` all to both. With how.batch_size the support is cut anew into batches of that
/// size (its examples are moved to the front for that).
void deal_batches(workspace& use, std::uint32_t batch_size, bool split, const reconstruction_settings& how);

/// Whether the algorithm keeps private parameters from round to round. If so the caller loads them before and stores
/// them after client_work().
[[nodiscard]] bool is_stateful(algorithm_kind kind);

/// Whether clients train also when nobody wants their update any more: what they keep of their own depends on it.
[[nodiscard]] inline bool trains_for_itself(const run_settings& settings) {
  return is_stateful(settings.algorithm) && settings.own.commit == commit_kind::after_training;
}

/// Trains as the settings say, starting from the broadcast.
/// In: `use.own`, for stateful algorithms the client's stored values if `has_own`; else ignored.
/// Out: `use.own`, the private values as trained; `out`, the update. A client without examples reports an update of
/// weight 0 and of no change. So does one whose weights ceased to be finite or to fit network.compression, with a loss
/// that is no number, which is refused as not-finite. The private values of both are as they were, and so are those of
/// a client whose update is beyond the bounds of the scenario or the limits of the version. Returns whether `use.own`
/// is to be stored.
bool client_work(const experiment& e, const broadcast& model, const task_id& id, bool has_own, workspace& use,
                 client_update& out);

}  // namespace furlong::federated
