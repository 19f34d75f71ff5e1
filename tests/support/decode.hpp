// Decodes frames of one kind.
#pragma once

#include <type_traits>

#include "wire/decode.hpp"

namespace furlong::tests {

/// Copies out the broadcast, update or partial aggregate in a frame; fails on frames that are invalid or of another
/// kind.
template <class Message>
result<void> decode_into(wire::decoder& decoder, std::span<const std::byte> frame, Message& into) {
  using view = std::conditional_t<
      std::is_same_v<Message, federated::broadcast>, wire::broadcast_view,
      std::conditional_t<std::is_same_v<Message, federated::client_update>, wire::update_view, wire::partial_view>>;
  const auto got = decoder.decode(frame);
  if (!got) return tl::unexpected(got.error());
  const auto* found = std::get_if<view>(&*got);
  if (found == nullptr) return fail(error::kind::data, "the frame", "is of another kind");
  decoder.copy(*found, into);
  return {};
}
template <class Message>
result<void> decode_into(wire::decoder&& decoder, std::span<const std::byte> frame, Message& into) {
  return decode_into(decoder, frame, into);
}

}  // namespace furlong::tests
