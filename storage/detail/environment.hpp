// RocksDB's settings for very many, very small column families. Each was found necessary by measurement.
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

/// A file system that leaves out what grows with the number of families, and encrypts when there are keys, and the Env
/// over it. One per store; must outlive its databases. Thread-safe.
class environment {
 public:
  environment(store_layout layout, const keys_ptr& keys);
  ~environment();
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  [[nodiscard]] rocksdb::DBOptions database_options() const;
  [[nodiscard]] rocksdb::ColumnFamilyOptions family_options() const;
  /// The whole content of one of RocksDB's files, decrypted. Fails as data when it is missing or damaged, and as
  /// runtime when it cannot be read.
  [[nodiscard]] result<std::string> read(const std::filesystem::path& file) const;
  /// Bytes of a file before the content that read() gives.
  [[nodiscard]] std::size_t head_bytes() const;

 private:
  bool encrypted_;
  store_layout layout_;
  std::shared_ptr<rocksdb::TableFactory> tables_;  // one for all: RocksDB makes a block cache per factory
  std::unique_ptr<rocksdb::Env> env_;
};

/// While one lives, RocksDB's MANIFEST, CURRENT and folder are written by this thread but not made durable: the caller
/// does so before it relies on them. For a database that is only being built, and for making a family, which RocksDB
/// writes to the MANIFEST alone and on the caller's thread, so that nobody else's edits are held back.
class deferred_syncs {
 public:
  deferred_syncs();
  ~deferred_syncs();
  deferred_syncs(const deferred_syncs&) = delete;
  deferred_syncs& operator=(const deferred_syncs&) = delete;
};

}  // namespace furlong::storage::detail
