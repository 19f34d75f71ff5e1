// OpenSSL's objects, owned.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <string>

#include "base/openssl_ptr.hpp"

namespace furlong::actors::tls {

using furlong::openssl_ptr;

using x509_ptr = openssl_ptr<X509, X509_free>;
using key_ptr = openssl_ptr<EVP_PKEY, EVP_PKEY_free>;
using key_context_ptr = openssl_ptr<EVP_PKEY_CTX, EVP_PKEY_CTX_free>;
using bio_ptr = openssl_ptr<BIO, BIO_free_all>;
using general_names_ptr = openssl_ptr<GENERAL_NAMES, GENERAL_NAMES_free>;
using general_name_ptr = openssl_ptr<GENERAL_NAME, GENERAL_NAME_free>;
using extension_ptr = openssl_ptr<X509_EXTENSION, X509_EXTENSION_free>;
using certificate_store_ptr = openssl_ptr<X509_STORE, X509_STORE_free>;
using verification_ptr = openssl_ptr<X509_STORE_CTX, X509_STORE_CTX_free>;

/// OpenSSL's reason for the last failure on this thread; empties its queue of errors.
[[nodiscard]] inline std::string openssl_reason() {
  const char* reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason != nullptr ? reason : "OpenSSL gives no reason";
}

}  // namespace furlong::actors::tls
