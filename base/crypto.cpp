#include "base/crypto.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdexcept>

#include "base/openssl_ptr.hpp"

namespace furlong::crypto {

static_assert(std::endian::native == std::endian::little, "masks are little-endian words");

namespace {

using cipher_context = openssl_ptr<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free>;

/// OpenSSL fails only without memory, or built without an algorithm.
void require(bool done, const char* message) {
  if (!done) throw std::runtime_error(std::string("OpenSSL cannot use ") + message);
}

EVP_CIPHER* cipher_named(const char* name) {
  auto* found = EVP_CIPHER_fetch(nullptr, name, nullptr);
  require(found != nullptr, name);
  return found;
}

EVP_CIPHER* aes() {
  static const openssl_ptr<EVP_CIPHER, EVP_CIPHER_free> found(cipher_named("AES-128-CTR"));
  return found.get();
}

EVP_CIPHER* chacha() {
  static const openssl_ptr<EVP_CIPHER, EVP_CIPHER_free> found(cipher_named("ChaCha20-Poly1305"));
  return found.get();
}

EVP_CIPHER_CTX* begin_stream(const key& secret) {
  constexpr std::size_t aes_key_bytes = 16;
  thread_local const cipher_context context(EVP_CIPHER_CTX_new());
  require(
      context && EVP_EncryptInit_ex2(context.get(), aes(), secret.data(), secret.data() + aes_key_bytes, nullptr) == 1,
      "AES-128-CTR");
  return context.get();
}

void next_bytes(EVP_CIPHER_CTX* stream, std::span<std::uint8_t> out) {
  static constexpr std::array<std::uint8_t, 16384> zeros{};
  for (std::size_t position = 0; position < out.size();) {
    const auto count = std::min(zeros.size(), out.size() - position);
    int done = 0;
    require(EVP_EncryptUpdate(stream, out.data() + position, &done, zeros.data(), static_cast<int>(count)) == 1,
            "AES-128-CTR");
    position += count;
  }
}

void add_words(std::uint64_t* __restrict words, const std::uint64_t* __restrict mask, std::size_t count,
               bool subtract) {
  if (subtract)
    for (std::size_t i = 0; i < count; ++i) words[i] -= mask[i];
  else
    for (std::size_t i = 0; i < count; ++i) words[i] += mask[i];
}

using add_function = decltype(&add_words);

#if defined(__x86_64__)
/// The same loops with wider vectors. Not target_clones: its resolver runs before ThreadSanitizer can.
[[gnu::target("avx2")]] void add_words_avx2(std::uint64_t* __restrict words, const std::uint64_t* __restrict mask,
                                            std::size_t count, bool subtract) {
  if (subtract)
    for (std::size_t i = 0; i < count; ++i) words[i] -= mask[i];
  else
    for (std::size_t i = 0; i < count; ++i) words[i] += mask[i];
}

add_function widest_add() { return __builtin_cpu_supports("avx2") ? add_words_avx2 : add_words; }
#else
add_function widest_add() { return add_words; }
#endif

}  // namespace

random_source system_random() {
  return [](std::span<std::uint8_t> out) {
    if (RAND_priv_bytes(out.data(), static_cast<int>(out.size())) != 1)
      throw std::runtime_error("the system provides no random numbers");
  };
}

key random_key(const random_source& source) {
  key made;
  source(made);
  return made;
}

void wipe(std::span<std::uint8_t> secret) { OPENSSL_cleanse(secret.data(), secret.size()); }

// ---- X25519 --------------------------------------------------------------------------------------------------------

void agreement_key::discard::operator()(void* handle) const { EVP_PKEY_free(static_cast<EVP_PKEY*>(handle)); }

agreement_key::agreement_key(const key& secret) : secret_(secret) {
  handle_.reset(EVP_PKEY_new_raw_private_key(EVP_PKEY_X25519, nullptr, secret.data(), secret.size()));
  std::size_t size = public_.size();
  require(handle_ != nullptr &&
              EVP_PKEY_get_raw_public_key(static_cast<EVP_PKEY*>(handle_.get()), public_.data(), &size) == 1,
          "X25519");
}

std::optional<key> agreement_key::agree(const key& peer_key) const {
  const openssl_ptr<EVP_PKEY, EVP_PKEY_free> peer(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_X25519, nullptr, peer_key.data(), peer_key.size()));
  const openssl_ptr<EVP_PKEY_CTX, EVP_PKEY_CTX_free> context(
      EVP_PKEY_CTX_new(static_cast<EVP_PKEY*>(handle_.get()), nullptr));
  require(peer && context && EVP_PKEY_derive_init(context.get()) == 1 &&
              EVP_PKEY_derive_set_peer_ex(context.get(), peer.get(), 0) == 1,
          "X25519");
  key shared;
  std::size_t size = shared.size();
  if (EVP_PKEY_derive(context.get(), shared.data(), &size) != 1) return std::nullopt;
  // A low-order point gives zero; not all versions of OpenSSL refuse it.
  if (std::ranges::all_of(shared, [](std::uint8_t byte) { return byte == 0; })) return std::nullopt;
  return shared;
}

// ---- HKDF ----------------------------------------------------------------------------------------------------------

void hkdf_sha256(bytes_view secret, bytes_view salt, bytes_view info, std::span<std::uint8_t> out) {
  static const openssl_ptr<EVP_KDF, EVP_KDF_free> algorithm(EVP_KDF_fetch(nullptr, "HKDF", nullptr));
  const openssl_ptr<EVP_KDF_CTX, EVP_KDF_CTX_free> context(EVP_KDF_CTX_new(algorithm.get()));
  std::string hash = "SHA256";
  const auto octets = [](const char* name, bytes_view content) {
    return OSSL_PARAM_construct_octet_string(name, const_cast<std::uint8_t*>(content.data()), content.size());
  };
  std::vector<OSSL_PARAM> parameters = {OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, hash.data(), 0),
                                        octets(OSSL_KDF_PARAM_KEY, secret)};
  if (!salt.empty()) parameters.push_back(octets(OSSL_KDF_PARAM_SALT, salt));
  if (!info.empty()) parameters.push_back(octets(OSSL_KDF_PARAM_INFO, info));
  parameters.push_back(OSSL_PARAM_construct_end());
  require(context && EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1, "HKDF-SHA256");
}

// ---- ChaCha20-Poly1305 ---------------------------------------------------------------------------------------------

bytes seal(const key& with, const nonce& once, bytes_view associated, bytes_view plain) {
  const cipher_context context(EVP_CIPHER_CTX_new());
  bytes out(plain.size() + tag_bytes);
  int done = 0;
  require(context && EVP_EncryptInit_ex2(context.get(), chacha(), with.data(), once.data(), nullptr) == 1 &&
              EVP_EncryptUpdate(context.get(), nullptr, &done, associated.data(),
                                static_cast<int>(associated.size())) == 1 &&
              EVP_EncryptUpdate(context.get(), out.data(), &done, plain.data(), static_cast<int>(plain.size())) == 1 &&
              EVP_EncryptFinal_ex(context.get(), out.data() + plain.size(), &done) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_GET_TAG, tag_bytes, out.data() + plain.size()) == 1,
          "ChaCha20-Poly1305");
  return out;
}

std::optional<bytes> open(const key& with, const nonce& once, bytes_view associated, bytes_view sealed) {
  if (sealed.size() < tag_bytes) return std::nullopt;
  const auto plain_size = sealed.size() - tag_bytes;
  const cipher_context context(EVP_CIPHER_CTX_new());
  bytes out(plain_size);
  std::array<std::uint8_t, tag_bytes> tag;
  std::ranges::copy(sealed.subspan(plain_size), tag.begin());
  int done = 0;
  require(context && EVP_DecryptInit_ex2(context.get(), chacha(), with.data(), once.data(), nullptr) == 1 &&
              EVP_CIPHER_CTX_ctrl(context.get(), EVP_CTRL_AEAD_SET_TAG, tag_bytes, tag.data()) == 1 &&
              EVP_DecryptUpdate(context.get(), nullptr, &done, associated.data(),
                                static_cast<int>(associated.size())) == 1 &&
              EVP_DecryptUpdate(context.get(), out.data(), &done, sealed.data(), static_cast<int>(plain_size)) == 1,
          "ChaCha20-Poly1305");
  if (EVP_DecryptFinal_ex(context.get(), out.data() + plain_size, &done) != 1) return std::nullopt;
  return out;
}

// ---- masks ---------------------------------------------------------------------------------------------------------

void mask_bytes(std::span<std::uint8_t> out, const key& secret) { next_bytes(begin_stream(secret), out); }

void add_mask(std::span<std::int64_t> words, const key& secret, bool subtract) {
  auto* const stream = begin_stream(secret);
  constexpr std::size_t at_once = 512;  // 4 KiB: the mask stays in the first cache
  thread_local std::array<std::uint64_t, at_once> mask;
  static const add_function add = widest_add();
  for (std::size_t position = 0; position < words.size(); position += at_once) {
    const auto part = words.subspan(position, std::min(at_once, words.size() - position));
    next_bytes(stream, {reinterpret_cast<std::uint8_t*>(mask.data()), part.size() * sizeof(std::uint64_t)});
    // Signed and unsigned integers of one size may alias; unsigned ones wrap.
    add(reinterpret_cast<std::uint64_t*>(part.data()), mask.data(), part.size(), subtract);
  }
}

}  // namespace furlong::crypto
