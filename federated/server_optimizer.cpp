#include "federated/server_optimizer.hpp"

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
}

void server_optimizer::apply(const models::shared_parameters& change, models::shared_parameters& model) {
  ++state_.steps;
  switch (settings_->optimizer) {
    case optimizer_kind::sgd: return apply_sgd(change.values(), model.values());
    case optimizer_kind::adagrad: return apply_adagrad(change.values(), model.values());
    case optimizer_kind::adam:
    case optimizer_kind::yogi: return apply_moments(change.values(), model.values());
  }
}

void server_optimizer::apply_sgd(std::span<const float> change, std::span<float> w) {
  const auto lr = static_cast<float>(settings_->lr);
  if (settings_->momentum == 0) {
    models::kernels().descend(w.data(), change.data(), w.size(), -lr);
    return;
  }
  // The velocity of -g, so that the delta itself is added.
  models::kernels().descend_momentum(w.data(), state_.slots[0].data(), change.data(), w.size(), -lr,
                                     static_cast<float>(settings_->momentum));
}

void server_optimizer::apply_adagrad(std::span<const float> change, std::span<float> w) {
  auto& v = state_.slots[0];
  const auto lr = static_cast<float>(settings_->lr);
  const auto eps = static_cast<float>(settings_->eps);
  for (std::size_t i = 0; i < w.size(); ++i) {
    v[i] += change[i] * change[i];
    if (change[i] != 0.0F) w[i] += lr * change[i] / (std::sqrt(v[i]) + eps);  // not 0 / 0 where eps and v are 0
  }
}

void server_optimizer::apply_moments(std::span<const float> change, std::span<float> w) {
  auto& m = state_.slots[0];
  auto& v = state_.slots[1];
  const auto b1 = static_cast<float>(settings_->beta1);
  const auto b2 = static_cast<float>(settings_->beta2);
  const auto eps = static_cast<float>(settings_->eps);
  const auto t = static_cast<double>(state_.steps);
  const double correction = settings_->bias_correction ? std::sqrt(1.0 - exact::pow(settings_->beta2, t)) /
                                                             (1.0 - exact::pow(settings_->beta1, t))
                                                       : 1.0;
  const auto lr = static_cast<float>(settings_->lr * correction);
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
    if (m[i] != 0.0F) w[i] += lr * m[i] / (std::sqrt(v[i]) + eps);
  }
}

}  // namespace furlong::federated
