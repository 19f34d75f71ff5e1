#include "actors/tls/chain.hpp"

#include <algorithm>
#include <openssl/x509_vfy.h>

#include "actors/tls/pem_files.hpp"

namespace furlong::actors::tls {

namespace fs = std::filesystem;

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
