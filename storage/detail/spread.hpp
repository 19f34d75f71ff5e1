// Placement of a store's clients in shards, column families and keys.
//
// layout       shard                              family                        key
// per-client   blocks of 400 clients in turns     "client-17"                   client, slot
// bucketed     buckets in turns                   "bucket-3": clients of a row  client, slot, client
//
// Both keys name the client (4 bytes, big-endian) in addition to the family, and the record names it again: in a
// damaged piece of a log two matching names determine the owner. A bucket does not name a client, so its keys name it
// twice.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "storage/store_layout.hpp"

namespace furlong::storage::detail {

/// Key of one of a client's records inside its family: two values, and two pending ones.
class record_key {
 public:
  record_key(store_layout layout, std::uint32_t client, std::size_t slot);
  [[nodiscard]] std::string_view bytes() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, 9> bytes_;
  std::size_t size_;
};

struct spread {
  store_layout layout = store_layout::per_client;
  std::uint32_t shards = 1;
  std::uint32_t bucket_clients = 1;  ///< clients of a family; 1 in the layout per-client

  /// For a new store. If `bucket_clients` is 0, chooses it by the size of a record.
  [[nodiscard]] static spread of(store_layout layout, std::uint32_t expected_clients, std::uint32_t bucket_clients,
                                 std::size_t record_bytes);

  [[nodiscard]] bool family_per_client() const { return layout == store_layout::per_client; }
  [[nodiscard]] std::uint32_t family_of(std::uint32_t client) const { return client / bucket_clients; }
  /// Blocks of clients, so that iterating over the clients in order visits the shards in order.
  [[nodiscard]] std::uint32_t shard_of(std::uint32_t client) const;
  [[nodiscard]] std::string family_name(std::uint32_t family) const;
  /// Empty if it is not the name of a family of this layout.
  [[nodiscard]] std::optional<std::uint32_t> family_named(std::string_view name) const;
  /// The client that a family name contains; empty if families have several clients.
  [[nodiscard]] std::optional<std::uint32_t> client_named(std::string_view name) const;
  [[nodiscard]] record_key key(std::uint32_t client, std::size_t slot) const { return {layout, client, slot}; }
  [[nodiscard]] std::size_t key_bytes() const { return key(0, 0).bytes().size(); }

  friend bool operator==(const spread&, const spread&) = default;
};

/// The client at the start of a key. `key` has at least 4 bytes.
[[nodiscard]] std::uint32_t client_of_key(std::string_view key);

}  // namespace furlong::storage::detail
