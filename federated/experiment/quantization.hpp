// Quantization of models and updates to 16 or 8 bits per number between processes, with error feedback on clients
// (Seide et al., "1-bit stochastic gradient descent", Interspeech 2014; Karimireddy et al., ICML 2019).
//
// Rounding and packing are separate. Rounding changes floats in place to floats that the format represents exactly; all
// processes use these as the model or update. Packing is exact and refuses numbers that were not rounded. So a
// simulation, which rounds but sends nothing, computes the same bits as processes that send packed numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/random.hpp"
#include "base/result.hpp"
#include "federated/settings/number_format.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// The format of one tensor's numbers: exact tensors stay float32.
[[nodiscard]] inline number_format numbers_of(const models::tensor_spec& spec, number_format numbers) {
  return spec.exact ? number_format::float32 : numbers;
}
/// The value in scenarios: "float16".
[[nodiscard]] std::string_view to_string(number_format numbers);

/// Numbers per int8 scale, counted in each tensor from its first number, or from the first number of its first changed
/// row; the last scale of a tensor may have fewer.
constexpr std::size_t values_per_scale = 256;
/// Larger numbers cannot be rounded to int8.
constexpr float largest_int8_number = 0x1p120F;

/// Rounds a model before it is broadcast, tensor by tensor: all clients train on the rounded values, and a delta is the
/// difference from these. int8: numbers are rounded up or down at random with the number as the mean; the error is less
/// than one scale, 1/127 of the largest magnitude of that scale; the largest is rounded to nearest (relative error at
/// most 2^-15), and if it is below 1e-28 all become zero. float16: rounded to nearest.
///
/// Deterministic in `rounding`. Errors: a number is not finite or beyond largest_int8_number; the model is then
/// unchanged. O(values).
[[nodiscard]] result<void> round_model(models::shared_parameters& model, number_format numbers,
                                       random_stream& rounding);

/// The sum of two deltas of one layout. A row-sparse tensor lists the rows of both, sorted; a tensor that is dense in
/// one is dense in the sum.
[[nodiscard]] models::delta sum_of(const models::delta& a, const models::delta& b);

/// Rounds a delta before it is sent, after adding the rounding error of the client's last update. A row-sparse tensor
/// then lists the rows of both, sorted; a tensor that is dense in one is dense in the sum. Numbers are rounded up or
/// down at random with the number as the mean, also with float16 (up to 65504).
///
/// A delta to be sent dense must be dense before (models::to_dense): otherwise the groups per scale differ, and packing
/// refuses it.
///
/// @param carried the rounding error: an empty layout at first; replaced by this rounding's error. Keep it with the
///                client; it is never sent. It stays as it is if the update is rejected.
/// Errors as for round_model; `carried` is unchanged then, and `change` is the sum, not rounded.
/// @pre the pieces of both fit the same layout, and no row is listed twice
[[nodiscard]] result<void> round_change(models::delta& change, models::delta& carried, number_format numbers,
                                        random_stream& rounding);

/// Bytes of `values` numbers of one tensor when packed.
[[nodiscard]] std::size_t packed_size(number_format numbers, std::size_t values);
/// Packs the numbers of one tensor, little-endian: floats; halves; or all scales (float32), then all codes. False if a
/// number was not rounded to the format; `to` is then undefined. -0 becomes 0 in int8.
/// @pre to.size() == packed_size(numbers, values.size())
[[nodiscard]] bool pack(std::span<const float> values, number_format numbers, std::span<std::byte> to);
/// Unpacks. False if a scale is negative or not finite, or a number with it would not be finite. Floats and halves may
/// be infinite or NaN.
/// @pre from.size() == packed_size(numbers, to.size())
[[nodiscard]] bool unpack(std::span<const std::byte> from, number_format numbers, std::span<float> to);

}  // namespace furlong::federated
