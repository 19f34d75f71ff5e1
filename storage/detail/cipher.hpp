// The files of an encrypted store: AES-256 in counter mode, by OpenSSL, under RocksDB's file system.
//
// Each file begins with a head of 32 bytes: a random 16-byte initial counter, and the first 16 bytes of the HMAC-SHA256
// over it. The counter's block i encrypts bytes 16 i to 16 i + 15 of the file. Without the HMAC, one changed bit of a
// head would turn a log into noise, which a reader of logs could take for the unfinished write of a crash.
#pragma once

#include <memory>
#include <rocksdb/file_system.h>

#include "storage/detail/keys.hpp"

namespace furlong::storage::detail {

constexpr std::size_t cipher_head_bytes = 32;

/// `base` with all files encrypted. Thread-safe.
[[nodiscard]] std::shared_ptr<rocksdb::FileSystem> encrypted(std::shared_ptr<rocksdb::FileSystem> base, keys_ptr keys);

}  // namespace furlong::storage::detail
