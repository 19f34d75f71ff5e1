#include "actors/tls/certificate.hpp"

#include <arpa/inet.h>
#include <array>
#include <ctime>
#include <openssl/asn1.h>
#include <optional>

#include "actors/tls/pem_files.hpp"

namespace furlong::actors::tls {

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

}  // namespace furlong::actors::tls
