#include "storage/key_file.hpp"

#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <span>
#include <string>

#include "storage/detail/files.hpp"
#include "storage/detail/keys.hpp"

namespace furlong::storage {

result<void> create_key_file(const std::filesystem::path& file) {
  detail::secret_bytes key;
  if (RAND_priv_bytes(key.data(), static_cast<int>(key.size())) != 1)
    return fail(error::kind::runtime, file.string(), "the system has no random numbers for a key");
  std::string text;
  constexpr std::string_view digits = "0123456789abcdef";
  text.reserve(2 * key.size() + 1);
  for (const auto byte : key) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  text += '\n';
  auto written = detail::create_private_file(file, std::as_bytes(std::span(text)));
  OPENSSL_cleanse(text.data(), text.size());
  return written;
}

}  // namespace furlong::storage
