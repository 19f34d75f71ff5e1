#include "federated/client/local_task.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "federated/client/own_phase.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
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
  count_unweighted(reconstruct(parts().own_tensors));
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

std::span<const std::uint32_t> local_task::orders(const local_loop& loop) {
  const batch_range range{0, static_cast<std::uint32_t>(use_.weights.data().size())};
  cut_batches(range.first, range.last, loop.batch_size, use_.batches);
  const auto batches = static_cast<std::uint32_t>(use_.batches.size());
  std::uint32_t count = loop.shuffle ? loop.epochs : 1;
  if (loop.max_steps != 0) count = std::min(count, (loop.max_steps - 1) / batches + 1);
  std::vector<std::uint32_t> visits;
  for (std::uint32_t order = 0; order < count; ++order) {
    if (loop.shuffle) shuffle();
    visit({&range, 1});
    visits.insert(visits.end(), use_.visits.begin(), use_.visits.end());
  }
  use_.visits.swap(visits);
  return use_.visits;
}

/// The orders of all epochs are drawn first: each_epoch() would start the loop anew in every one.
phase_result local_task::own_phase_of(models::tensor_values start, std::span<const std::size_t> tensors,
                                      const local_loop& loop, std::span<const models::gradient_term> terms) {
  const auto draws = stream(purpose::dropout, phases_++);
  if (loop.epochs == 0 || tensors.empty()) return {};
  static_cast<void>(orders(loop));
  return run_own_loop(e_, use_,
                      {.start = start,
                       .tensors = tensors,
                       .loop = loop,
                       .per_epoch = static_cast<std::uint32_t>(use_.weights.data().size()),
                       .terms = terms,
                       .center = loop.step.proximal != 0.0F ? received() : models::tensor_values(),
                       .draws = draws});
}

random_stream local_task::next_draws() {
  constexpr std::uint32_t first = 1U << 20U;  // apart from the phases
  return stream(purpose::dropout, first + draws_++);
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop) {
  return sgd(tensors, loop, {});
}

phase_result local_task::sgd(std::span<const std::size_t> tensors, const local_loop& loop,
                             std::span<const models::gradient_term> terms) {
  if (e_.model->own_loop() != nullptr) return own_phase_of(weights(), tensors, loop, terms);
  begin_phase(tensors);
  auto done = each_epoch(loop, [&](std::uint32_t epochs, std::uint32_t steps) {
    return run_batches(use_.weights, use_.batches, epochs, steps, loop.step, terms);
  });
  done.rates = static_cast<float>(done.steps) * loop.step.rate;
  return done;
}

phase_result local_task::sgd_at(models::tensor_values values, std::span<const std::size_t> tensors,
                                const local_loop& loop, std::span<const models::gradient_term> terms) {
  if (e_.model->own_loop() != nullptr) {
    auto plain = loop;
    plain.step = {.rate = loop.step.rate};
    return own_phase_of(values, tensors, plain, terms);
  }
  const auto slope = scratch(0);
  models::moved_buffers(e_.parts, tensors, use_.moved);
  return each_batch(loop, [&](const models::examples_view& batch) {
    const double loss = gradient(batch, values, tensors, slope);
    for (const auto& term : terms) add(slope, term.factor, term.values, term.tensors);
    add(values, -loop.step.rate, slope, tensors);
    assign(values, slope, use_.moved);
    return loss;
  });
}

phase_result local_task::sgd_on_query(std::span<const std::size_t> tensors) {
  auto loop = client_loop();
  if (e_.model->own_loop() != nullptr) {
    loop.shuffle = false;
    const auto draws = stream(purpose::dropout, phases_++);
    const auto count = visit(use_.query);
    if (count == 0) return {};
    return run_own_loop(e_, use_,
                        {.start = weights(),
                         .tensors = tensors,
                         .loop = loop,
                         .per_epoch = count,
                         .center = loop.step.proximal != 0.0F ? received() : models::tensor_values(),
                         .draws = draws});
  }
  begin_phase(tensors);
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

phase_result local_task::sgd_in_turn(const local_loop& loop, std::span<const tensor_step> steps) {
  return each_batch(loop, [&](const models::examples_view& batch) {
    double first_loss = 0.0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      use_.weights.train_only(steps[i].tensors);
      const double loss = use_.weights.step(batch, {.rate = steps[i].rate});
      if (i == 0) first_loss = loss;
    }
    return first_loss;
  });
}

void local_task::predict_rows(std::span<float> predictions) {
  use_.order.resize(predictions.size());
  std::iota(use_.order.begin(), use_.order.end(), 0U);
  models::examples_view rows;
  rows.features = use_.order;
  rows.labels = predictions;  // as many as rows; no prediction reads a label
  e_.model->predict(use_.weights.weights(), rows, predictions);
}

void local_task::count(const phase_result& phase) {
  count_unweighted(phase);
  weigh(phase.examples, phase.loss_sum);
}

void local_task::weigh(std::uint64_t examples, double loss_sum) {
  is_weighed_ = true;
  auto counted = interactions_of(examples);
  if (counted < examples) loss_sum *= static_cast<double>(counted) / static_cast<double>(examples);  // the same mean
  if (e_.model->own_loop() != nullptr || e_.model->may_fail()) {
    const auto most = e_.settings.algorithm->does->most_weight(settings(), use_.weights.data().size());
    const auto asked = std::exchange(counted, std::min(counted, most - std::min<std::uint64_t>(out_.weight, most)));
    if (counted < asked) loss_sum *= static_cast<double>(counted) / static_cast<double>(asked);
  }
  out_.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(out_.weight + counted, UINT32_MAX));
  out_.loss_sum += loss_sum;
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
      if (of.forgets) std::ranges::fill(into, 0.0F);
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
