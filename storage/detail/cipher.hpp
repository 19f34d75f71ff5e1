// File encryption of a store: AES-256 in counter mode (OpenSSL) under RocksDB's file system.
//
// Each file begins with a header of 32 bytes: a random 16-byte initial counter, and the first 16 bytes of its
// HMAC-SHA256. Block i of the counter encrypts bytes 16 i to 16 i + 15 of the file. Without the HMAC, a changed bit in
// a header would turn a log into noise, which a log reader could take for the unfinished write of a crash.
#pragma once

#include <memory>
#include <rocksdb/file_system.h>

#include "storage/detail/keys.hpp"

namespace furlong::storage::detail {

constexpr std::size_t cipher_head_bytes = 32;

/// `base` with all files encrypted. Thread-safe.
[[nodiscard]] std::shared_ptr<rocksdb::FileSystem> encrypted(std::shared_ptr<rocksdb::FileSystem> base, keys_ptr keys);

}  // namespace furlong::storage::detail
