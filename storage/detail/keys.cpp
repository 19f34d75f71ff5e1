#include "storage/detail/keys.hpp"

#include <charconv>
#include <new>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdexcept>

#include "base/crypto.hpp"
#include "base/openssl_ptr.hpp"
#include "storage/detail/files.hpp"
#include "storage/key_file.hpp"

namespace furlong::storage::detail {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t salt_bytes = 16;
constexpr std::size_t check_bytes = 16;

/// Parses 64 hexadecimal digits with an optional newline into `key`; false if `text` is anything else.
bool parse_key(std::string_view text, secret_bytes& key) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.size() != 2 * key.size()) return false;
  for (std::size_t i = 0; i < key.size(); ++i) {
    const char* digits = text.data() + 2 * i;
    const auto [end, why] = std::from_chars(digits, digits + 2, key[i], 16);
    if (why != std::errc() || end != digits + 2) return false;
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

using mac_context = openssl_ptr<EVP_MAC_CTX, EVP_MAC_CTX_free>;

mac_context make_mac_context() {
  static const openssl_ptr<EVP_MAC, EVP_MAC_free> algorithm(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  mac_context context(EVP_MAC_CTX_new(algorithm.get()));
  std::string digest = "SHA256";
  const OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest.data(), digest.size()),
      OSSL_PARAM_construct_end()};
  if (!context || EVP_MAC_CTX_set_params(context.get(), parameters) != 1) throw std::bad_alloc();
  return context;
}

crypto::bytes_view octets(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

}  // namespace

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
  const auto derive = [&](std::string_view purpose, secret_bytes& out) {
    crypto::hkdf_sha256(*key, octets(salt), octets(purpose), out);
  };
  try {
    derive("furlong private store: files", keys->cipher);
    derive("furlong private store: heads of files", keys->heads);
    derive("furlong private store: records", keys->records);
    derive("furlong private store: key check", check);
  } catch (const std::exception&) {
    return fail(error::kind::runtime, key_file.string(), "OpenSSL cannot derive keys (HKDF-SHA256)");
  }
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
