#include "actors/tls/certificate.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <ctime>
#include <openssl/asn1.h>
#include <openssl/x509_vfy.h>
#include <optional>

#include "actors/tls/pem_files.hpp"

namespace furlong::actors::tls {

namespace fs = std::filesystem;

namespace {

tl::unexpected<error> bad_certificate(const std::string& place, const std::string& why) {
  return fail(error::kind::data, place, why, "use a certificate made by furlong certs issue");
}

/// The only entry of this kind in a name, as UTF-8; nullopt if there is none or several.
std::optional<std::string> only_entry(const X509_NAME* name, int kind) {
  const int at = X509_NAME_get_index_by_NID(name, kind, -1);
  if (at < 0 || X509_NAME_get_index_by_NID(name, kind, at) >= 0) return std::nullopt;
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
  if (size < 0) return std::nullopt;
  std::string text(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return text;
}

std::optional<instant> read_time(const ASN1_TIME* from) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(from, &parts) != 1) return std::nullopt;
  return instant(std::chrono::seconds(::timegm(&parts)));
}

std::string read_address(const ASN1_OCTET_STRING& from) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(&from);
  if (size != 4 && size != 16) return "?";
  ::inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(&from), text.data(), text.size());
  return text.data();
}

std::vector<std::string> read_hosts(const X509& certificate) {
  const general_names_ptr names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::vector<std::string> hosts;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int kind = 0;
    const void* value = GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &kind);
    if (kind == GEN_IPADD) hosts.push_back(read_address(*static_cast<const ASN1_OCTET_STRING*>(value)));
    if (kind != GEN_DNS) continue;
    const auto* text = static_cast<const ASN1_IA5STRING*>(value);
    hosts.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                       static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  return hosts;
}

}  // namespace

instant wall_clock() { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); }

std::string to_string(instant when) {
  const std::time_t seconds = when.time_since_epoch().count();
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

result<std::string> common_name_of(const X509& certificate, const std::string& place) {
  const auto name = only_entry(X509_get_subject_name(&certificate), NID_commonName);
  if (!name) return bad_certificate(place, "does not have one common name");
  return *name;
}

result<certificate_facts> facts_of(const X509& certificate, const std::string& place) {
  certificate_facts facts;
  auto name = common_name_of(certificate, place);
  if (!name) return tl::unexpected(name.error());
  facts.common_name = std::move(*name);
  facts.role = only_entry(X509_get_subject_name(&certificate), NID_organizationalUnitName).value_or("");
  facts.issuer = only_entry(X509_get_issuer_name(&certificate), NID_commonName).value_or("");
  if (ASN1_INTEGER_get_uint64(&facts.serial, X509_get0_serialNumber(&certificate)) != 1) facts.serial = 0;
  const auto from = read_time(X509_get0_notBefore(&certificate));
  const auto until = read_time(X509_get0_notAfter(&certificate));
  if (!from || !until) return bad_certificate(place, "has no valid period of validity");
  facts.not_before = *from;
  facts.not_after = *until;
  // The flags are computed on first use and kept in the certificate, hence no const there.
  auto* with_flags = const_cast<X509*>(&certificate);
  if ((X509_get_extension_flags(with_flags) & EXFLAG_XKUSAGE) != 0) {
    const auto usage = X509_get_extended_key_usage(with_flags);
    facts.as_client = (usage & (XKU_SSL_CLIENT | XKU_ANYEKU)) != 0;
    facts.as_server = (usage & (XKU_SSL_SERVER | XKU_ANYEKU)) != 0;
  }
  facts.hosts = read_hosts(certificate);
  ERR_clear_error();
  return facts;
}

result<certificate_facts> read_facts(const std::filesystem::path& file) {
  const auto read = read_certificates(file);
  if (!read) return tl::unexpected(read.error());
  if (read->size() != 1)
    return bad_certificate(file.string(),
                           "holds " + std::to_string(read->size()) + " certificates where one is expected");
  return facts_of(*read->front(), file.string());
}

// ---- the chain
// -------------------------------------------------------------------------------------------------------

namespace {

/// The error of a failed verification, about the certificate or its authority.
error explain(X509_STORE_CTX& checked, const fs::path& file, const fs::path& authorities_file,
              const std::string& issuer, instant now) {
  const int code = X509_STORE_CTX_get_error(&checked);
  const bool about_authority = X509_STORE_CTX_get_error_depth(&checked) > 0;
  const auto place = (about_authority ? authorities_file : file).string();
  const char* renew = about_authority ? "make a new authority with furlong certs init, and issue new certificates"
                                      : "issue a new one with furlong certs issue";
  const X509* culprit = X509_STORE_CTX_get_current_cert(&checked);
  const auto facts = culprit != nullptr ? facts_of(*culprit, place) : tl::unexpected(error{});
  if (code == X509_V_ERR_CERT_HAS_EXPIRED && facts)
    return {error::kind::data, place, "the certificate expired at " + to_string(facts->not_after), renew};
  if (code == X509_V_ERR_CERT_NOT_YET_VALID && facts)
    return {error::kind::data, place,
            "the certificate is valid from " + to_string(facts->not_before) + ", and it is " + to_string(now),
            "set the clock of this machine"};
  if (code == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY || code == X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE ||
      code == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT)
    return {error::kind::data, file.string(),
            "was issued by \"" + issuer + "\", which is not an authority in " + authorities_file.string(),
            "take certificate and authority from one folder of furlong certs issue"};
  return {error::kind::data, place, std::string("is refused: ") + X509_verify_cert_error_string(code),
          "copy the file again, or issue a new certificate with furlong certs issue"};
}

}  // namespace

result<std::vector<x509_ptr>> read_authorities(const fs::path& file) {
  auto read = read_certificates(file);
  if (!read) return read;
  for (const auto& one : *read)
    if (X509_check_ca(one.get()) != 1)
      return fail(error::kind::data, file.string(), "holds a certificate that is not an authority's",
                  "take the authority.pem that furlong certs issue wrote");
  return read;
}

result<instant> check_chain(X509& certificate, const fs::path& file, const std::vector<x509_ptr>& authorities,
                            const fs::path& authorities_file, tls_side side, instant now) {
  const auto facts = facts_of(certificate, file.string());
  if (!facts) return tl::unexpected(facts.error());
  const certificate_store_ptr trusted(X509_STORE_new());
  const verification_ptr check(X509_STORE_CTX_new());
  for (const auto& one : authorities)
    if (X509_STORE_add_cert(trusted.get(), one.get()) != 1)
      return fail(error::kind::data, authorities_file.string(), openssl_reason(), "copy the file again");
  if (!check || X509_STORE_CTX_init(check.get(), trusted.get(), &certificate, nullptr) != 1)
    return fail(error::kind::runtime, file.string(), "cannot be checked: " + openssl_reason());
  auto* how = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_purpose(how, side == tls_side::client ? X509_PURPOSE_SSL_CLIENT : X509_PURPOSE_SSL_SERVER);
  X509_VERIFY_PARAM_set_time(how, now.time_since_epoch().count());
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_CHECK_SS_SIGNATURE);
  const bool good = X509_verify_cert(check.get()) == 1;
  ERR_clear_error();
  if (!good) return tl::unexpected(explain(*check, file, authorities_file, facts->issuer, now));
  instant until = facts->not_after;
  const auto* chain = X509_STORE_CTX_get0_chain(check.get());
  for (int i = 1; i < sk_X509_num(chain); ++i) {
    const auto above = facts_of(*sk_X509_value(chain, i), authorities_file.string());
    if (!above) return tl::unexpected(above.error());
    until = std::min(until, above->not_after);
  }
  return until;
}

}  // namespace furlong::actors::tls
