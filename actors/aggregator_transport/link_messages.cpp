#include "actors/aggregator_transport/link_messages.hpp"

#include <exception>

namespace furlong::actors::aggregator_transport {

namespace {

/// Lengths precede bytes, so that all bytes of a piece are read into one buffer at once.
caf::error read_piece(caf::deserializer& source, piece& x) {
  std::uint32_t count = 0;
  if (auto failed = source(x.sequence, count)) return failed;
  if (count > piece_slices) {
    x.flaw = "a piece has " + std::to_string(count) + " slices";
    return caf::none;
  }
  std::vector<std::uint32_t> lengths(count);
  x.slices.resize(count);
  std::size_t size = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (auto failed = source(x.slices[i].total, x.slices[i].offset, lengths[i])) return failed;
    size += lengths[i];
  }
  if (size > piece_bytes) {
    x.slices.clear();
    x.flaw = "a piece has " + std::to_string(size) + " bytes";
    return caf::none;
  }
  // Not zeroed: it is overwritten completely.
  const std::shared_ptr<std::byte[]> buffer(new std::byte[size]);
  if (size > 0) {
    if (auto failed = source.apply_raw(size, buffer.get())) return failed;
  }
  std::size_t begin = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    x.slices[i].bytes = std::span(buffer.get() + begin, lengths[i]);
    begin += lengths[i];
  }
  x.buffer = buffer;
  return caf::none;
}

}  // namespace

caf::error inspect(caf::serializer& sink, piece& x) {
  auto count = static_cast<std::uint32_t>(x.slices.size());
  if (auto failed = sink(x.sequence, count)) return failed;
  for (auto& one : x.slices) {
    auto length = static_cast<std::uint32_t>(one.bytes.size());
    if (auto failed = sink(one.total, one.offset, length)) return failed;
  }
  for (const auto& one : x.slices) {
    // CAF has one signature for reading and writing; a serializer does not modify it.
    auto* from = const_cast<std::byte*>(one.bytes.data());
    if (one.bytes.empty()) continue;
    if (auto failed = sink.apply_raw(one.bytes.size(), from)) return failed;
  }
  return caf::none;
}

caf::error inspect(caf::deserializer& source, piece& x) {
  x = {};
  try {
    auto failed = read_piece(source, x);
    if (failed) x.flaw = "a piece ends too early";
    return failed;
  } catch (const std::exception& why) {
    x = {};
    x.flaw = std::string("a piece cannot be read: ") + why.what();
    return caf::none;
  }
}

}  // namespace furlong::actors::aggregator_transport
