// The obvious design: one RocksDB database with one family and the client as key prefix, default options.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>

namespace furlong::bench {

/// Keeps the same two values per client, without checksums of its own or lives. Ends the program on any failure.
class single_family {
 public:
  explicit single_family(const std::filesystem::path& folder);
  ~single_family();

  /// Overwrites one of the two slots.
  void commit(std::uint32_t client, std::uint64_t version, std::span<const float> values);
  void sync();
  bool load(std::uint32_t client, std::span<float> out);
  /// Reads everything; returns the number of values.
  std::size_t visit();
  /// Deletes a client and rewrites the files that may still hold its bytes.
  void erase(std::uint32_t client);

 private:
  struct content;
  std::unique_ptr<content> content_;
};

}  // namespace furlong::bench
