// Fewer bits per number, between processes: how models and updates are rounded to what 16 or 8 bits can hold, and how a
// client makes good with its next update what rounding took from its last (error feedback: Seide et al., "1-bit
// stochastic gradient descent", Interspeech 2014; Karimireddy et al., ICML 2019).
//
// Rounding and packing are apart. Rounding changes floats in place to floats that the format holds exactly; from then
// on they are the model or the update, whoever holds them. Packing is exact and refuses what was not rounded. So a
// simulation that rounds and sends nothing computes the same bits as processes that send packed numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/random.hpp"
#include "base/result.hpp"
#include "federated/number_format.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// How the numbers of one tensor travel: exact ones as they are.
[[nodiscard]] inline number_format numbers_of(const models::tensor_spec& spec, number_format numbers) {
  return spec.exact ? number_format::float32 : numbers;
}
/// The word used in scenarios: "float16".
[[nodiscard]] std::string_view to_string(number_format numbers);

/// Numbers that have one int8 scale. They are counted in each tensor from its first number, or from the first number
/// of its first changed row; the last scale of a tensor may have fewer.
constexpr std::size_t values_per_scale = 256;
/// int8 cannot round larger numbers.
constexpr float largest_int8_number = 0x1p120F;

/// Rounds a model before it is broadcast: all clients train on the rounded values, so a change is the difference from
/// these. Each tensor for itself. With int8, numbers are rounded up or down at random so that the mean is the number
/// itself, off by less than one scale, 1/127 of the largest magnitude under that scale; that largest is rounded to the
/// nearest (off by at most 2^-15 of itself), and with it below 1e-28 all become zero. Half is rounded to nearest.
///
/// `rounding` decides what is random: the same stream gives the same result. Errors: a number is not finite, or beyond
/// largest_int8_number; the model is unchanged then. O(values).
[[nodiscard]] result<void> round_model(models::shared_parameters& model, number_format numbers,
                                       random_stream& rounding);

/// Rounds a change before it is sent, after adding what the client's last update left out. A row-sparse tensor then
/// lists the rows of both, sorted; a tensor that is dense in one is dense in the sum. Numbers between two of the format
/// go up or down at random so that the mean is the number itself, with float16 too (up to 65504).
///
/// A change that is to travel dense must be dense before (models::to_dense): the groups of numbers under one scale
/// differ otherwise, and packing will refuse.
///
/// @param carried what was left out: of no layout at first; replaced by what this rounding takes. Keep it with the
///                client; it is never sent. If the update turns out to be refused, it stays what it is.
/// Errors as for round_model; `carried` is unchanged then, and `change` is the sum, not rounded.
/// @pre the pieces of both fit the same layout, and no row is listed twice
[[nodiscard]] result<void> round_change(models::delta& change, models::delta& carried, number_format numbers,
                                        random_stream& rounding);

/// Bytes of `values` numbers of one tensor when packed.
[[nodiscard]] std::size_t packed_size(number_format numbers, std::size_t values);
/// Packs the numbers of one tensor, little-endian: floats; halves; or all scales (float32), then all codes.
/// False when a number was not rounded to the format: no byte of `to` counts then. -0 becomes 0 in int8.
/// @pre to.size() == packed_size(numbers, values.size())
[[nodiscard]] bool pack(std::span<const float> values, number_format numbers, std::span<std::byte> to);
/// The reverse. False when a scale is negative or not finite, or a number under it would not be.
/// Floats and halves may be infinities and NaNs.
/// @pre from.size() == packed_size(numbers, to.size())
[[nodiscard]] bool unpack(std::span<const std::byte> from, number_format numbers, std::span<float> to);

}  // namespace furlong::federated
