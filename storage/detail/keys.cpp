#include "storage/detail/keys.hpp"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/rand.h>

#include "storage/detail/files.hpp"
#include "storage/key_file.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t salt_bytes = 16;
constexpr std::size_t check_bytes = 16;

int digit_value(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

/// Parses 64 hexadecimal digits with an optional newline into `key`; false if `text` is anything else.
bool parse_key(std::string_view text, secret_bytes& key) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != 2 * key.size()) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const int high = digit_value(text[2 * i]);
    const int low = digit_value(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    key[i] = static_cast<unsigned char>(high << 4 | low);
  }
  return true;
}

result<secret_bytes> read_key(const fs::path& file) {
  if (!is_there(file))
    return fail(error::kind::data, file.string(), "the key file does not exist",
                "name the key file that the store was created with");
  if (auto safe = check_secret_file(file); !safe) return tl::unexpected(safe.error());
  auto text = read_file(file);
  if (!text) return tl::unexpected(text.error());
  secret_bytes key;
  const bool is_key = parse_key(*text, key);
  OPENSSL_cleanse(text->data(), text->size());
  if (!is_key)
    return fail(error::kind::data, file.string(), "not a key file: it does not have 64 hexadecimal digits",
                "name a key file");
  return key;
}

/// HKDF of RFC 5869 over SHA-256.
bool hkdf(const secret_bytes& key, std::string_view salt, std::string_view purpose, secret_bytes& out) {
  const std::unique_ptr<EVP_KDF, void (*)(EVP_KDF*)> algorithm(EVP_KDF_fetch(nullptr, "HKDF", nullptr), EVP_KDF_free);
  const std::unique_ptr<EVP_KDF_CTX, void (*)(EVP_KDF_CTX*)> context(EVP_KDF_CTX_new(algorithm.get()),
                                                                     EVP_KDF_CTX_free);
  const auto octets = [](const char* name, std::string_view bytes) {  // OpenSSL takes non-const pointers
    return OSSL_PARAM_construct_octet_string(name, const_cast<char*>(bytes.data()), bytes.size());
  };
  std::string digest = "SHA256";
  const std::array<OSSL_PARAM, 5> parameters{
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest.data(), digest.size()),
      octets(OSSL_KDF_PARAM_KEY, key.text()), octets(OSSL_KDF_PARAM_SALT, salt), octets(OSSL_KDF_PARAM_INFO, purpose),
      OSSL_PARAM_construct_end()};
  return context && EVP_KDF_derive(context.get(), out.data(), out.size(), parameters.data()) == 1;
}

}  // namespace

result<std::string> random_salt() {
  std::string salt(salt_bytes, '\0');
  if (RAND_bytes(reinterpret_cast<unsigned char*>(salt.data()), static_cast<int>(salt.size())) != 1)
    return fail(error::kind::runtime, "private store", "the system provides no random numbers");
  return salt;
}

result<keys_ptr> derive_keys(const fs::path& key_file, std::string_view salt) {
  const auto key = read_key(key_file);
  if (!key) return tl::unexpected(key.error());
  const auto keys = std::make_shared<store_keys>();
  secret_bytes check;
  const bool done = hkdf(*key, salt, "furlong private store: files", keys->cipher) &&
                    hkdf(*key, salt, "furlong private store: heads of files", keys->heads) &&
                    hkdf(*key, salt, "furlong private store: records", keys->records) &&
                    hkdf(*key, salt, "furlong private store: key check", check);
  if (!done) return fail(error::kind::runtime, key_file.string(), "OpenSSL cannot derive keys (HKDF-SHA256)");
  keys->check = check.text().substr(0, check_bytes);
  return keys_ptr(keys);
}

result<keys_ptr> open_keys(const fs::path& store, std::string_view salt, std::string_view check,
                           const fs::path& key_file) {
  const auto refuse = [&](const std::string& reason, const std::string& fix) {
    return fail(error::kind::usage, store.string(), reason, fix);
  };
  if (salt.empty() && !key_file.empty())
    return refuse("the private store is not encrypted, but a key file is given (" + key_file.string() + ")",
                  "omit the key file, or start a run with it in another folder");
  if (salt.empty()) return nullptr;
  if (key_file.empty()) return refuse("the private store is encrypted, but no key file is given", "name its key file");
  auto keys = derive_keys(key_file, salt);
  if (keys && (*keys)->check != check)
    return refuse("the key in " + key_file.string() + " is not the key of this private store",
                  "name the key file that the store was created with");
  return keys;
}

}  // namespace furlong::storage::detail
