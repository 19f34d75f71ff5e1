#include "storage/detail/digest.hpp"

#include <bit>
#include <cstring>
#include <memory>
#include <new>
#include <openssl/evp.h>

namespace furlong::storage::detail {

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

std::uint64_t short_form(const sha256_bytes& digest) {
  std::uint64_t number = 0;
  std::memcpy(&number, digest.data(), sizeof number);
  return number;
}

}  // namespace furlong::storage::detail
