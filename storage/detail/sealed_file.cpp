#include "storage/detail/sealed_file.hpp"

#include <cstring>

#include "base/digest.hpp"

namespace furlong::storage::detail {

namespace {
constexpr std::size_t head_bytes = 16;
constexpr std::size_t tail = 32;
}  // namespace

std::string seal(std::string_view magic, std::string_view payload) {
  std::string bytes(magic.substr(0, 8));
  const std::uint64_t length = payload.size();
  bytes.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes.append(payload);
  const auto digest = sha256(bytes);
  bytes.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  return bytes;
}

result<std::string_view> unseal(std::string_view magic, std::string_view bytes, const std::filesystem::path& file,
                                const std::string& title) {
  const auto refuse = [&](const std::string& reason) {
    return fail(error::kind::data, file.string(), reason, "restore the " + title + " from a copy, or start a new run");
  };
  if (bytes.size() < head_bytes + tail)
    return refuse("the " + title + " is truncated: it has " + std::to_string(bytes.size()) + " bytes");
  if (bytes.substr(0, 8) != magic) return refuse("the file is not a " + title + ", or its first bytes are damaged");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data() + 8, sizeof length);
  const std::uint64_t present = bytes.size() - head_bytes - tail;
  if (length != present)
    return refuse("the " + title + " is truncated or damaged: its content should have " + std::to_string(length) +
                  " bytes and has " + std::to_string(present));
  const auto digest = sha256(bytes.substr(0, bytes.size() - tail));
  if (std::memcmp(digest.data(), bytes.data() + bytes.size() - tail, tail) != 0)
    return refuse("the " + title + " is damaged: its checksum does not match its content");
  return bytes.substr(head_bytes, length);
}

}  // namespace furlong::storage::detail
