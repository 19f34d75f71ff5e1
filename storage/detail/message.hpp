// Helpers for Cap'n Proto messages in files.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "storage/detail/files.hpp"
#include "storage/detail/sealed_file.hpp"

namespace furlong::storage::detail {

/// A message as contiguous bytes.
inline std::string flat(capnp::MessageBuilder& message) {
  const auto words = capnp::messageToFlatArray(message);
  const auto bytes = words.asBytes();
  return {reinterpret_cast<const char*>(bytes.begin()), bytes.size()};
}

/// Copies numbers into a list of the same length, and a list into numbers.
template <class Builder, class Numbers>
void fill(Builder list, const Numbers& numbers) {
  unsigned i = 0;
  for (const auto number : numbers) list.set(i++, number);
}
template <class Reader>
auto to_vector(Reader list) {
  std::vector<std::decay_t<decltype(list[0])>> numbers;
  numbers.reserve(list.size());
  for (const auto number : list) numbers.push_back(number);
  return numbers;
}

inline capnp::Data::Reader as_data(std::span<const float> values) {
  return {reinterpret_cast<const capnp::byte*>(values.data()), values.size_bytes()};
}
/// Copies the bytes of floats; false if they are not `out.size()` floats.
inline bool copy_floats(capnp::Data::Reader bytes, std::span<float> out) {
  if (bytes.size() != out.size_bytes()) return false;
  if (!out.empty()) std::memcpy(out.data(), bytes.begin(), out.size_bytes());
  return true;
}

/// Calls `read` with the root of the message in `payload`; an exception of Cap'n Proto becomes an error about `file`.
template <class Schema, class Read>
auto with_message(std::string_view payload, const std::filesystem::path& file, const Read& read)
    -> decltype(read(std::declval<typename Schema::Reader>())) {
  const auto refuse = [&](const std::string& why) {
    return fail(error::kind::data, file.string(), "cannot read the content: " + why,
                "restore the file from a copy, or start a new run");
  };
  if (payload.size() % sizeof(capnp::word) != 0) return refuse("its length is invalid");
  auto words = kj::heapArray<capnp::word>(payload.size() / sizeof(capnp::word));
  std::memcpy(words.begin(), payload.data(), payload.size());
  try {
    capnp::ReaderOptions limits;
    limits.traversalLimitInWords = 4 * words.size() + 1024;  // each list is read once or twice
    capnp::FlatArrayMessageReader message(words.asPtr(), limits);
    return read(message.getRoot<Schema>());
  } catch (const kj::Exception& bad) {
    return refuse(bad.getDescription().cStr());
  }
}

/// Replaces a file by a sealed message; durable on return.
[[nodiscard]] inline result<void> write_sealed(const std::filesystem::path& file, std::string_view magic,
                                               capnp::MessageBuilder& message) {
  const auto bytes = seal(magic, flat(message));
  return replace_file(file, std::as_bytes(std::span(bytes)));
}
/// Calls `read` with the root of the message in a sealed file. Errors name the file and its `title`.
template <class Schema, class Read>
auto read_sealed(const std::filesystem::path& file, std::string_view magic, const std::string& title, const Read& read)
    -> decltype(read(std::declval<typename Schema::Reader>())) {
  const auto bytes = read_file(file);
  if (!bytes) return tl::unexpected(bytes.error());
  return unseal(magic, *bytes, file, title).and_then([&](std::string_view payload) {
    return with_message<Schema>(payload, file, read);
  });
}

}  // namespace furlong::storage::detail
