#include "storage/detail/owner.hpp"

#include <algorithm>

#include "storage/detail/record.hpp"

namespace furlong::storage::detail {

namespace {

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

/// The clients named by key and record in a piece that begins with a key's length.
void add_names(const spread& spread, std::string_view piece, std::vector<std::uint32_t>& named) {
  const auto key_bytes = spread.key_bytes();
  if (piece.size() <= key_bytes) return;
  named.push_back(client_of_key(piece.substr(1)));
  if (!spread.family_per_client()) named.push_back(client_of_key(piece.substr(1 + 5)));
  piece.remove_prefix(1 + key_bytes);
  if (take_number(piece))
    if (const auto client = named_client(piece)) named.push_back(*client);
}

std::optional<std::uint32_t> agreed(const std::vector<std::uint32_t>& named) {
  for (const auto candidate : named)
    if (named.size() == 1 || std::ranges::count(named, candidate) > 1) return candidate;
  return std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> owner_in_log(const spread& spread, std::string_view payload,
                                          const std::vector<std::string>& families) {
  // A write batch: sequence and count (12 bytes), then a tag, family id, key length, key, value length, value.
  constexpr std::size_t before_family = 12 + 1;
  if (payload.size() < before_family) return std::nullopt;
  payload.remove_prefix(before_family);
  std::vector<std::uint32_t> named;
  auto piece = payload;
  if (const auto family = take_number(piece); family && *family < families.size())
    if (const auto client = spread.client_named(families[*family])) named.push_back(*client);
  add_names(spread, piece, named);
  if (const auto owner = agreed(named)) return owner;
  // A changed bit can make the family's number look longer or shorter than it is.
  named.clear();
  for (std::size_t width = 1; width <= 3 && width < payload.size(); ++width)
    add_names(spread, payload.substr(width), named);
  return agreed(named);
}

std::optional<std::uint32_t> owner_in_manifest(const spread& spread, std::string_view payload) {
  if (!spread.family_per_client()) return std::nullopt;
  const auto prefix = spread.family_name(0).substr(0, spread.family_name(0).size() - 1);
  const auto at = payload.find(prefix);
  if (at == std::string_view::npos) return std::nullopt;
  auto end = at + prefix.size();
  while (end < payload.size() && payload[end] >= '0' && payload[end] <= '9') ++end;
  return spread.family_named(payload.substr(at, end - at));
}

}  // namespace furlong::storage::detail
