#include "storage/detail/spread.hpp"

#include <algorithm>
#include <bit>
#include <charconv>

namespace furlong::storage::detail {

namespace {

// A family per client makes a shard slow to open: some hundred are a good compromise.
constexpr std::uint32_t clients_per_shard = 400;
constexpr std::uint32_t most_family_shards = 256;

// A bucket is as large as one family can be without much rewriting; erasing a client rewrites the buckets of its shard.
// Small buckets of large values would need as many families as there are clients.
constexpr std::size_t bucket_bytes = 4U << 20U;
constexpr std::size_t least_bucket = 256;
constexpr std::size_t most_bucket = 4096;
constexpr std::uint32_t most_bucket_shards = 64;

constexpr std::string_view prefix_of(store_layout layout) {
  return layout == store_layout::bucketed ? "bucket-" : "client-";
}

std::uint32_t parts(std::uint32_t whole, std::uint32_t part) { return whole / part + (whole % part == 0 ? 0 : 1); }

}  // namespace

record_key::record_key(store_layout layout, std::uint32_t client, std::size_t slot)
    : size_(layout == store_layout::bucketed ? 9 : 5) {
  for (unsigned i = 0; i < 4; ++i) bytes_[i] = bytes_[5 + i] = static_cast<char>(client >> (24U - 8U * i));
  bytes_[4] = static_cast<char>(slot);
}

spread spread::of(store_layout layout, std::uint32_t expected_clients, std::uint32_t bucket_clients,
                  std::size_t record_bytes) {
  if (layout == store_layout::per_client)
    return {layout, std::clamp(parts(expected_clients, clients_per_shard), 1U, most_family_shards), 1};
  const auto fit = std::clamp(std::bit_floor(bucket_bytes / (2 * record_bytes)), least_bucket, most_bucket);
  const auto bucket = bucket_clients == 0 ? static_cast<std::uint32_t>(fit) : bucket_clients;
  return {layout, std::clamp(parts(expected_clients, bucket), 1U, most_bucket_shards), bucket};
}

std::uint32_t spread::shard_of(std::uint32_t client) const {
  return client / (family_per_client() ? clients_per_shard : bucket_clients) % shards;
}

std::string spread::family_name(std::uint32_t family) const {
  return std::string(prefix_of(layout)) + std::to_string(family);
}

std::optional<std::uint32_t> spread::family_named(std::string_view name) const {
  const auto prefix = prefix_of(layout);
  if (!name.starts_with(prefix)) return std::nullopt;
  name.remove_prefix(prefix.size());
  std::uint32_t family = 0;
  const auto [end, code] = std::from_chars(name.data(), name.data() + name.size(), family);
  if (code != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return family;
}

std::optional<std::uint32_t> spread::client_named(std::string_view name) const {
  return family_per_client() ? family_named(name) : std::nullopt;
}

std::uint32_t client_of_key(std::string_view key) {
  std::uint32_t client = 0;
  for (std::size_t i = 0; i < 4; ++i) client = client << 8U | static_cast<unsigned char>(key[i]);
  return client;
}

}  // namespace furlong::storage::detail
