#include "federated/experiment/quantized_traffic.hpp"

#include <algorithm>
#include <utility>

#include "federated/experiment/quantization.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

/// Calls visit(tensor of an update, private tensor that holds what was not sent of it) for each that is rounded.
template <class Visit>
void for_each_rounded(const models::partition& parts, const Visit& visit) {
  auto unsent = parts.own_tensors.size();
  for (std::size_t t = 0; t < parts.up->count(); ++t)
    if (!(*parts.up)[t].exact) visit(t, unsent++);
}

bool any(std::span<const float> values) {
  return std::ranges::any_of(values, [](float value) { return value != 0.0F; });
}

/// The non-zero rows, or all of a tensor without rows.
models::delta load_unsent(const models::partition& parts, const models::private_parameters& own) {
  models::delta carried{parts.up, std::vector<models::delta::piece>(parts.up->count(), {true, 0, 0, 0}), {}, {}};
  for_each_rounded(parts, [&](std::size_t t, std::size_t unsent) {
    const auto& spec = (*parts.up)[t];
    const auto from = own.tensor(unsent);
    models::delta::piece piece{spec.index != models::row_index::none, static_cast<std::uint32_t>(carried.rows.size()),
                               0, carried.values.size()};
    for (std::uint32_t row = 0; piece.by_rows && row < spec.rows; ++row) {
      const auto values = from.subspan(std::size_t{row} * spec.cols, spec.cols);
      if (!any(values)) continue;
      ++piece.row_count;
      carried.rows.push_back(row);
      carried.values.insert(carried.values.end(), values.begin(), values.end());
    }
    if (!piece.by_rows) carried.values.insert(carried.values.end(), from.begin(), from.end());
    carried.pieces[t] = piece;
  });
  return carried;
}

void store_unsent(const models::partition& parts, const models::delta& carried, models::private_parameters& own) {
  for_each_rounded(parts, [&](std::size_t t, std::size_t unsent) {
    const auto to = own.tensor(unsent);
    const auto from = carried.values_of(t);
    if (!carried.pieces[t].by_rows) {
      std::ranges::copy(from, to.begin());
      return;
    }
    std::ranges::fill(to, 0.0F);
    const std::size_t cols = (*parts.up)[t].cols;
    const auto rows = carried.rows_of(t);
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::ranges::copy(from.subspan(i * cols, cols), to.begin() + static_cast<std::ptrdiff_t>(rows[i] * cols));
  });
}

}  // namespace

bool rounds_numbers(const run_settings& settings) {
  return settings.network->compression.numbers != number_format::float32;
}

bool carries_errors(const run_settings& settings) {
  return rounds_numbers(settings) && settings.algorithm->traits.keeps_state;
}

void add_unsent(models::partition& parts) {
  std::vector<models::tensor_spec> specs(parts.private_->tensors().begin(), parts.private_->tensors().end());
  for_each_rounded(parts, [&](std::size_t t, std::size_t) {
    const auto& spec = (*parts.up)[t];
    specs.push_back({"unsent." + spec.name, spec.rows, spec.cols});
  });
  parts.private_ = std::make_shared<const models::layout>(std::move(specs));
}

void round_broadcast(const experiment& e, std::uint64_t version, models::shared_parameters& model) {
  if (!rounds_numbers(e.settings)) return;
  random_stream rounding(e.settings.seed, purpose::round_model, static_cast<std::uint32_t>(version));
  static_cast<void>(round_model(model, e.settings.network->compression.numbers, rounding));
}

bool round_update(const experiment& e, const task_id& id, const update_limits& limits, models::private_parameters& own,
                  models::delta& change) {
  const bool clips = e.settings.aggregation->norm_bound == norm_bound_kind::clip;
  if (!rounds_numbers(e.settings)) {
    if (clips) clip_to(limits, false, change);
    return true;
  }
  const auto& network = *e.settings.network;
  // Numbers share scales in the order in which they are sent.
  if (network.compression.numbers == number_format::int8 && !network.sparse_upload) change = models::to_dense(change);
  const bool carries = carries_errors(e.settings);
  if (carries) change = sum_of(change, load_unsent(e.parts, own));
  if (clips) clip_to(limits, true, change);
  models::delta carried;
  random_stream rounding(e.settings.seed, purpose::round_change, static_cast<std::uint32_t>(id.version), id.client);
  if (!round_change(change, carried, network.compression.numbers, rounding)) return false;
  if (carries) store_unsent(e.parts, carried, own);
  return true;
}

}  // namespace furlong::federated
