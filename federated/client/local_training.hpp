// Stochastic gradient descent on one client, and the reconstruction of parameters from a client's examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/working_set.hpp"

namespace furlong::federated {

struct reconstruction_settings;
struct run_settings;

/// Examples first, ..., last - 1 of a working set.
struct batch_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
};

/// How a phase of local SGD goes over a client's examples.
struct local_loop {
  std::uint32_t epochs = 1;
  std::uint32_t max_steps = 0;   ///< 0: no limit
  std::uint32_t batch_size = 0;  ///< 0: all examples in one batch
  bool shuffle = false;          ///< a new order in every epoch
  models::sgd_options step = {};
};
/// [algorithm] client; the learning rate is that of the first round.
[[nodiscard]] local_loop client_loop(const run_settings& settings);

/// Examples that a loop over `count` examples processes, counting repeats.
[[nodiscard]] std::uint64_t examples_in(std::uint64_t count, const local_loop& loop);
/// Examples in a step of reconstruction by SGD outside the batches of training; 0: all.
[[nodiscard]] std::uint32_t reconstruction_batch(const run_settings& settings);
/// As examples_in(), of a reconstruction on `support` examples.
[[nodiscard]] std::uint64_t reconstruction_examples(std::uint64_t support, const run_settings& settings);
/// Of `count` examples those in odd batches.
[[nodiscard]] std::uint64_t query_examples(std::uint64_t count, std::uint64_t batch_size);

using models::phase_result;

/// Cuts examples first, ..., last - 1 into batches of `batch_size` (0: one batch); the last may be smaller.
void cut_batches(std::uint32_t first, std::uint32_t last, std::uint32_t batch_size, std::vector<batch_range>& out);

/// Even-numbered batches to support, odd-numbered ones to query (FedRecon's split: disjoint and deterministic).
void split_batches(std::span<const batch_range> all, std::vector<batch_range>& support,
                   std::vector<batch_range>& query);

/// Repeats the batches `epochs` times and stops after `max_steps` steps (0: no cap), in this order of operations.
phase_result run_batches(models::working_set& on, std::span<const batch_range> batches, std::uint32_t epochs,
                         std::uint32_t max_steps, const models::sgd_options& sgd,
                         std::span<const models::gradient_term> terms = {});

/// Reusable buffers of reconstruct() for least squares.
struct solver_scratch {
  std::vector<float> design;
  std::vector<float> target;
  std::vector<float> solution;
};

/// Finds the values of `tensors` from the examples of `support`, everything else frozen, starting (SGD) from what the
/// working set holds: SGD steps, or the exact minimiser of sum (y - yhat)^2 + ridge ||w||^2 (least squares, for models
/// that are affine in these tensors; a Cholesky factorization). An empty support changes nothing.
phase_result reconstruct(const models::model& model, models::working_set& on, std::span<const std::size_t> tensors,
                         std::span<const batch_range> support, const reconstruction_settings& how,
                         solver_scratch& scratch);

}  // namespace furlong::federated
