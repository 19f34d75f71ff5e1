// Frames that no encoder of ours makes, and what becomes of them.
#pragma once

#include <boost/test/unit_test.hpp>
#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>
#include <functional>
#include <string>
#include <utility>

#include "models/digest.hpp"
#include "tests/wire/compare.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"
#include "wire/furlong.capnp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace furlong::wire::samples {

/// Makes a frame of at most so many words with the schema alone, past all checks of the encoder.
inline bytes forge(const std::function<void(schema::Message::Builder)>& fill, unsigned words_at_most = 1U << 16U) {
  capnp::MallocMessageBuilder builder(words_at_most);
  auto root = builder.initRoot<schema::Message>();
  root.setProtocol(protocol_version);
  fill(root);
  const auto words = capnp::messageToFlatArray(builder);
  const auto flat = words.asBytes();
  bytes frame(flat.size());
  std::memcpy(frame.data(), flat.begin(), flat.size());
  return frame;
}

/// Bytes of the values, as a field of the schema.
template <class T>
capnp::Data::Reader data_of(const std::vector<T>& values) {
  return {reinterpret_cast<const capnp::byte*>(values.data()), values.size() * sizeof(T)};
}

/// Of small_layout().
inline capnp::Data::Reader digest_data() {
  static const auto hash = models::layout_digest(*small_layout());
  return {hash.data(), hash.size()};
}

/// Checks that a decoder of small_layout() refuses a frame with an error that has this part.
inline void check_refused(const bytes& frame, const std::string& part) {
  decoder read(small_layout());
  const auto found = read.decode(frame);
  BOOST_REQUIRE_MESSAGE(!found.has_value(), "accepted, but expected: " << part);
  BOOST_TEST(found.error().text().find(part) != std::string::npos, found.error().text() << " lacks " << part);
}

inline void check_accepted(const bytes& frame) {
  decoder read(small_layout());
  const auto found = read.decode(frame);
  BOOST_TEST(found.has_value(), complaint(found));
}

template <class T>
T word_at(const bytes& frame, std::size_t at) {
  T word{};
  std::memcpy(&word, frame.data() + at, sizeof word);
  return word;
}

/// The frame with a value put in place of what is there.
template <class T>
bytes with(bytes frame, std::size_t at, T value) {
  std::memcpy(frame.data() + at, &value, sizeof value);
  return frame;
}

/// Runs the fuzz target on a frame: it ends the program when the decoder breaks a promise.
inline int replay(const bytes& frame) {
  return LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(frame.data()), frame.size());
}

}  // namespace furlong::wire::samples
