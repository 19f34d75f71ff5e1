#include "base/secret_stream.hpp"

#include <algorithm>
#include <openssl/evp.h>
#include <stdexcept>

#include "base/crypto.hpp"
#include "base/openssl_ptr.hpp"

namespace furlong {

void seeded_words::fill(std::span<std::uint64_t> words) {
  for (auto& word : words) {
    const std::uint64_t high = stream_();
    word = high << 32U | stream_();
  }
}

secret_key draw_secret_key() { return crypto::random_key(crypto::system_random()); }

namespace {

constexpr std::uint64_t most_words = std::uint64_t{1} << 33U;  // 2^32 blocks of 16 bytes

}  // namespace

struct secret_stream::cipher {
  std::uint64_t given = 0;  ///< words
  openssl_ptr<EVP_CIPHER_CTX, EVP_CIPHER_CTX_free> context{EVP_CIPHER_CTX_new()};
};

secret_stream::secret_stream(const secret_key& key, purpose why, std::uint64_t index, std::uint32_t part)
    : cipher_(std::make_unique<cipher>()) {
  // The last four bytes count blocks of 16 bytes.
  std::array<std::uint8_t, 16> counter{static_cast<std::uint8_t>(why), static_cast<std::uint8_t>(part >> 16U),
                                       static_cast<std::uint8_t>(part >> 8U), static_cast<std::uint8_t>(part)};
  for (unsigned i = 0; i < 8; ++i) counter[4 + i] = static_cast<std::uint8_t>(index >> (56U - 8U * i));
  if (!cipher_->context ||
      EVP_EncryptInit_ex2(cipher_->context.get(), EVP_aes_256_ctr(), key.data(), counter.data(), nullptr) != 1)
    throw std::runtime_error("OpenSSL has no AES-256 in counter mode");
}

secret_stream::~secret_stream() = default;

void secret_stream::fill(std::span<std::uint64_t> words) {
  constexpr std::size_t at_once = 1U << 20U;
  // After that it would go on with the stream of the next index.
  if (words.size() > most_words - cipher_->given) throw std::length_error("a secret stream has ended: it has 64 GiB");
  cipher_->given += words.size();
  std::ranges::fill(words, 0);
  for (; !words.empty(); words = words.subspan(std::min(at_once, words.size()))) {
    auto* bytes = reinterpret_cast<unsigned char*>(words.data());
    const auto size = static_cast<int>(std::min(at_once, words.size()) * sizeof(std::uint64_t));
    int written = 0;
    if (EVP_EncryptUpdate(cipher_->context.get(), bytes, &written, bytes, size) != 1 || written != size)
      throw std::runtime_error("OpenSSL cannot encrypt");
  }
}

std::uint64_t secret_stream::next() {
  std::uint64_t word = 0;
  fill({&word, 1});
  return word;
}

}  // namespace furlong
