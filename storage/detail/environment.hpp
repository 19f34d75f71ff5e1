// RocksDB's settings for very many, very small column families. Each is justified by measurement.
#pragma once

#include <filesystem>
#include <memory>
#include <rocksdb/env.h>
#include <rocksdb/options.h>
#include <string>

#include "base/result.hpp"
#include "storage/detail/keys.hpp"
#include "storage/store_layout.hpp"

namespace furlong::storage::detail {

/// A file system that omits work which grows with the number of families, and encrypts if there are keys, with its Env.
/// One per store; must outlive its databases. Thread-safe.
class environment {
 public:
  environment(store_layout layout, const keys_ptr& keys);
  ~environment();
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  [[nodiscard]] rocksdb::DBOptions database_options() const;
  [[nodiscard]] rocksdb::ColumnFamilyOptions family_options() const;
  /// The whole decrypted content of a RocksDB file. Fails with kind data if it is missing or damaged, and with kind
  /// runtime if it cannot be read.
  [[nodiscard]] result<std::string> read(const std::filesystem::path& file) const;
  /// Size of the header before the content that read() returns.
  [[nodiscard]] std::size_t head_bytes() const;

 private:
  bool encrypted_;
  store_layout layout_;
  std::shared_ptr<rocksdb::TableFactory> tables_;  // shared: RocksDB creates a block cache per factory
  std::unique_ptr<rocksdb::Env> env_;
};

/// While one exists, RocksDB's MANIFEST, CURRENT and folder are written by this thread but not made durable: the caller
/// must do so before it relies on them. For a database under construction, and for creating a family, which RocksDB
/// writes to the MANIFEST alone and on the caller's thread, so that no other edits are delayed.
class deferred_syncs {
 public:
  deferred_syncs();
  ~deferred_syncs();
  deferred_syncs(const deferred_syncs&) = delete;
  deferred_syncs& operator=(const deferred_syncs&) = delete;
};

}  // namespace furlong::storage::detail
