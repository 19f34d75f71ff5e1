#include "models/packed_private.hpp"

#include <algorithm>
#include <bit>
#include <span>

namespace furlong::models {

namespace {

/// Calls `each` with every row's number, first element and length.
template <class Each>
void visit_rows(const layout& shape, Each&& each) {
  std::uint32_t row = 0;
  std::size_t begin = 0;
  for (const auto& spec : shape.tensors())
    for (std::uint32_t i = 0; i < spec.rows; ++i, ++row, begin += spec.cols) each(row, begin, spec.cols);
}

}  // namespace

packed_private::packed_private(const private_parameters& parameters) : shape_(parameters.shape()) {
  const auto kept = [&](std::size_t begin, std::uint32_t count) {
    const auto values = parameters.values().subspan(begin, count);
    return std::ranges::any_of(values, [](float value) { return std::bit_cast<std::uint32_t>(value) != 0; });
  };
  std::size_t size = 0;
  visit_rows(*shape_, [&](std::uint32_t row, std::size_t begin, std::uint32_t count) {
    if (!kept(begin, count)) return;
    rows_.push_back(row);
    size += count;
  });
  values_.reserve(size);
  auto next = rows_.begin();
  visit_rows(*shape_, [&](std::uint32_t row, std::size_t begin, std::uint32_t count) {
    if (next == rows_.end() || *next != row) return;
    const auto values = parameters.values().subspan(begin, count);
    values_.insert(values_.end(), values.begin(), values.end());
    ++next;
  });
}

void packed_private::add_to(sha256_stream& digest) const {
  digest.add(std::uint64_t{empty() ? 0U : 1U}).add(std::uint64_t{rows_.size()});
  digest.add(std::as_bytes(std::span(rows_))).add(std::span<const float>(values_));
}

private_parameters packed_private::unpacked() const {
  private_parameters parameters(shape_);
  const auto values = parameters.values();
  auto next = rows_.begin();
  auto value = values_.begin();
  visit_rows(*shape_, [&](std::uint32_t row, std::size_t begin, std::uint32_t count) {
    if (next == rows_.end() || *next != row) return;
    std::copy_n(value, count, values.begin() + static_cast<std::ptrdiff_t>(begin));
    value += count;
    ++next;
  });
  return parameters;
}

}  // namespace furlong::models
