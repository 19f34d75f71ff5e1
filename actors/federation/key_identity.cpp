#include "actors/federation/key_identity.hpp"

#include <map>
#include <openssl/evp.h>

#include "actors/tls/pem_files.hpp"

namespace furlong::actors::federation {

namespace {

namespace crypto = furlong::crypto;
using digest_context = tls::openssl_ptr<EVP_MD_CTX, EVP_MD_CTX_free>;

/// Keys of Edwards curves hash by themselves.
const EVP_MD* hash_for(EVP_PKEY* key) {
  const int kind = EVP_PKEY_get_base_id(key);
  return kind == EVP_PKEY_ED25519 || kind == EVP_PKEY_ED448 ? nullptr : EVP_sha256();
}

crypto::bytes sign(EVP_PKEY* key, crypto::bytes_view statement) {
  const digest_context context(EVP_MD_CTX_new());
  std::size_t size = 0;
  if (!context || EVP_DigestSignInit(context.get(), nullptr, hash_for(key), nullptr, key) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, statement.data(), statement.size()) != 1)
    return {};
  crypto::bytes signature(size);
  if (EVP_DigestSign(context.get(), signature.data(), &size, statement.data(), statement.size()) != 1) return {};
  signature.resize(size);
  return signature;
}

/// A certificate that was checked once.
struct known_certificate {
  std::string refused;  ///< why; empty: it is good
  tls::x509_ptr certificate;
  tls::node_identity identity = {};
};

/// What checks the neighbours' certificates.
class certificate_book {
 public:
  certificate_book(std::vector<tls::x509_ptr> authorities, std::filesystem::path file)
      : authorities_(std::move(authorities)), file_(std::move(file)) {}

  std::string check(std::uint32_t client, crypto::bytes_view certificate, crypto::bytes_view statement,
                    crypto::bytes_view signature) {
    constexpr std::size_t most = 4096;
    if (known_.size() > most) known_.clear();
    const std::string text(certificate.begin(), certificate.end());
    auto at = known_.find(text);
    if (at == known_.end()) at = known_.emplace(text, look_at(certificate)).first;
    const auto& of = at->second;
    if (!of.refused.empty()) return of.refused;
    if (!of.identity.clients.contains(client)) return "the certificate of " + of.identity.name + " is not for it";
    auto* const key = X509_get0_pubkey(of.certificate.get());
    const digest_context context(EVP_MD_CTX_new());
    if (key == nullptr || !context || EVP_DigestVerifyInit(context.get(), nullptr, hash_for(key), nullptr, key) != 1 ||
        EVP_DigestVerify(context.get(), signature.data(), signature.size(), statement.data(), statement.size()) != 1)
      return "the signature of " + of.identity.name + " is false";
    return {};
  }

 private:
  [[nodiscard]] known_certificate look_at(crypto::bytes_view text) const {
    known_certificate made;
    const auto* at = text.data();
    made.certificate.reset(d2i_X509(nullptr, &at, static_cast<long>(text.size())));
    if (!made.certificate || at != text.data() + text.size()) {
      static_cast<void>(tls::openssl_reason());
      made.refused = "it has no certificate";
      return made;
    }
    const std::filesystem::path place = "a neighbour's certificate";
    const auto sound =
        tls::check_chain(*made.certificate, place, authorities_, file_, tls::tls_side::client, tls::wall_clock());
    if (!sound) {
      made.refused = sound.error().text();
      return made;
    }
    const auto name = tls::common_name_of(*made.certificate, place.string());
    const auto identity = name ? tls::parse_common_name(*name) : tl::unexpected(name.error());
    if (identity)
      made.identity = *identity;
    else
      made.refused = identity.error().text();
    return made;
  }

  std::vector<tls::x509_ptr> authorities_;
  std::filesystem::path file_;
  std::map<std::string, known_certificate> known_;  ///< by their encoding
};

}  // namespace

result<federated::privacy::key_check> make_key_check(const tls::tier_credentials& gateway) {
  auto authorities = tls::read_authorities(gateway.authority);
  if (!authorities) return tl::unexpected(authorities.error());
  const auto book = std::make_shared<certificate_book>(std::move(*authorities), gateway.authority);
  return [book](std::uint32_t client, crypto::bytes_view certificate, crypto::bytes_view statement,
                crypto::bytes_view signature) { return book->check(client, certificate, statement, signature); };
}

result<federated::privacy::key_identity_ptr> make_key_identity(const tls::node_credentials& of) {
  auto certificates = tls::read_certificates(of.tier.certificate);
  if (!certificates) return tl::unexpected(certificates.error());
  auto key = tls::read_private_key(of.tier.key);
  if (!key) return tl::unexpected(key.error());
  auto check = make_key_check(of.tier);
  if (!check) return tl::unexpected(check.error());
  federated::privacy::key_identity made;
  unsigned char* encoded = nullptr;
  const int size = i2d_X509(certificates->front().get(), &encoded);
  if (size <= 0)
    return fail(error::kind::data, of.tier.certificate.string(), "cannot be encoded: " + tls::openssl_reason());
  made.certificate.assign(encoded, encoded + size);
  OPENSSL_free(encoded);
  made.sign = [own = std::shared_ptr<EVP_PKEY>(std::move(*key))](crypto::bytes_view statement) {
    return sign(own.get(), statement);
  };
  made.check = std::move(*check);
  return std::make_shared<const federated::privacy::key_identity>(std::move(made));
}

}  // namespace furlong::actors::federation
