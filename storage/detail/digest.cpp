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

digest hmac_sha256(const secret_bytes& key, std::span<const std::byte> bytes) {
  thread_local const auto context = make_mac_context();
  digest mac{};
  std::size_t length = 0;
  const bool done =
      EVP_MAC_init(context.get(), key.data(), key.size(), nullptr) == 1 &&
      EVP_MAC_update(context.get(), reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()) == 1 &&
      EVP_MAC_final(context.get(), mac.data(), &length, mac.size()) == 1;
  if (!done) throw std::bad_alloc();
  return mac;
}

std::uint64_t short_form(const digest& of) {
  std::uint64_t number = 0;
  std::memcpy(&number, of.data(), sizeof number);
  return number;
}

}  // namespace furlong::storage::detail
