#include "federated/client/local_values.hpp"

#include <algorithm>
#include <stdexcept>

#include "federated/client/own_phase.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

float* room_for(large_floats& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
  return buffer.data();
}

}  // namespace

local_values::local_values(const experiment& e, const models::shared_parameters& down, std::uint32_t client,
                           workspace& use, bool has_state)
    : e_(e), use_(use), down_(down), client_(client), has_state_(has_state) {
  use_.groups.resize(e.groups.size());
  for (auto& group : use_.groups) group.loaded = group.reports = false;
}

models::tensor_values local_values::received() {
  auto* buffer = room_for(use_.received, use_.weights.size());
  const auto values = use_.weights.values_in(buffer);
  if (!std::exchange(has_received_, true)) use_.weights.gather_again(down_, use_.own, values);
  return values;
}

void local_values::assign_initial(models::tensor_values to, std::span<const std::size_t> tensors) {
  for (const auto t : tensors) {
    const auto& spec = (*e_.parts.model)[t];
    const std::span all(room_for(use_.initial, spec.size()), spec.size());
    initial_tensor(e_, t, all);
    if (spec.index == models::row_index::none) {
      std::ranges::copy(all, to[t].data);
      continue;
    }
    const auto rows = use_.weights.rows(spec.index);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(all.data() + std::size_t{rows[r]} * spec.cols, spec.cols, to[t].row(r));
  }
}

models::tensor_values local_values::scratch(std::size_t i) {
  while (use_.scratch.size() <= i) use_.scratch.emplace_back();
  return use_.weights.values_in(room_for(use_.scratch[i], use_.weights.size()));
}

const models::tensor_spec& local_values::spec_of(const placed_group& of, std::size_t i) const {
  return of.copies_of.empty() ? of.specs[i] : (*e_.parts.model)[of.copies_of[i]];
}

std::span<const std::uint32_t> local_values::rows_of(const placed_group& of, std::size_t i) const {
  return use_.weights.rows(spec_of(of, i).index);
}

models::tensor_view local_values::view_in(float* buffer, const placed_group& of, std::size_t i) const {
  if (i >= of.count())
    throw std::out_of_range("the group " + of.name + " has " + std::to_string(of.count()) + " tensors, and tensor " +
                            std::to_string(i) + " was asked for");
  if (!of.copies_of.empty()) return use_.weights.values_in(buffer)[of.copies_of[i]];
  return {buffer + values_before(of, i), gathered_rows(of.specs[i]), of.specs[i].cols};
}

std::uint32_t local_values::gathered_rows(const models::tensor_spec& spec) const {
  if (spec.index == models::row_index::none) return spec.rows;
  return static_cast<std::uint32_t>(use_.weights.rows(spec.index).size());
}

/// Of a group with shapes of its own: floats of the tensors before the i-th.
std::size_t local_values::values_before(const placed_group& of, std::size_t i) const {
  std::size_t sum = 0;
  for (std::size_t t = 0; t < i; ++t) sum += std::size_t{gathered_rows(of.specs[t])} * of.specs[t].cols;
  return sum;
}

std::size_t local_values::size_of(const placed_group& of) const {
  return of.copies_of.empty() ? values_before(of, of.count()) : use_.weights.size();
}

/// Gathered rows that the client's own examples name: the first of all.
std::size_t local_values::own_rows() const {
  std::size_t rows = 0;
  for (const auto row : use_.weights.data().features) rows = std::max(rows, std::size_t{row} + 1);
  return rows;
}

void local_values::load(std::size_t g) {
  const auto& of = e_.groups[g];
  auto& group = use_.groups[g];
  if (std::exchange(group.loaded, true)) return;
  auto* buffer = room_for(group.values, size_of(of));
  const bool kept = of.where == place::kept;
  const bool begins_received = kept && of.first == first_value::received;
  if (begins_received) use_.weights.gather_again(down_, use_.own, use_.weights.values_in(buffer));
  if (begins_received && !has_state_) return;
  for (std::size_t i = 0; i < of.count(); ++i) {
    const auto& spec = spec_of(of, i);
    std::span<const float> values =
        kept ? std::as_const(use_.own).tensor(of.in_private + i) : down_.tensor(of.in_down + i);
    if (of.clients > 0) {
      if (client_ >= of.clients) throw std::out_of_range("the group " + of.name + " has no values for this client");
      values = values.subspan(client_ * spec.size(), spec.size());
    }
    const auto view = view_in(buffer, of, i);
    if (spec.index == models::row_index::none) {
      std::ranges::copy(values, view.data);
      continue;
    }
    auto rows = rows_of(of, i);
    if (begins_received) rows = rows.first(own_rows());
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(values.data() + std::size_t{rows[r]} * spec.cols, spec.cols, view.row(r));
  }
}

models::tensor_values local_values::reported_values(std::size_t g) {
  if (const auto where = group_at(g).where; where != place::report && where != place::shared)
    throw std::logic_error("the group " + e_.groups[g].name + " is not reported");
  auto& group = use_.groups[g];
  const auto size = size_of(e_.groups[g]);
  auto* buffer = room_for(group.reported, size);
  if (!std::exchange(group.reports, true)) std::fill_n(buffer, size, 0.0F);
  return use_.weights.values_in(buffer);
}

const placed_group& local_values::group_at(std::size_t g) const {
  if (g < e_.groups.size()) return e_.groups[g];
  throw std::out_of_range("the algorithm has " + std::to_string(e_.groups.size()) + " groups, and group " +
                          std::to_string(g) + " was asked for");
}

models::tensor_values local_values::group(std::size_t g) {
  if (group_at(g).where == place::server) throw std::logic_error("clients do not have a group of the server alone");
  if (e_.groups[g].where == place::report) return reported_values(g);
  load(g);
  return use_.weights.values_in(use_.groups[g].values.data());
}

models::tensor_view local_values::tensor(std::size_t g, std::size_t i) {
  return view_in(group(g).data, e_.groups[g], i);
}

std::span<const float> local_values::kept(std::size_t g, std::size_t i) const {
  const auto& group = group_at(g);
  if (group.where != place::kept || i >= group.count())
    throw std::out_of_range("clients do not keep tensor " + std::to_string(i) + " of the group " + group.name);
  return use_.own.tensor(group.in_private + i);
}

std::uint32_t local_values::visit(std::span<const batch_range> batches) {
  const auto features = use_.weights.data().features;
  use_.visits.clear();
  for (const auto& batch : batches)
    use_.visits.insert(use_.visits.end(), features.begin() + batch.first, features.begin() + batch.last);
  return static_cast<std::uint32_t>(use_.visits.size());
}

void local_values::check_labels(const models::examples_view& batch) const {
  const bool has_labels_elsewhere = e_.model->may_fail() && e_.model->objective() == models::objective::custom;
  if (has_labels_elsewhere && std::ranges::any_of(batch.labels, [](float label) { return label != 0.0F; }))
    throw std::logic_error(
        "gradient() was given labels, and the model is a class of another program, which knows its examples by number: "
        "leave the labels of the task's examples as they are");
}

double local_values::gradient(const models::examples_view& batch, models::tensor_values at,
                              std::span<const std::size_t> tensors, models::tensor_values out) {
  check_labels(batch);
  return use_.weights.gradient(batch, at, tensors, out);
}

double local_values::gradient(const models::examples_view& batch, models::tensor_values weights,
                              std::span<const std::size_t> tensors, models::tensor_values out,
                              const models::feature_loss& added) {
  static_cast<void>(feature_model());
  return use_.weights.gradient(batch, weights, tensors, out, &added);
}

void local_values::predict(const models::examples_view& batch, models::tensor_values weights, std::span<float> out) {
  e_.model->predict(use_.weights.views(weights), batch, out);
}

void local_values::features(const models::examples_view& batch, models::tensor_values weights, std::span<float> out) {
  feature_model().features(use_.weights.views(weights), batch, out);
}

const models::feature_model& local_values::feature_model() const {
  if (const auto* found = dynamic_cast<const models::feature_model*>(e_.model.get())) return *found;
  throw std::logic_error("the model " + std::string(e_.model->kind()) +
                         " has no features before a linear head: set needs_features in the traits of the algorithm");
}

std::uint64_t local_values::draw_seed() { return seed_from(next_draws()); }

phase_result local_values::reconstruct(std::span<const std::size_t> tensors) {
  const auto& reconstruction = *settings().reconstruction;
  if (e_.model->own_loop() == nullptr || reconstruction.solver != solver_kind::sgd)
    return federated::reconstruct(*e_.model, use_.weights, tensors, use_.support, reconstruction, use_.solver);
  if (tensors.empty() || use_.support.empty()) return {};
  return run_own_loop(e_, use_,
                      {.start = weights(),
                       .tensors = tensors,
                       .loop = {.epochs = reconstruction.epochs,
                                .max_steps = reconstruction.max_steps,
                                .batch_size = reconstruction_batch(settings()),
                                .step = {.rate = reconstruction.lr}},
                       .per_epoch = visit(use_.support),
                       .draws = next_draws(),
                       .dropout = false});
}

}  // namespace furlong::federated
