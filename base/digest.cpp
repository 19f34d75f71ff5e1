#include "base/digest.hpp"

#include <bit>
#include <new>
#include <openssl/evp.h>
#include <stdexcept>

namespace furlong {

static_assert(std::endian::native == std::endian::little, "digests are over little-endian values; swap them here");

struct sha256_stream::state {
  EVP_MD_CTX* context = EVP_MD_CTX_new();

  state() {
    if (context == nullptr) throw std::bad_alloc();
  }
  state(const state&) = delete;
  state& operator=(const state&) = delete;
  ~state() { EVP_MD_CTX_free(context); }
};

namespace {

// SHA-256 over memory has no input that makes it fail: only a broken OpenSSL installation does.
void must(int succeeded) {
  if (succeeded != 1) throw std::runtime_error("OpenSSL cannot compute SHA-256");
}

// Looking the algorithm up costs more than hashing a small record.
const EVP_MD* algorithm() {
  static const std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> kept(EVP_MD_fetch(nullptr, "SHA256", nullptr), EVP_MD_free);
  return kept.get();
}

}  // namespace

void sha256_stream::discard::operator()(state* gone) const { delete gone; }

sha256_stream::sha256_stream() : state_(new state) { must(EVP_DigestInit_ex2(state_->context, algorithm(), nullptr)); }

sha256_stream& sha256_stream::add(std::span<const std::byte> bytes) {
  if (!bytes.empty()) must(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()));
  return *this;
}

sha256_stream& sha256_stream::add(std::string_view text) { return add(std::as_bytes(std::span(text))); }

sha256_stream& sha256_stream::add(std::span<const float> values) { return add(std::as_bytes(values)); }

sha256_stream& sha256_stream::add(std::uint64_t number) { return add(std::as_bytes(std::span(&number, 1))); }

digest sha256_stream::finish() {
  digest out{};
  must(EVP_DigestFinal_ex(state_->context, out.data(), nullptr));
  must(EVP_DigestInit_ex2(state_->context, algorithm(), nullptr));
  return out;
}

digest sha256(std::span<const std::byte> bytes) {
  thread_local sha256_stream kept;
  return kept.add(bytes).finish();
}

digest sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text))); }

std::string hex(std::span<const std::uint8_t> bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const std::uint8_t byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 0xFU];
  }
  return text;
}

}  // namespace furlong
