#include "federated/client/local_training.hpp"

#include <algorithm>

#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

local_loop client_loop(const run_settings& settings) {
  const auto& client = *settings.client;
  return {client.epochs,
          client.max_steps,
          client.batch_size,
          client.shuffle,
          {.rate = client.lr,
           .momentum = client.momentum,
           .proximal = client.proximal,
           .optimizer = client.optimizer,
           .beta1 = client.beta1,
           .beta2 = client.beta2,
           .eps = client.eps,
           .weight_decay = client.weight_decay,
           .clip = client.clip}};
}

std::uint64_t examples_in(std::uint64_t count, const local_loop& loop) {
  if (count == 0) return 0;
  const std::uint64_t size = loop.batch_size == 0 ? count : loop.batch_size;
  const std::uint64_t batches = (count + size - 1) / size;
  const std::uint64_t steps = loop.max_steps;
  if (steps == 0 || steps >= loop.epochs * batches) return loop.epochs * count;
  return steps / batches * count + std::min(steps % batches * size, count);
}

std::uint32_t reconstruction_batch(const run_settings& settings) {
  const auto own = settings.reconstruction->batch_size;
  return own == 0 ? settings.client->batch_size : own;
}

std::uint64_t reconstruction_examples(std::uint64_t support, const run_settings& settings) {
  const auto& how = *settings.reconstruction;
  if (how.solver == solver_kind::least_squares) return support;
  return examples_in(support, {how.epochs, how.max_steps, reconstruction_batch(settings)});
}

std::uint64_t query_examples(std::uint64_t count, std::uint64_t batch_size) {
  const std::uint64_t size = batch_size == 0 ? std::max<std::uint64_t>(count, 1) : batch_size;
  const std::uint64_t batches = (count + size - 1) / size;
  // An even number of batches: the last one is the query's, and may be smaller.
  return batches % 2 == 0 ? count - batches / 2 * size : batches / 2 * size;
}

void cut_batches(std::uint32_t first, std::uint32_t last, std::uint32_t batch_size, std::vector<batch_range>& out) {
  out.clear();
  const std::uint32_t step = batch_size == 0 ? std::max(last - first, 1U) : batch_size;
  for (std::uint32_t at = first; at < last; at += std::min(step, last - at))
    out.push_back({at, at + std::min(step, last - at)});
}

void split_batches(std::span<const batch_range> all, std::vector<batch_range>& support,
                   std::vector<batch_range>& query) {
  support.clear();
  query.clear();
  for (std::size_t i = 0; i < all.size(); ++i) (i % 2 == 0 ? support : query).push_back(all[i]);
}

phase_result run_batches(models::working_set& on, std::span<const batch_range> batches, std::uint32_t epochs,
                         std::uint32_t max_steps, const models::sgd_options& sgd,
                         std::span<const models::gradient_term> terms) {
  phase_result done;
  const auto data = on.data();
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    for (const auto& batch : batches) {
      if (max_steps != 0 && done.steps == max_steps) return done;
      done.loss_sum += on.step(data.slice(batch.first, batch.last), sgd, terms);
      done.examples += batch.last - batch.first;
      ++done.steps;
    }
  }
  return done;
}

namespace {

phase_result solve_least_squares(const models::model& model, models::working_set& on,
                                 std::span<const std::size_t> tensors, std::span<const batch_range> support,
                                 const reconstruction_settings& how, solver_scratch& scratch) {
  std::size_t p = 0;
  for (const auto t : tensors) p += on.weights()[t].size();
  std::size_t n = 0;
  for (const auto& batch : support) n += batch.last - batch.first;
  scratch.design.resize(n * p);
  scratch.target.resize(n);
  scratch.solution.resize(p);
  std::size_t done = 0;
  for (const auto& range : support) {
    const auto batch = on.data().slice(range.first, range.last);
    const auto target = std::span(scratch.target).subspan(done, batch.size());
    model.affine_design(on.weights(), batch, tensors, std::span(scratch.design).subspan(done * p, batch.size() * p),
                        target);
    for (std::size_t i = 0; i < batch.size(); ++i) target[i] = batch.labels[i] - target[i];
    done += batch.size();
  }
  const float ridge = how.ridge_per_example ? how.ridge * static_cast<float>(n) : how.ridge;
  // Where the matrix is not positive definite, which a ridge > 0 rules out but for rounding, what stood before is kept.
  if (models::kernels().ridge_solve(scratch.design.data(), scratch.target.data(), n, p, ridge,
                                    scratch.solution.data())) {
    const float* from = scratch.solution.data();
    for (const auto t : tensors) {
      const auto& view = on.weights()[t];
      std::copy_n(from, view.size(), view.data);
      from += view.size();
    }
  }
  return {n, 0.0};
}

}  // namespace

phase_result reconstruct(const models::model& model, models::working_set& on, std::span<const std::size_t> tensors,
                         std::span<const batch_range> support, const reconstruction_settings& how,
                         solver_scratch& scratch) {
  if (support.empty() || tensors.empty()) return {};
  if (how.solver == solver_kind::least_squares) return solve_least_squares(model, on, tensors, support, how, scratch);
  on.train_only(tensors);
  return run_batches(on, support, how.epochs, how.max_steps, {.rate = how.lr});
}

}  // namespace furlong::federated
