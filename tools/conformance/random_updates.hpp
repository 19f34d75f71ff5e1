// Random updates for whatever aggregates, checks or sends them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <span>
#include <vector>

#include "base/random.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::tools::conformance {

/// An update of one example whose tensors are all dense: zeros, until they are filled.
[[nodiscard]] inline federated::client_update dense_update(const federated::task_id& id,
                                                           const models::layout_ptr& shape) {
  federated::client_update update{id, 1, 1, 0.5, {shape, {}, {}, std::vector<float>(shape->size())}};
  for (std::size_t t = 0; t < shape->count(); ++t) update.change.pieces.push_back({false, 0, 0, shape->offset(t)});
  return update;
}

/// An update of values in (-size, size); each tensor dense or by rows as the stream says.
[[nodiscard]] inline federated::client_update random_update(random_stream& stream, const models::layout_ptr& shape,
                                                            float size = 1.0F) {
  federated::client_update update;
  update.weight = 1 + stream.below(200);
  update.examples = update.weight;
  update.loss_sum = static_cast<double>(stream.uniform(0.0F, 500.0F));
  auto& change = update.change;
  change.shape = shape;
  for (const auto& spec : shape->tensors()) {
    models::delta::piece piece{spec.index != models::row_index::none && stream.below(3) != 0,
                               static_cast<std::uint32_t>(change.rows.size()), 0, change.values.size()};
    std::size_t values = spec.size();
    if (piece.by_rows) {
      std::vector<std::uint32_t> rows(spec.rows);
      std::iota(rows.begin(), rows.end(), 0U);
      stream.shuffle(std::span(rows));
      rows.resize(stream.below(spec.rows + 1));
      piece.row_count = static_cast<std::uint32_t>(rows.size());
      change.rows.insert(change.rows.end(), rows.begin(), rows.end());
      values = rows.size() * spec.cols;
    }
    for (std::size_t i = 0; i < values; ++i) change.values.push_back(stream.uniform(-size, size));
    change.pieces.push_back(piece);
  }
  return update;
}

[[nodiscard]] inline std::vector<federated::client_update> random_updates(std::uint32_t seed, std::size_t count,
                                                                          const models::layout_ptr& shape,
                                                                          float size = 1.0F) {
  random_stream stream(seed, purpose::test);
  std::vector<federated::client_update> updates;
  for (std::size_t i = 0; i < count; ++i) {
    updates.push_back(random_update(stream, shape, size));
    updates.back().id = {4711, 0, static_cast<std::uint32_t>(i), 0};
  }
  return updates;
}

/// An update of one example, each of whose tensors has this norm, in its first value.
[[nodiscard]] inline federated::client_update concentrated_update(const models::layout_ptr& shape, double norm) {
  auto update = dense_update({1, 0, 0, 0}, shape);
  for (std::size_t t = 0; t < shape->count(); ++t) update.change.values_of(t)[0] = static_cast<float>(norm);
  return update;
}

[[nodiscard]] inline double norm_of(std::span<const float> values) {
  double squares = 0.0;
  for (const float value : values) squares += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(squares);
}

/// Updates of one example, each of this norm over all tensors.
/// @param alike all are the same, but for the first, which is opposed to them
[[nodiscard]] inline std::vector<federated::client_update> updates_of_norm(const models::layout_ptr& shape,
                                                                           std::size_t count, double norm, bool alike,
                                                                           random_stream& draws) {
  std::vector<federated::client_update> made;
  for (std::size_t i = 0; i < count; ++i) {
    made.push_back(dense_update({1, 0, static_cast<std::uint32_t>(i), 0}, shape));
    auto& values = made.back().change.values;
    if (i > 0 && alike)
      std::ranges::transform(made.front().change.values, values.begin(), std::negate());
    else
      std::ranges::generate(values, [&] { return draws.normal(); });
    const double factor = norm / norm_of(values);
    for (float& value : values) value = static_cast<float>(factor * static_cast<double>(value));
  }
  return made;
}

}  // namespace furlong::tools::conformance
