// Labelled examples of one client: a compressed sparse row table that serves ratings (one feature an example: the
// item), sparse feature vectors (features with values) and token sequences (features in order).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace furlong::models {

/// A view of a table of n examples. Cheap to copy; valid as long as its buffers.
struct examples_view {
  std::span<const std::uint32_t> features;  ///< feature ids (rows of the tensors indexed by feature)
  std::span<const float> values;            ///< one per feature id, or empty: all 1
  std::span<const std::uint32_t> offsets;   ///< n + 1 positions in `features`, or empty: exactly one feature an example
  std::span<const float> labels;            ///< n targets: a rating, 0 or 1, a class number
  std::span<const std::uint32_t> owners;    ///< n client ids when examples of many clients are pooled, else empty

  [[nodiscard]] std::size_t size() const { return labels.size(); }
  /// Examples first, first + 1, ..., last - 1.
  [[nodiscard]] examples_view slice(std::size_t first, std::size_t last) const;
};

/// An owned table of examples.
struct examples {
  std::vector<std::uint32_t> features;
  std::vector<float> values;
  std::vector<std::uint32_t> offsets;
  std::vector<float> labels;
  std::vector<std::uint32_t> owners;

  [[nodiscard]] examples_view view() const { return {features, values, offsets, labels, owners}; }
  void clear();
  /// Appends the examples `picks` of another table, in this order. Both must have the same columns, or this one must
  /// be empty.
  void append(const examples_view& source, std::span<const std::uint32_t> picks);
  /// Appends all examples of another table.
  void append(const examples_view& source);
};

}  // namespace furlong::models
