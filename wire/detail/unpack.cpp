#include "wire/detail/unpack.hpp"

#include <utility>

#include "wire/detail/message_checker.hpp"
#include "wire/detail/zstd.hpp"

namespace furlong::wire::detail {

using federated::number_format;
using std::to_string;

result<void> check_length(std::string field, capnp::Data::Reader data, std::size_t bytes) {
  if (data.size() != bytes)
    return unexpected_content(std::move(field), to_string(data.size()) + " bytes", to_string(bytes));
  return {};
}

result<number_format> read_encoding(std::string field, schema::Encoding found) {
  const auto number = static_cast<std::size_t>(found);
  if (number >= federated::number_format_count)
    return unexpected_content(std::move(field), to_string(number),
                              "less than " + to_string(federated::number_format_count));
  return static_cast<number_format>(number);
}

result<std::span<const std::byte>> read_packed(std::string field, capnp::Data::Reader data, bool zstd,
                                               std::size_t bytes, std::vector<std::byte>& room) {
  const std::span found(reinterpret_cast<const std::byte*>(data.begin()), data.size());
  if (!zstd) {
    if (auto fits = check_length(std::move(field), data, bytes); !fits) return tl::unexpected(fits.error());
    return found;
  }
  if (auto fits = check_content_size(field, found, bytes); !fits) return tl::unexpected(fits.error());
  room.resize(bytes);
  if (auto done = inflate(std::move(field), found, room); !done) return tl::unexpected(done.error());
  return std::span<const std::byte>(room);
}

result<void> unpack_into(std::string field, std::span<const std::byte> packed, number_format numbers,
                         std::span<float> target) {
  if (federated::unpack(packed, numbers, target)) return {};
  return unexpected_content(std::move(field), "a scale that is negative or too large", "finite scales");
}

}  // namespace furlong::wire::detail
