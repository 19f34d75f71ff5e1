#include "storage/detail/digest.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <string>

namespace furlong::storage::detail {

namespace {

using mac_context = std::unique_ptr<EVP_MAC_CTX, void (*)(EVP_MAC_CTX*)>;

mac_context make_mac_context() {
  static const std::unique_ptr<EVP_MAC, void (*)(EVP_MAC*)> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr),
                                                                      EVP_MAC_free);
  mac_context context(EVP_MAC_CTX_new(algorithm.get()), EVP_MAC_CTX_free);
  std::string digest = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_end()};
  if (!context || EVP_MAC_CTX_set_params(context.get(), parameters) != 1) throw std::bad_alloc();
  return context;
}

}  // namespace

static_assert(std::endian::native == std::endian::little, "values are stored little-endian without conversion");

sha256_bytes sha256(std::span<const std::byte> bytes) {
  // Looking the algorithm up and making a context cost more than hashing one record, so both are kept.
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> algorithm(EVP_MD_fetch(nullptr, "SHA256", nullptr),
                                                                    EVP_MD_free);
  thread_local const std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context(EVP_MD_CTX_new(), EVP_MD_CTX_free);
  sha256_bytes digest;
  const bool done = algorithm && context && EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) == 1 &&
                    EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1 &&
                    EVP_DigestFinal_ex(context.get(), reinterpret_cast<unsigned char*>(digest.data()), nullptr) == 1;
  if (!done) throw std::bad_alloc();
  return digest;
}

sha256_bytes sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

sha256_bytes hmac_sha256(const secret_bytes& key, std::span<const std::byte> bytes) {
  thread_local const auto context = make_mac_context();
  sha256_bytes digest;
  std::size_t length = 0;
  const bool done =
      EVP_MAC_init(context.get(), key.data(), key.size(), nullptr) == 1 &&
      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1 &&
      EVP_MAC_final(context.get(), reinterpret_cast<unsigned char*>(digest.data()), &length, digest.size()) == 1;
  if (!done) throw std::bad_alloc();
  return digest;
}

std::uint64_t short_form(const sha256_bytes& digest) {
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

}  // namespace furlong::storage::detail
