#include "storage/detail/owner.hpp"

#include <algorithm>
#include <charconv>

#include "storage/detail/record.hpp"

namespace furlong::storage::detail {

namespace {

constexpr std::string_view prefix = "client-";

/// Takes RocksDB's variable-length number off the front.
std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  std::uint32_t number = 0;
  for (unsigned shift = 0; shift < 35 && !bytes.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    number |= (byte & 0x7FU) << shift;
    if (byte < 0x80U) return number;
  }
  return std::nullopt;
}

}  // namespace

std::string family_name(std::uint32_t client) { return std::string(prefix) + std::to_string(client); }

std::optional<std::uint32_t> client_of_family(std::string_view name) {
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t client = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), client);
  if (code != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return client;
}

record_key make_key(std::uint32_t client, std::size_t slot) {
  return {static_cast<char>(client >> 24U), static_cast<char>(client >> 16U), static_cast<char>(client >> 8U),
          static_cast<char>(client), static_cast<char>(slot)};
}

std::optional<std::uint32_t> owner_in_log(std::string_view payload, const std::vector<std::string>& families) {
  // A write batch: sequence and count (12 bytes), then a tag, family id, key length, key, value length, value.
  constexpr std::size_t before_family = 12 + 1;
  if (payload.size() < before_family) return std::nullopt;
  payload.remove_prefix(before_family);
  std::vector<std::uint32_t> named;
  if (const auto family = take_number(payload); family && *family < families.size())
    if (const auto client = client_of_family(families[*family])) named.push_back(*client);
  constexpr auto key_bytes = std::tuple_size_v<record_key>;
  if (payload.size() > key_bytes) {
    const auto byte = [&](std::size_t i) { return std::uint32_t{static_cast<unsigned char>(payload[1 + i])}; };
    named.push_back(byte(0) << 24U | byte(1) << 16U | byte(2) << 8U | byte(3));
    payload.remove_prefix(1 + key_bytes);
    if (take_number(payload))
      if (const auto client = named_client(payload)) named.push_back(*client);
  }
  if (named.size() == 1) return named.front();
  for (const auto candidate : named)
    if (std::ranges::count(named, candidate) > 1) return candidate;
  return std::nullopt;
}

std::optional<std::uint32_t> owner_in_manifest(std::string_view payload) {
  const auto at = payload.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  auto end = at + prefix.size();
  while (end < payload.size() && payload[end] >= '0' && payload[end] <= '9') ++end;
  return client_of_family(payload.substr(at, end - at));
}

}  // namespace furlong::storage::detail
