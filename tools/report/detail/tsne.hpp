// Pictures of vectors: t-SNE in two dimensions, and how similar two sets of vectors are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "tools/report/detail/series.hpp"

namespace furlong::tools {

/// Vectors of `width` numbers, one after the other.
struct vectors {
  std::span<const float> values;
  std::size_t width = 1;

  [[nodiscard]] std::size_t count() const { return values.size() / width; }
  [[nodiscard]] std::span<const float> operator[](std::size_t i) const { return values.subspan(i * width, width); }
};

/// Exact t-SNE (van der Maaten and Hinton, "Visualizing data using t-SNE", JMLR 2008) of at most a few thousand
/// vectors: a point in the plane for each, neighbours near each other. perplexity = min(30, (count - 1) / 3), early
/// exaggeration by 12, 750 steps of gradient descent with momentum and gains; O(count^2) time for each, and memory. It
/// starts from a spiral in the order of the vectors, so that the same vectors give the same picture.
[[nodiscard]] std::vector<point> tsne(const vectors& points);

/// The mean share of common members among the k nearest neighbours (Euclidean) of each item in two sets of vectors of
/// the same items, which may have different widths. Unrelated sets have k / (count - 1). 0 < k < count. Of equally near
/// neighbours those of the lower number count.
[[nodiscard]] double neighbourhood_overlap(const vectors& a, const vectors& b, std::size_t k);

}  // namespace furlong::tools
