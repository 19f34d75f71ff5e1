#include "tools/certs/make_certificate.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/pem.h>

namespace furlong::tools::certs {

using namespace actors::tls;

namespace {

tl::unexpected<error> openssl_failure(const std::string& doing) {
  return fail(error::kind::runtime, "OpenSSL", "cannot " + doing + ": " + openssl_reason());
}

bool add_entry(X509_NAME* name, int kind, const std::string& text) {
  return text.empty() ||
         X509_NAME_add_entry_by_NID(name, kind, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()), -1, 0) == 1;
}

bool add_extension(X509& certificate, X509V3_CTX& context, int kind, const char* value) {
  const extension_ptr made(X509V3_EXT_nconf_nid(nullptr, &context, kind, value));
  return made && X509_add_ext(&certificate, made.get(), -1) == 1;
}

general_name_ptr make_general_name(const host_name& host) {
  general_name_ptr name(GENERAL_NAME_new());
  if (!name) return nullptr;
  if (host.address) {
    auto* address = a2i_IPADDRESS(host.text.c_str());
    if (address == nullptr) return nullptr;
    GENERAL_NAME_set0_value(name.get(), GEN_IPADD, address);
    return name;
  }
  auto* text = ASN1_IA5STRING_new();
  if (text == nullptr || ASN1_STRING_set(text, host.text.data(), static_cast<int>(host.text.size())) != 1) {
    ASN1_IA5STRING_free(text);
    return nullptr;
  }
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, text);
  return name;
}

bool add_hosts(X509& certificate, const std::vector<host_name>& hosts) {
  if (hosts.empty()) return true;
  const general_names_ptr names(GENERAL_NAMES_new());
  for (const auto& host : hosts) {
    auto name = make_general_name(host);
    if (!names || !name || sk_GENERAL_NAME_push(names.get(), name.get()) <= 0) return false;
    static_cast<void>(name.release());  // the list owns it now
  }
  return X509_add1_ext_i2d(&certificate, NID_subject_alt_name, names.get(), 0, 0) == 1;
}

/// What it may be used for (RFC 5280, 4.2.1), so that no other use is accepted.
bool add_uses(X509& certificate, X509V3_CTX& context, purpose use) {
  if (use == purpose::authority)
    return add_extension(certificate, context, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
           add_extension(certificate, context, NID_key_usage, "critical,keyCertSign,cRLSign");
  const char* extended = use == purpose::client   ? "clientAuth"
                         : use == purpose::server ? "serverAuth"
                                                  : "clientAuth,serverAuth";
  return add_extension(certificate, context, NID_basic_constraints, "critical,CA:FALSE") &&
         add_extension(certificate, context, NID_key_usage, "critical,digitalSignature") &&
         add_extension(certificate, context, NID_ext_key_usage, extended);
}

bool fill_head(X509& certificate, const certificate_spec& spec, EVP_PKEY& key) {
  return X509_set_version(&certificate, X509_VERSION_3) == 1 &&
         ASN1_INTEGER_set_uint64(X509_get_serialNumber(&certificate), spec.serial) == 1 &&
         ASN1_TIME_set(X509_getm_notBefore(&certificate), spec.not_before.time_since_epoch().count()) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(&certificate), spec.not_after.time_since_epoch().count()) != nullptr &&
         add_entry(X509_get_subject_name(&certificate), NID_commonName, spec.common_name) &&
         add_entry(X509_get_subject_name(&certificate), NID_organizationalUnitName, spec.role) &&
         X509_set_pubkey(&certificate, &key) == 1;
}

template <class Write>
result<std::string> write_pem(Write write) {
  const bio_ptr out(BIO_new(BIO_s_secmem()));
  if (!out || write(out.get()) != 1) return openssl_failure("write PEM");
  char* data = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &data);
  return std::string(data, static_cast<std::size_t>(size));
}

constexpr std::size_t longest_dns_name = 253;
constexpr std::size_t longest_label = 63;

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_label(std::string_view text) {
  return !text.empty() && text.size() <= longest_label && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '-'; });
}

bool is_dns_name(std::string_view text) {
  if (text.empty() || text.size() > longest_dns_name) return false;
  for (;;) {
    const auto dot = text.find('.');
    if (!is_label(text.substr(0, dot))) return false;
    // A last label of digits is a mistyped address.
    if (dot == std::string_view::npos) return !std::all_of(text.begin(), text.end(), is_digit);
    text.remove_prefix(dot + 1);
  }
}

}  // namespace

result<key_ptr> make_key() {
  key_ptr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("make a key");
  return key;
}

result<x509_ptr> make_certificate(const certificate_spec& spec, EVP_PKEY& key, const X509* issuer,
                                  EVP_PKEY& issuer_key) {
  x509_ptr made(X509_new());
  if (!made || !fill_head(*made, spec, key)) return openssl_failure("make a certificate");
  const X509* parent = issuer != nullptr ? issuer : made.get();
  X509V3_CTX context;
  X509V3_set_ctx(&context, const_cast<X509*>(parent), made.get(), nullptr, nullptr, 0);  // only reads it
  const bool good = X509_set_issuer_name(made.get(), X509_get_subject_name(parent)) == 1 &&
                    add_uses(*made, context, spec.use) &&
                    add_extension(*made, context, NID_subject_key_identifier, "hash") &&
                    add_extension(*made, context, NID_authority_key_identifier, "keyid:always") &&
                    add_hosts(*made, spec.hosts) && X509_sign(made.get(), &issuer_key, EVP_sha256()) > 0;
  if (!good) return openssl_failure("make a certificate");
  return made;
}

result<std::string> to_pem(const X509& certificate) {
  return write_pem([&](BIO* out) { return PEM_write_bio_X509(out, &certificate); });
}

result<std::string> to_pem(const EVP_PKEY& key) {
  return write_pem(
      [&](BIO* out) { return PEM_write_bio_PKCS8PrivateKey(out, &key, nullptr, nullptr, 0, nullptr, nullptr); });
}

result<host_name> parse_host(std::string_view text) {
  const std::string whole(text);
  in6_addr ignored{};
  const bool no_zeros = whole.find('\0') == std::string::npos;
  if (no_zeros &&
      (::inet_pton(AF_INET, whole.c_str(), &ignored) == 1 || ::inet_pton(AF_INET6, whole.c_str(), &ignored) == 1))
    return host_name{whole, true};
  if (!is_dns_name(text))
    return fail(error::kind::usage, "--host " + whole, "is neither a host name nor an address",
                "write it without port, brackets and wildcards, such as gateway.example.org or 192.0.2.7");
  host_name name{whole, false};
  for (auto& c : name.text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return name;
}

}  // namespace furlong::tools::certs
