#include "models/working_set.hpp"

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::models {

void working_set::selection::begin(std::size_t global_rows) {
  rows.clear();
  if (slot.size() < global_rows) {
    slot.resize(global_rows);
    seen.resize(global_rows, 0);
  }
  if (++epoch == 0) {  // the counter wrapped: reset all marks
    std::ranges::fill(seen, 0U);
    epoch = 1;
  }
}

std::uint32_t working_set::selection::local(std::uint32_t global) {
  if (seen[global] != epoch) {
    seen[global] = epoch;
    slot[global] = static_cast<std::uint32_t>(rows.size());
    rows.push_back(global);
  }
  return slot[global];
}

void working_set::selection::prepare_marks() {
  if (stamp.size() >= rows.size()) return;
  stamp.resize(rows.size(), now);
  touched.resize(rows.size());
}

row_marks working_set::selection::next_marks() {
  if (++now == 0) {
    std::ranges::fill(stamp, 0U);
    now = 1;
  }
  return {stamp.data(), touched.data(), now, 0};
}

std::uint32_t working_set::local_rows(std::size_t tensor) const {
  const auto& spec = (*parts_->model)[tensor];
  switch (spec.index) {
    case row_index::by_feature: return static_cast<std::uint32_t>(features_.rows.size());
    case row_index::by_client: return static_cast<std::uint32_t>(clients_.rows.size());
    case row_index::none: break;
  }
  return spec.rows;
}

void working_set::select_rows(const examples_view& data, std::uint32_t client, bool all_rows,
                              const examples_view& later) {
  std::size_t feature_rows = 0;
  std::size_t client_rows = 0;
  for (const auto& spec : parts_->model->tensors()) {
    if (spec.index == row_index::by_feature) feature_rows = spec.rows;
    if (spec.index == row_index::by_client) client_rows = spec.rows;
  }
  features_.begin(feature_rows);
  clients_.begin(client_rows);
  local_.features.resize(data.features.size());
  if (feature_rows > 0)
    std::ranges::transform(data.features, local_.features.begin(), [&](auto id) { return features_.local(id); });
  else
    std::ranges::copy(data.features, local_.features.begin());
  if (feature_rows > 0)
    for (const auto id : later.features) features_.local(id);
  if (all_rows)
    for (std::uint32_t row = 0; row < feature_rows; ++row) features_.local(row);
  local_.values.assign(data.values.begin(), data.values.end());
  local_.offsets.assign(data.offsets.begin(), data.offsets.end());
  local_.labels.assign(data.labels.begin(), data.labels.end());
  local_.owners.clear();
  if (client_rows == 0) return;
  if (data.owners.empty()) {
    clients_.local(client);
    return;
  }
  local_.owners.resize(data.owners.size());
  std::ranges::transform(data.owners, local_.owners.begin(), [&](auto id) { return clients_.local(id); });
}

std::span<const std::uint32_t> working_set::rows(row_index index) const {
  switch (index) {
    case row_index::by_feature: return features_.rows;
    case row_index::by_client: return clients_.rows;
    case row_index::none: break;
  }
  return {};
}

void working_set::gather_again(const shared_parameters& shared, const private_parameters& own,
                               tensor_values target) const {
  for (std::size_t t = 0; t < views_.size(); ++t) {
    const auto& spec = (*parts_->model)[t];
    const auto slot = parts_->slots[t];
    const auto source = slot.is_private ? own.tensor(slot.tensor) : shared.tensor(slot.tensor);
    const auto view = target[t];
    if (spec.index == row_index::none) {
      std::ranges::copy(source, view.data);
      continue;
    }
    const auto rows = this->rows(spec.index);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(source.data() + std::size_t{rows[r]} * spec.cols, spec.cols, view.row(r));
  }
}

void working_set::gather(const model& implementation, const partition& parts, const shared_parameters& shared,
                         const private_parameters& own, const examples_view& data, std::uint32_t client, bool all_rows,
                         const examples_view& later) {
  model_ = &implementation;
  parts_ = &parts;
  select_rows(data, client, all_rows, later);
  features_.prepare_marks();
  clients_.prepare_marks();

  const std::size_t count = parts.model->count();
  offsets_.assign(1, 0);
  for (std::size_t t = 0; t < count; ++t)
    offsets_.push_back(offsets_.back() + std::size_t{local_rows(t)} * (*parts.model)[t].cols);
  if (weights_.size() < offsets_.back()) {
    weights_.resize(offsets_.back());
    gradient_.resize(offsets_.back());
  }
  views_.clear();
  for (std::size_t t = 0; t < count; ++t)
    views_.push_back({weights_.data() + offsets_[t], local_rows(t), (*parts.model)[t].cols});
  targets_.assign(count, nullptr);
  trained_.clear();
  moved_.clear();
  origin_.clear();
  velocity_.clear();
  second_moment_.clear();
  adam_steps_ = 0;
  noise_.reset();
  gather_again(shared, own, values());
}

void working_set::renumber(const examples_view& given, examples& numbered) const {
  numbered.clear();
  numbered.append(given);
  if (!features_.rows.empty())
    for (auto& id : numbered.features) id = features_.slot[id];
}

void working_set::reorder(std::span<const std::uint32_t> order) {
  reordered_.clear();
  reordered_.append(local_.view(), order);
  std::swap(local_, reordered_);
}

void working_set::train_only(std::span<const std::size_t> tensors) {
  std::ranges::fill(targets_, nullptr);
  trained_.clear();
  for (const auto t : tensors)
    if (!(*parts_->model)[t].buffer) trained_.push_back(t);
  moved_buffers(*parts_, tensors, moved_);
  for (const auto* list : {&trained_, &moved_})
    for (const auto t : *list) targets_[t] = gradient_.data() + offsets_[t];
  velocity_.clear();
  second_moment_.clear();
  adam_steps_ = 0;
}

void working_set::add_proximal(std::size_t tensor) {
  if (parts_->slots[tensor].is_private) return;
  const auto begin = offsets_[tensor];
  for (std::size_t i = begin; i < offsets_[tensor + 1]; ++i) gradient_[i] += proximal_ * (weights_[i] - origin_[i]);
}

void working_set::clip_gradient(float longest) {
  double squared = 0.0;
  for (const auto t : trained_) squared += kernels().norm_squared(targets_[t], views_[t].size());
  const double norm = std::sqrt(squared);
  if (norm > double{longest}) scale(values_in(gradient_.data()), static_cast<float>(longest / norm), trained_);
}

float working_set::rate_of(std::size_t tensor, const sgd_options& options) const {
  return parts_->slots[tensor].is_private ? options.private_rate.value_or(options.rate) : options.rate;
}

void working_set::apply(std::size_t tensor, const gradient_views& gradient, const sgd_options& options) {
  const auto& view = views_[tensor];
  float* source = targets_[tensor];
  const auto index = (*parts_->model)[tensor].index;
  const float rate = rate_of(tensor, options);
  if (options.optimizer != local_optimizer::sgd) return apply_adam(tensor, options);
  if (options.weight_decay != 0.0F) kernels().descend(source, view.data, view.size(), -options.weight_decay);
  if (options.momentum != 0.0F) {
    kernels().descend_momentum(view.data, velocity_.data() + offsets_[tensor], source, view.size(), rate,
                               options.momentum);
  } else if (index == row_index::none || every_row_moves_) {
    kernels().descend(view.data, source, view.size(), rate);
  } else {
    const auto& marks = index == row_index::by_feature ? gradient.by_feature : gradient.by_client;
    for (std::uint32_t i = 0; i < marks.count; ++i) {
      const std::size_t start = std::size_t{marks.touched[i]} * view.cols;
      kernels().descend(view.data + start, source + start, view.cols, rate);
    }
  }
}

void working_set::apply_adam(std::size_t tensor, const sgd_options& options) {
  const bool decoupled = options.optimizer == local_optimizer::adamw;
  const double steps = adam_steps_;
  const auto first = static_cast<float>(1.0 / (1.0 - exact::pow(double{options.beta1}, steps)));
  const auto second = static_cast<float>(1.0 / (1.0 - exact::pow(double{options.beta2}, steps)));
  const float rate = rate_of(tensor, options);
  const float keep = decoupled ? 1.0F - rate * options.weight_decay : 1.0F;
  const float into_gradient = decoupled ? 0.0F : options.weight_decay;
  const auto& view = views_[tensor];
  float* m = velocity_.data() + offsets_[tensor];
  float* v = second_moment_.data() + offsets_[tensor];
  for (std::size_t i = 0; i < view.size(); ++i) {
    float& w = view.data[i];
    const float g = targets_[tensor][i] + into_gradient * w;
    m[i] = options.beta1 * m[i] + (1.0F - options.beta1) * g;
    v[i] = options.beta2 * v[i] + (1.0F - options.beta2) * g * g;
    w = keep * w - rate * (m[i] * first) / (std::sqrt(v[i] * second) + options.eps);
  }
}

double working_set::step(const examples_view& batch, const sgd_options& options, std::span<const gradient_term> terms) {
  const bool adam = options.optimizer != local_optimizer::sgd;
  // Moments, decay, the proximal term and further terms change rows that the batch does not touch, and the norm is that
  // of all rows: then unmarked rows must be zero.
  every_row_moves_ = adam || options.momentum != 0.0F || options.weight_decay != 0.0F || options.clip != 0.0F ||
                     options.proximal != 0.0F || !terms.empty();
  if ((adam || options.momentum != 0.0F) && velocity_.empty()) velocity_.assign(offsets_.back(), 0.0F);
  if (adam && second_moment_.empty()) second_moment_.assign(offsets_.back(), 0.0F);
  if (adam) ++adam_steps_;
  if (options.proximal != 0.0F && origin_.empty())
    origin_.assign(weights_.begin(), weights_.begin() + static_cast<std::ptrdiff_t>(offsets_.back()));
  proximal_ = options.proximal;
  if (every_row_moves_)
    for (const auto t : trained_)
      if ((*parts_->model)[t].index != row_index::none) std::fill_n(targets_[t], views_[t].size(), 0.0F);

  gradient_views gradient{targets_, features_.next_marks(), clients_.next_marks(), noise_ ? &*noise_ : nullptr};
  const double loss = model_->gradient(views_, batch, gradient);
  for (const auto& term : terms) add(values_in(gradient_.data()), term.factor, term.values, term.tensors);
  if (options.proximal != 0.0F)
    for (const auto t : trained_) add_proximal(t);
  if (options.clip != 0.0F) clip_gradient(options.clip);
  for (const auto t : trained_) apply(t, gradient, options);
  assign(values(), values_in(gradient_.data()), moved_);
  return loss;
}

std::span<const tensor_view> working_set::views(tensor_values values) {
  views_elsewhere_.clear();
  for (std::size_t t = 0; t < views_.size(); ++t) views_elsewhere_.push_back(values[t]);
  return views_elsewhere_;
}

double working_set::gradient(const examples_view& batch, tensor_values weights, std::span<const std::size_t> tensors,
                             tensor_values out, const feature_loss* added) {
  const auto weight_views = views(weights);
  targets_elsewhere_.assign(views_.size(), nullptr);
  moved_buffers(*parts_, tensors, moved_elsewhere_);
  for (const auto t : moved_elsewhere_) targets_elsewhere_[t] = out[t].data;
  for (const auto t : tensors) {
    targets_elsewhere_[t] = out[t].data;
    if ((*parts_->model)[t].index != row_index::none) std::fill_n(out[t].data, out[t].size(), 0.0F);
  }
  gradient_views gradients{targets_elsewhere_, features_.next_marks(), clients_.next_marks(),
                           noise_ ? &*noise_ : nullptr};
  if (added == nullptr) return model_->gradient(weight_views, batch, gradients);
  return dynamic_cast<const feature_model&>(*model_).gradient_with(weight_views, batch, *added, gradients);
}

tensor_view tensor_values::operator[](std::size_t tensor) const {
  const auto& like = of->weights()[tensor];
  return {data + of->offset(tensor), like.rows, like.cols};
}

void assign(tensor_values target, tensor_values source, std::span<const std::size_t> tensors) {
  for (const auto t : tensors) std::copy_n(source[t].data, source[t].size(), target[t].data);
}

void add(tensor_values target, float factor, tensor_values source, std::span<const std::size_t> tensors) {
  for (const auto t : tensors) kernels().descend(target[t].data, source[t].data, source[t].size(), -factor);
}

void scale(tensor_values target, float factor, std::span<const std::size_t> tensors) {
  for (const auto t : tensors)
    for (auto& value : std::span(target[t].data, target[t].size())) value *= factor;
}

double dot(tensor_values a, tensor_values b, std::span<const std::size_t> tensors) {
  double sum = 0.0;
  for (const auto t : tensors) sum += kernels().dot(a[t].data, b[t].data, a[t].size());
  return sum;
}

void working_set::reinitialize(std::size_t tensor, const random_stream& stream) {
  const auto& view = views_[tensor];
  const auto& spec = (*parts_->model)[tensor];
  if (spec.index != row_index::by_feature) return model_->initialize(tensor, stream, {view.data, view.size()});
  // A row's draw depends on its place in the whole tensor, not on the other rows that the client names.
  redrawn_.resize(spec.size());
  model_->initialize(tensor, stream, redrawn_);
  for (std::size_t r = 0; r < view.rows; ++r)
    std::copy_n(redrawn_.data() + std::size_t{features_.rows[r]} * view.cols, view.cols, view.row(r));
}

delta::piece working_set::piece(row_index index, std::size_t value_begin) const {
  const auto features = static_cast<std::uint32_t>(features_.rows.size());
  const auto clients = static_cast<std::uint32_t>(clients_.rows.size());
  switch (index) {
    case row_index::by_feature: return {true, 0, features, value_begin};
    case row_index::by_client: return {true, features, clients, value_begin};
    case row_index::none: break;
  }
  return {false, 0, 0, value_begin};
}

void working_set::difference(const shared_parameters& shared, delta& out) const {
  out.shape = parts_->up;
  out.pieces.assign(parts_->up->count(), {});
  out.rows.assign(features_.rows.begin(), features_.rows.end());
  out.rows.insert(out.rows.end(), clients_.rows.begin(), clients_.rows.end());
  if (!parts_->sends_model) return out.values.clear();
  std::size_t total = 0;
  for (std::size_t t = 0; t < views_.size(); ++t) {
    if (parts_->slots[t].is_private) continue;
    out.pieces[parts_->slots[t].tensor] = piece((*parts_->model)[t].index, total);
    total += views_[t].size();
  }
  out.values.resize(total);
  for (std::size_t t = 0; t < views_.size(); ++t) {
    if (parts_->slots[t].is_private) continue;
    const auto tensor = parts_->slots[t].tensor;
    const auto before = shared.tensor(tensor);
    const auto change = out.values_of(tensor);
    if (!out.pieces[tensor].by_rows) {
      kernels().subtract(change.data(), views_[t].data, before.data(), change.size());
      continue;
    }
    const auto rows = out.rows_of(tensor);
    const std::size_t cols = views_[t].cols;
    for (std::size_t r = 0; r < rows.size(); ++r)
      kernels().subtract(change.data() + r * cols, views_[t].row(r), before.data() + rows[r] * cols, cols);
  }
}

void working_set::copy_private(private_parameters& out) const {
  for (const auto t : parts_->own_tensors) {
    const auto& view = views_[t];
    const auto target = out.tensor(parts_->slots[t].tensor);
    if ((*parts_->model)[t].index == row_index::none) {
      std::copy_n(view.data, view.size(), target.begin());
      continue;
    }
    for (std::size_t r = 0; r < view.rows; ++r)
      std::copy_n(view.row(r), view.cols, target.data() + std::size_t{features_.rows[r]} * view.cols);
  }
}

bool working_set::finite() const { return std::isfinite(kernels().norm_squared(weights_.data(), offsets_.back())); }

}  // namespace furlong::models
