// Values of broadcasts and updates as they come, packed or not. Errors name the field.
#pragma once

#include <capnp/blob.h>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/quantization.hpp"
#include "wire/furlong.capnp.h"

namespace furlong::wire::detail {

[[nodiscard]] result<void> check_length(std::string field, capnp::Data::Reader data, std::size_t bytes);

[[nodiscard]] result<federated::number_format> read_encoding(std::string field, schema::Encoding found);

/// The packed bytes of values, of which there must be so many: in the frame, or in `room` when they came compressed.
[[nodiscard]] result<std::span<const std::byte>> read_packed(std::string field, capnp::Data::Reader data, bool zstd,
                                                             std::size_t bytes, std::vector<std::byte>& room);

/// @pre packed.size() == packed_size(numbers, to.size())
[[nodiscard]] result<void> unpack_into(std::string field, std::span<const std::byte> packed,
                                       federated::number_format numbers, std::span<float> target);

}  // namespace furlong::wire::detail
