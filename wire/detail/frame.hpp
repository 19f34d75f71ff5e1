// A frame under construction, and the lengths of its parts.
#pragma once

#include <bit>
#include <capnp/message.h>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "wire/furlong.capnp.h"
#include "wire/message.hpp"

namespace furlong::wire::detail {

static_assert(std::endian::native == std::endian::little, "Data fields are little-endian; swap them here");
static_assert(sizeof(capnp::word) == sizeof(std::uint64_t));

constexpr std::size_t word_bytes = sizeof(std::uint64_t);

template <class Struct>
constexpr std::size_t words_of = capnp::sizeInWords<Struct>();

/// The frame's header, the root pointer and the Message that every frame holds.
constexpr std::size_t envelope_words = 1 + 1 + words_of<schema::Message>;

constexpr std::size_t data_words(std::size_t bytes) { return (bytes + word_bytes - 1) / word_bytes; }
/// A zero ends each text.
constexpr std::size_t text_words(std::string_view text) { return data_words(text.size() + 1); }

constexpr std::size_t digest_words = 4;

template <class Struct>
constexpr std::size_t list_words(std::size_t count) {
  return 1 + count * words_of<Struct>;  // the list's own tag, then its structs
}

constexpr std::size_t broadcast_words(std::size_t value_bytes, std::size_t references) {
  return envelope_words + words_of<schema::Broadcast> + digest_words + data_words(value_bytes) + references;
}

/// Of an update without the values and rows of its tensors.
constexpr std::size_t update_words(std::size_t tensors) {
  return envelope_words + words_of<schema::Update> + words_of<schema::Task> + digest_words +
         list_words<schema::Tensor>(tensors);
}

/// Of a masked update without its words.
constexpr std::size_t masked_update_words =
    envelope_words + words_of<schema::MaskedUpdate> + words_of<schema::Task> + digest_words;

/// A frame of exactly the length that was predicted, zero where nothing is written.
class frame {
 public:
  explicit frame(std::size_t bytes)
      : count_(bytes / word_bytes),
        words_(std::make_shared<std::uint64_t[]>(count_)),
        builder_(kj::arrayPtr(reinterpret_cast<capnp::word*>(words_.get() + 1), count_ - 1)) {
    // One segment: zero more of them, then its length.
    words_[0] = static_cast<std::uint64_t>(count_ - 1) << 32U;
  }

  schema::Message::Builder message() {
    auto root = builder_.initRoot<schema::Message>();
    root.setProtocol(protocol_version);
    return root;
  }

  std::pair<std::shared_ptr<const std::uint64_t[]>, std::size_t> finish() {
    builder_.requireFilled();
    return {words_, count_};
  }

 private:
  std::size_t count_;
  std::shared_ptr<std::uint64_t[]> words_;
  capnp::FlatMessageBuilder builder_;
};

template <class T>
void copy_into(capnp::Data::Builder target, std::span<const T> source) {
  if (!source.empty()) std::memcpy(target.begin(), source.data(), source.size_bytes());
}

/// Data begins at a multiple of 8 bytes, since the segment does and Cap'n Proto places objects at whole words.
template <class T>
std::span<const T> as_values(capnp::Data::Reader data) {
  return {reinterpret_cast<const T*>(data.begin()), data.size() / sizeof(T)};
}

}  // namespace furlong::wire::detail
