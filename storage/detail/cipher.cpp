#include "storage/detail/cipher.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <rocksdb/env_encryption.h>

#include "base/openssl_ptr.hpp"

namespace furlong::storage::detail {

namespace {

using rocksdb::Slice;
using rocksdb::Status;

constexpr std::size_t block_bytes = 16;
using counter_block = std::array<unsigned char, block_bytes>;

/// initial + blocks, as a 128-bit big-endian number.
counter_block advance(counter_block initial, std::uint64_t blocks) {
  unsigned carry = 0;
  for (std::size_t i = block_bytes; i-- > 0;) {
    const unsigned sum = initial[i] + static_cast<unsigned>(blocks & 0xFFU) + carry;
    initial[i] = static_cast<unsigned char>(sum);
    carry = sum >> 8U;
    blocks >>= 8U;
  }
  return initial;
}

/// In counter mode, encrypting and decrypting are one operation.
bool apply(const store_keys& keys, const counter_block& initial, std::uint64_t offset, char* data, std::size_t size) {
  static const openssl_ptr<EVP_CIPHER, EVP_CIPHER_free> algorithm(EVP_CIPHER_fetch(nullptr, "AES-256-CTR", nullptr));
  thread_local const openssl_ptr<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> context(EVP_CIPHER_CTX_new());
  const auto counter = advance(initial, offset / block_bytes);
  if (!algorithm || !context ||
      EVP_EncryptInit_ex2(context.get(), algorithm.get(), keys.cipher.data(), counter.data(), nullptr) != 1)
    return false;
  const auto run = [&](unsigned char* bytes, std::size_t count) {
    int done = 0;
    return EVP_EncryptUpdate(context.get(), bytes, &done, bytes, static_cast<int>(count)) == 1;
  };
  counter_block unused{};
  if (!run(unused.data(), offset % block_bytes)) return false;
  constexpr std::size_t most = std::size_t{1} << 30U;  // OpenSSL counts in int
  for (std::size_t position = 0; position < size; position += most)
    if (!run(reinterpret_cast<unsigned char*>(data) + position, std::min(most, size - position))) return false;
  return true;
}

class stream final : public rocksdb::BlockAccessCipherStream {
 public:
  stream(keys_ptr keys, const counter_block& initial) : keys_(std::move(keys)), initial_(initial) {}
  size_t BlockSize() override { return block_bytes; }
  Status Encrypt(std::uint64_t offset, char* data, std::size_t size) override {
    return apply(*keys_, initial_, offset, data, size) ? Status::OK() : Status::Aborted("OpenSSL cannot use AES-256");
  }
  Status Decrypt(std::uint64_t offset, char* data, std::size_t size) override { return Encrypt(offset, data, size); }

 private:
  // Unused: RocksDB's loop over blocks is slower than OpenSSL's.
  void AllocateScratch(std::string&) override {}
  Status EncryptBlock(std::uint64_t block, char* data, char*) override {
    return Encrypt(block * block_bytes, data, block_bytes);
  }
  Status DecryptBlock(std::uint64_t block, char* data, char*) override {
    return Encrypt(block * block_bytes, data, block_bytes);
  }

  keys_ptr keys_;
  counter_block initial_;
};

class provider final : public rocksdb::EncryptionProvider {
 public:
  explicit provider(keys_ptr keys) : keys_(std::move(keys)) {}
  const char* Name() const override { return "FurlongCipher"; }
  size_t GetPrefixLength() const override { return cipher_head_bytes; }

  Status CreateNewPrefix(const std::string&, char* head, size_t) const override {
    if (RAND_bytes(reinterpret_cast<unsigned char*>(head), block_bytes) != 1)
      return Status::Aborted("the system provides no random numbers");
    const auto mac = head_mac(head);
    std::memcpy(head + block_bytes, mac.data(), block_bytes);
    return Status::OK();
  }

  Status AddCipher(const std::string&, const char*, size_t, bool) override {
    return Status::NotSupported("a store has one key");
  }

  Status CreateCipherStream(const std::string& name, const rocksdb::EnvOptions&, Slice& head,
                            std::unique_ptr<rocksdb::BlockAccessCipherStream>* out) override {
    if (head.size() < cipher_head_bytes) return Status::Corruption(name, "the file header is truncated");
    const auto mac = head_mac(head.data());
    if (CRYPTO_memcmp(mac.data(), head.data() + block_bytes, block_bytes) != 0)
      return Status::Corruption(name, "the file header is damaged or belongs to another store");
    counter_block initial;
    std::memcpy(initial.data(), head.data(), block_bytes);
    *out = std::make_unique<stream>(keys_, initial);
    return Status::OK();
  }

 private:
  [[nodiscard]] digest head_mac(const char* head) const {
    return hmac_sha256(keys_->heads, std::as_bytes(std::span(head, block_bytes)));
  }

  keys_ptr keys_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> encrypted(std::shared_ptr<rocksdb::FileSystem> base, keys_ptr keys) {
  return rocksdb::NewEncryptedFS(base, std::make_shared<provider>(std::move(keys)));
}

}  // namespace furlong::storage::detail
