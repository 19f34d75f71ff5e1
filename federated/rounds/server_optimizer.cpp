#include "federated/rounds/server_optimizer.hpp"

#include <cmath>

#include "base/exact_math.hpp"
#include "federated/settings/training.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

server_optimizer::server_optimizer(const server_settings& settings, const models::layout_ptr& shared)
    : settings_(settings) {
  const std::vector<float> zeros(shared->size(), 0.0F);
  const std::vector<float> start(shared->size(), static_cast<float>(settings.initial_accumulator));
  switch (settings.optimizer) {
    case optimizer_kind::sgd:
      if (settings.momentum != 0) state_.slots = {zeros};
      break;
    case optimizer_kind::adagrad: state_.slots = {start}; break;
    case optimizer_kind::adam:
    case optimizer_kind::yogi: state_.slots = {zeros, start}; break;
  }
  for (std::size_t t = 0; t < shared->count(); ++t) {
    const bool is_buffer = (*shared)[t].buffer;
    if (ranges_.empty() || ranges_.back().is_buffer != is_buffer) ranges_.push_back({shared->offset(t), 0, is_buffer});
    ranges_.back().size += (*shared)[t].size();
  }
}

void server_optimizer::apply(const models::shared_parameters& change, models::shared_parameters& model) {
  ++state_.steps;
  for (const auto& [begin, size, is_buffer] : ranges_) {
    const auto by = change.values().subspan(begin, size);
    const auto w = model.values().subspan(begin, size);
    if (is_buffer) {
      models::kernels().descend(w.data(), by.data(), size, -1.0F);
      continue;
    }
    switch (settings_->optimizer) {
      case optimizer_kind::sgd: apply_sgd(begin, by, w); break;
      case optimizer_kind::adagrad: apply_adagrad(begin, by, w); break;
      case optimizer_kind::adam:
      case optimizer_kind::yogi: apply_moments(begin, by, w); break;
    }
  }
}

void server_optimizer::apply_sgd(std::size_t begin, std::span<const float> change, std::span<float> w) {
  const auto lr = static_cast<float>(settings_->lr);
  if (settings_->momentum == 0) {
    models::kernels().descend(w.data(), change.data(), w.size(), -lr);
    return;
  }
  // The velocity of -g, so that the delta itself is added.
  models::kernels().descend_momentum(w.data(), state_.slots[0].data() + begin, change.data(), w.size(), -lr,
                                     static_cast<float>(settings_->momentum));
}

void server_optimizer::apply_adagrad(std::size_t begin, std::span<const float> change, std::span<float> w) {
  auto* v = state_.slots[0].data() + begin;
  const auto lr = static_cast<float>(settings_->lr);
  const auto eps = static_cast<float>(settings_->eps);
  for (std::size_t i = 0; i < w.size(); ++i) {
    v[i] += change[i] * change[i];
    if (change[i] != 0.0F) w[i] += lr * change[i] / (std::sqrt(v[i]) + eps);  // not 0 / 0 where eps and v are 0
  }
}

void server_optimizer::apply_moments(std::size_t begin, std::span<const float> change, std::span<float> w) {
  auto* m = state_.slots[0].data() + begin;
  auto* v = state_.slots[1].data() + begin;
  const auto b1 = static_cast<float>(settings_->beta1);
  const auto b2 = static_cast<float>(settings_->beta2);
  const auto eps = static_cast<float>(settings_->eps);
  const auto t = static_cast<double>(state_.steps);
  const bool corrects = settings_->bias_correction;
  const double rate = corrects ? settings_->lr / (1.0 - exact::pow(settings_->beta1, t)) : settings_->lr;
  const double root = corrects ? 1.0 / std::sqrt(1.0 - exact::pow(settings_->beta2, t)) : 1.0;
  const auto lr = static_cast<float>(rate);
  const auto scale = static_cast<float>(root);
  const bool yogi = settings_->optimizer == optimizer_kind::yogi;
  for (std::size_t i = 0; i < w.size(); ++i) {
    const float squared = change[i] * change[i];
    m[i] = b1 * m[i] + (1.0F - b1) * change[i];
    if (yogi) {
      const float sign = squared > v[i] ? 1.0F : (squared < v[i] ? -1.0F : 0.0F);
      v[i] += (1.0F - b2) * sign * squared;
    } else {
      v[i] = b2 * v[i] + (1.0F - b2) * squared;
    }
    if (m[i] != 0.0F) w[i] += lr * m[i] / (std::sqrt(v[i]) * scale + eps);
  }
}

}  // namespace furlong::federated
