#include "federated/client/local_task.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "federated/settings/private_values.hpp"
#include "federated/settings/training.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

local_loop local_task::client_loop() const {
  auto loop = federated::client_loop(settings());
  loop.step.rate = rate_of_round(loop.step.rate);
  return loop;
}

float local_task::rate_of_round(float rate) const {
  if (settings().client->schedule == schedule_kind::constant) return rate;
  return rate * (1.0F - static_cast<float>(out_.id.version) / static_cast<float>(settings().rounds));
}

random_stream local_task::stream(purpose what, std::uint32_t part) const {
  return {settings().seed, what, static_cast<std::uint32_t>(out_.id.version), out_.id.client, part};
}

void local_task::shuffle() {
  use_.order.resize(use_.weights.data().size());
  std::iota(use_.order.begin(), use_.order.end(), 0U);
  stream(purpose::shuffle_examples, shuffles_++).shuffle(std::span(use_.order));
  use_.weights.reorder(use_.order);
}

void local_task::split_support(bool split) {
  assign_batches(use_, settings().client->batch_size, split, *settings().reconstruction);
}

void local_task::start_cold() {
  split_support(false);
  count_unweighted(reconstruct(parts().private_tensors));
}

void local_task::begin_phase(std::span<const std::size_t> tensors) {
  use_.weights.train_only(tensors);
  use_.weights.drop_by(stream(purpose::dropout, phases_++));
}

/// Calls run(epochs, steps left) for all epochs at once, or where each has an order of its own for one after the other.
template <class Run>
phase_result local_task::each_epoch(const local_loop& loop, const Run& run) {
  const auto cut = [&] {
    cut_batches(0, static_cast<std::uint32_t>(use_.weights.data().size()), loop.batch_size, use_.batches);
  };
  if (!loop.shuffle) {
    cut();
    return run(loop.epochs, loop.max_steps);
  }
  phase_result all;
  for (std::uint32_t epoch = 0; epoch < loop.epochs; ++epoch) {
    if (loop.max_steps != 0 && all.steps == loop.max_steps) break;
    shuffle();
    cut();
    const phase_result one = run(1U, loop.max_steps == 0 ? 0U : loop.max_steps - static_cast<std::uint32_t>(all.steps));
    all.examples += one.examples;
    all.loss_sum += one.loss_sum;
    all.steps += one.steps;
  }
  return all;
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop,
                             const models::step_correction* correct) {
  begin_phase(tensors);
  return each_epoch(loop, [&](std::uint32_t epochs, std::uint32_t steps) {
    return run_batches(use_.weights, use_.batches, epochs, steps, loop.step, correct);
  });
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop) {
  return sgd(tensors, loop, nullptr);
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop,
                             models::step_correction correct) {
  return sgd(tensors, loop, &correct);
}

phase_result local_task::sgd_on_query(std::span<const std::size_t> tensors) {
  begin_phase(tensors);
  const auto loop = client_loop();
  return run_batches(use_.weights, use_.query, loop.epochs, loop.max_steps, loop.step);
}

phase_result local_task::each_batch(const local_loop& loop,
                                    function_ref<double(const models::examples_view& batch)> step) {
  begin_phase({});
  return each_epoch(loop, [&](std::uint32_t epochs, std::uint32_t steps) {
    phase_result done;
    const auto data = use_.weights.data();
    for (std::uint32_t epoch = 0; epoch < epochs; ++epoch)
      for (const auto& batch : use_.batches) {
        if (steps != 0 && done.steps == steps) return done;
        done.loss_sum += step(data.slice(batch.first, batch.last));
        done.examples += batch.last - batch.first;
        ++done.steps;
      }
    return done;
  });
}

void local_task::count(const phase_result& phase) {
  count_unweighted(phase);
  out_.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(out_.weight + phase.examples, UINT32_MAX));
  out_.loss_sum += phase.loss_sum;
}

bool local_task::finite() const {
  if (!use_.weights.finite()) return false;
  const auto& norm_squared = models::kernels().norm_squared;
  const auto is_finite = [&](const placed_group& of, const large_floats& buffer) {
    for (std::size_t i = 0; i < of.count(); ++i) {
      const auto view = view_in(const_cast<float*>(buffer.data()), of, i);
      if (!std::isfinite(norm_squared(view.data, view.size()))) return false;
    }
    return true;
  };
  for (std::size_t g = 0; g < e_.groups.size(); ++g) {
    const auto& [values, reported, loaded, reports] = use_.groups[g];
    if (loaded && !is_finite(e_.groups[g], values)) return false;
    if (reports && !is_finite(e_.groups[g], reported)) return false;
  }
  return true;
}

void local_task::append_reported(models::delta& change) {
  for (std::size_t g = 0; g < e_.groups.size(); ++g) {
    const auto& of = e_.groups[g];
    if (of.in_up == placed_group::nowhere) continue;
    auto* buffer = reported_values(g).data;
    for (std::size_t i = 0; i < of.count(); ++i) {
      const auto view = view_in(buffer, of, i);
      change.pieces[of.in_up + i] = use_.weights.piece((*e_.parts.up)[of.in_up + i].index, change.values.size());
      change.values.insert(change.values.end(), view.data, view.data + view.size());
    }
  }
}

void local_task::store_kept(models::private_parameters& to) {
  for (std::size_t g = 0; g < e_.groups.size(); ++g) {
    const auto& of = e_.groups[g];
    if (of.where != place::kept) continue;
    load(g);  // what begins as received is stored as such, even where training did not look at it
    for (std::size_t i = 0; i < of.count(); ++i) {
      const auto view = view_in(use_.groups[g].values.data(), of, i);
      const auto into = to.tensor(of.in_private + i);
      if ((*to.shape())[of.in_private + i].index == models::row_index::none) {
        std::copy_n(view.data, view.size(), into.begin());
        continue;
      }
      const auto rows = rows_of(of, i);
      for (std::size_t r = 0; r < rows.size(); ++r)
        std::copy_n(view.row(r), view.cols, into.data() + std::size_t{rows[r]} * view.cols);
    }
  }
}

}  // namespace furlong::federated
