#include "federated/experiment/quantization.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "models/half.hpp"

namespace furlong::federated {

static_assert(std::endian::native == std::endian::little, "packed numbers are little-endian; swap them here");

namespace {

constexpr float largest_code = 127.0F;
// With smaller scales products approach the subnormal numbers and are not exact.
constexpr float smallest_scale = 0x1p-100F;

float largest_magnitude(std::span<const float> values) {
  float largest = 0.0F;
  for (const float value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

// The scale at which `largest` has code 127; 0 if all codes are 0. Rounded up to 16 significant bits: with the 7 of a
// code 23 of a float's 24. After rounding 127 * scale is the largest number and gives the same scale again.
float scale_of(float largest) {
  const auto bits = std::bit_cast<std::uint32_t>(largest / largest_code);
  const auto scale = std::bit_cast<float>((bits + 0xFFU) & ~0xFFU);
  return scale < smallest_scale ? 0.0F : scale;
}

void round_under_one_scale(std::span<float> values, random_stream& rounding) {
  const float largest = largest_magnitude(values);
  const float scale = scale_of(largest);
  if (scale == 0.0F) {
    std::ranges::fill(values, 0.0F);
    return;
  }
  for (float& value : values) {
    // Numbers that need no rounding, such as the zeros of a dense delta, draw nothing.
    if (value == 0.0F) {
      value = 0.0F;  // -0 has no code
      continue;
    }
    float code = largest_code;
    if (std::abs(value) < largest) {
      const float exact = std::abs(value) / scale;
      code = static_cast<float>(static_cast<int>(exact));  // std::floor is a call on the baseline x86-64
      if (exact > code && rounding.uniform() < exact - code) code += 1.0F;
      code = std::min(code, largest_code);
    }
    value = code == 0.0F ? 0.0F : std::copysign(code * scale, value);
  }
}

// One of the two adjacent halves, so that the mean is the number.
float round_to_half(float value, random_stream& rounding) {
  const float exact = std::abs(value);
  const std::uint16_t nearest = models::to_half(exact);
  const float near = models::from_half(nearest);
  if (near == exact || exact > models::largest_half) return std::copysign(near, value);
  const auto other = static_cast<std::uint16_t>(near < exact ? nearest + 1U : nearest - 1U);
  const float far = models::from_half(other);
  return std::copysign(rounding.uniform() < (exact - near) / (far - near) ? far : near, value);
}

// Rounding of a number between two halves.
enum class halves : std::uint8_t { nearest, at_random };

void round_tensor(std::span<float> values, number_format numbers, halves how, random_stream& rounding) {
  switch (numbers) {
    case number_format::float32: return;
    case number_format::float16:
      for (float& value : values)
        value = how == halves::nearest ? models::from_half(models::to_half(value)) : round_to_half(value, rounding);
      return;
    case number_format::int8:
      for (std::size_t at = 0; at < values.size(); at += values_per_scale)
        round_under_one_scale(values.subspan(at, std::min(values_per_scale, values.size() - at)), rounding);
      return;
  }
}

result<void> check_numbers(std::span<const float> values, number_format numbers, const models::tensor_spec& spec) {
  const float bound =
      numbers_of(spec, numbers) == number_format::int8 ? largest_int8_number : std::numeric_limits<float>::max();
  // Not |value| > bound, which is false for NaN.
  const auto unfit = std::ranges::find_if(values, [&](float value) { return !(std::abs(value) <= bound); });
  if (unfit == values.end()) return {};
  return fail(error::kind::runtime, spec.name,
              "holds " + std::to_string(*unfit) + ", which cannot be rounded to " + std::string(to_string(numbers)));
}

// A changed row and the position of its values.
struct placed_row {
  std::uint32_t row;
  const float* values;
};

std::vector<placed_row> sorted_rows(const models::delta& change, std::size_t tensor) {
  const auto rows = change.rows_of(tensor);
  const auto values = change.values_of(tensor);
  const std::size_t cols = (*change.shape)[tensor].cols;
  std::vector<placed_row> order(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) order[i] = {rows[i], values.data() + i * cols};
  std::ranges::sort(order, {}, &placed_row::row);
  return order;
}

void add_to(std::span<float> to, const float* from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void append_row(models::delta& to, const placed_row& from, std::size_t cols) {
  to.rows.push_back(from.row);
  to.values.insert(to.values.end(), from.values, from.values + cols);
}

// Both row-sparse: the union of their rows, sorted.
void append_rows(models::delta& to, const models::delta& a, const models::delta& b, std::size_t tensor) {
  const std::size_t cols = (*to.shape)[tensor].cols;
  auto& piece = to.pieces[tensor];
  piece = {true, static_cast<std::uint32_t>(to.rows.size()), 0, to.values.size()};
  const auto left = sorted_rows(a, tensor);
  const auto right = sorted_rows(b, tensor);
  auto other = right.begin();
  for (const auto& mine : left) {
    for (; other != right.end() && other->row < mine.row; ++other) append_row(to, *other, cols);
    append_row(to, mine, cols);
    if (other != right.end() && other->row == mine.row) add_to(std::span(to.values).last(cols), (other++)->values);
  }
  for (; other != right.end(); ++other) append_row(to, *other, cols);
  piece.row_count = static_cast<std::uint32_t>(to.rows.size()) - piece.row_begin;
}

void add_tensor(std::span<float> to, const models::delta& from, std::size_t tensor) {
  if (!from.pieces[tensor].by_rows) return add_to(to, from.values_of(tensor).data());
  const std::size_t cols = (*from.shape)[tensor].cols;
  for (const auto& each : sorted_rows(from, tensor)) add_to(to.subspan(each.row * cols, cols), each.values);
}

void append_dense(models::delta& to, const models::delta& a, const models::delta& b, std::size_t tensor) {
  to.pieces[tensor] = {false, 0, 0, to.values.size()};
  to.values.resize(to.values.size() + (*to.shape)[tensor].size(), 0.0F);
  add_tensor(to.values_of(tensor), a, tensor);
  add_tensor(to.values_of(tensor), b, tensor);
}

// The zero delta.
models::delta no_change(const models::layout_ptr& shape) {
  return {shape, std::vector<models::delta::piece>(shape->count(), {true, 0, 0, 0}), {}, {}};
}

float load_float(const std::byte* from) {
  float value = 0.0F;
  std::memcpy(&value, from, sizeof value);
  return value;
}

// Codes of the numbers that share a scale; false if a number is not a multiple of the scale.
bool pack_under_one_scale(std::span<const float> values, std::byte* scale_at, std::byte* codes) {
  const float largest = largest_magnitude(values);
  const float scale = scale_of(largest);
  std::memcpy(scale_at, &scale, sizeof scale);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float code = scale == 0.0F ? 0.0F : values[i] / scale;
    // This form is false for NaN.
    if (!(std::abs(code) <= largest_code) || code * scale != values[i]) return false;
    const auto whole = static_cast<std::int8_t>(code);
    if (static_cast<float>(whole) != code) return false;
    codes[i] = static_cast<std::byte>(whole);
  }
  return true;
}

constexpr std::size_t scales_for(std::size_t values) { return (values + values_per_scale - 1) / values_per_scale; }

bool pack_int8(std::span<const float> values, std::span<std::byte> to) {
  const std::size_t scales = scales_for(values.size());
  for (std::size_t s = 0; s < scales; ++s) {
    const std::size_t at = s * values_per_scale;
    const auto group = values.subspan(at, std::min(values_per_scale, values.size() - at));
    if (!pack_under_one_scale(group, &to[s * sizeof(float)], &to[scales * sizeof(float) + at])) return false;
  }
  return true;
}

bool unpack_int8(std::span<const std::byte> from, std::span<float> to) {
  const std::size_t scales = scales_for(to.size());
  for (std::size_t s = 0; s < scales; ++s) {
    const float scale = load_float(&from[s * sizeof(float)]);
    // 128: other encoders may write the code -128.
    if (!(scale >= 0.0F) || !std::isfinite(scale * 128.0F)) return false;
    const std::size_t at = s * values_per_scale;
    const std::size_t end = std::min(at + values_per_scale, to.size());
    for (std::size_t i = at; i < end; ++i)
      to[i] = scale * static_cast<float>(static_cast<std::int8_t>(from[scales * sizeof(float) + i]));
  }
  return true;
}

bool pack_float16(std::span<const float> values, std::span<std::byte> to) {
  bool exact = true;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t half = models::to_half(values[i]);
    exact &= models::from_half(half) == values[i];
    std::memcpy(&to[i * sizeof half], &half, sizeof half);
  }
  return exact;
}

void unpack_float16(std::span<const std::byte> from, std::span<float> to) {
  for (std::size_t i = 0; i < to.size(); ++i) {
    std::uint16_t half = 0;
    std::memcpy(&half, &from[i * sizeof half], sizeof half);
    to[i] = models::from_half(half);
  }
}

}  // namespace

models::delta sum_of(const models::delta& a, const models::delta& b) {
  models::delta sum{a.shape, std::vector<models::delta::piece>(a.shape->count()), {}, {}};
  sum.rows.reserve(a.rows.size() + b.rows.size());
  sum.values.reserve(std::min(a.values.size() + b.values.size(), a.shape->size()));
  for (std::size_t t = 0; t < a.shape->count(); ++t) {
    if (a.pieces[t].by_rows && b.pieces[t].by_rows)
      append_rows(sum, a, b, t);
    else
      append_dense(sum, a, b, t);
  }
  return sum;
}

std::string_view to_string(number_format numbers) {
  switch (numbers) {
    case number_format::float32: return "float32";
    case number_format::float16: return "float16";
    case number_format::int8: return "int8";
  }
  return "unknown";
}

result<void> round_model(models::shared_parameters& model, number_format numbers, random_stream& rounding) {
  for (std::size_t t = 0; t < model.shape()->count(); ++t)
    if (auto fit = check_numbers(model.tensor(t), numbers, (*model.shape())[t]); !fit) return fit;
  for (std::size_t t = 0; t < model.shape()->count(); ++t)
    round_tensor(model.tensor(t), numbers_of((*model.shape())[t], numbers), halves::nearest, rounding);
  return {};
}

result<void> round_change(models::delta& change, models::delta& carried, number_format numbers,
                          random_stream& rounding) {
  change = sum_of(change, carried.shape == nullptr ? no_change(change.shape) : carried);
  for (std::size_t t = 0; t < change.shape->count(); ++t)
    if (auto fit = check_numbers(std::as_const(change).values_of(t), numbers, (*change.shape)[t]); !fit) return fit;
  carried = change;
  for (std::size_t t = 0; t < change.shape->count(); ++t)
    round_tensor(change.values_of(t), numbers_of((*change.shape)[t], numbers), halves::at_random, rounding);
  for (std::size_t i = 0; i < change.values.size(); ++i) carried.values[i] -= change.values[i];
  return {};
}

std::size_t packed_size(number_format numbers, std::size_t values) {
  switch (numbers) {
    case number_format::float32: break;
    case number_format::float16: return values * sizeof(std::uint16_t);
    case number_format::int8: return values + scales_for(values) * sizeof(float);
  }
  return values * sizeof(float);
}

bool pack(std::span<const float> values, number_format numbers, std::span<std::byte> to) {
  switch (numbers) {
    case number_format::float32: break;
    case number_format::float16: return pack_float16(values, to);
    case number_format::int8: return pack_int8(values, to);
  }
  if (!values.empty()) std::memcpy(to.data(), values.data(), values.size_bytes());
  return true;
}

bool unpack(std::span<const std::byte> from, number_format numbers, std::span<float> to) {
  switch (numbers) {
    case number_format::float32: break;
    case number_format::float16: unpack_float16(from, to); return true;
    case number_format::int8: return unpack_int8(from, to);
  }
  if (!to.empty()) std::memcpy(to.data(), from.data(), from.size());
  return true;
}

}  // namespace furlong::federated
