// What the frames of this protocol are, and how long they get.
#pragma once

#include <cstddef>
#include <cstdint>

#include "federated/update.hpp"

namespace furlong::wire {

/// Frames of any other protocol version are refused.
constexpr std::uint16_t protocol_version = 1;

/// How an update's tensors travel.
enum class update_format : std::uint8_t {
  dense,   ///< all rows of all tensors: says nothing about which rows a client touched
  sparse,  ///< the rows a client changed, where the update lists them: short, and tells the server which they were
};

/// Exact length in bytes of the frame that the encoder makes of a message, without making it. O(tensors).
/// @pre an update's pieces fit its layout
[[nodiscard]] std::size_t encoded_size(const federated::task_id& task);
[[nodiscard]] std::size_t encoded_size(const federated::broadcast& message);
[[nodiscard]] std::size_t encoded_size(const federated::client_update& update, update_format format);
[[nodiscard]] std::size_t encoded_size(const federated::partial_aggregate& partial);

/// Length in bytes above which no frame can hold an update of this layout: what to refuse before receiving it.
[[nodiscard]] std::size_t largest_update(const models::layout& shared);

}  // namespace furlong::wire
