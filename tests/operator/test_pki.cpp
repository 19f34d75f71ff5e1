#include "tests/operator/test_pki.hpp"

#include <cstdio>
#include <cstdlib>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace furlong::tests {

namespace {

template <auto Free>
struct freed {
  template <class T>
  void operator()(T* object) const {
    Free(object);
  }
};
using key_pointer = std::unique_ptr<EVP_PKEY, freed<EVP_PKEY_free>>;
using certificate_pointer = std::unique_ptr<X509, freed<X509_free>>;

void must(bool worked, const char* what) {
  if (!worked) throw std::runtime_error(std::string("OpenSSL: ") + what);
}

key_pointer make_key() {
  key_pointer key(EVP_EC_gen("P-256"));
  must(key != nullptr, "key");
  return key;
}

void extend(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, what, value));
  must(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1, "extension");
}

/// @param issuer none: signs itself
certificate_pointer make_certificate(const std::string& name, int days, EVP_PKEY* key, X509* issuer, EVP_PKEY* signs) {
  static long serial = 0;
  constexpr long day = 24 * 60 * 60;
  certificate_pointer made(X509_new());
  must(made != nullptr, "certificate");
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), -30 * day);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), days * day);
  X509_set_pubkey(made.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer == nullptr ? made.get() : issuer));
  extend(made.get(), issuer == nullptr ? made.get() : issuer, NID_basic_constraints,
         issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE");
  must(X509_sign(made.get(), signs, EVP_sha256()) > 0, "signature");
  return made;
}

template <class Write>
void write_file(const std::filesystem::path& file, Write write) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  must(out != nullptr, "file");
  const bool written = write(out) == 1;
  must(std::fclose(out) == 0 && written, "writing");
}

}  // namespace

temporary_folder::temporary_folder() {
  auto name = (std::filesystem::temp_directory_path() / "furlong-operator-XXXXXX").string();
  must(::mkdtemp(name.data()) != nullptr, "temporary folder");
  path_ = name;
}

temporary_folder::~temporary_folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

struct test_authority::secrets {
  key_pointer key = make_key();
  certificate_pointer certificate = make_certificate("authority", 30, key.get(), nullptr, key.get());
};

test_authority::test_authority() : secrets_(std::make_unique<secrets>()) {
  write_file(folder_.path() / "authority.pem",
             [&](std::FILE* out) { return PEM_write_X509(out, secrets_->certificate.get()); });
}
test_authority::~test_authority() = default;

actors::links::operator_files test_authority::issue(const std::string& name, int days) const {
  const auto key = make_key();
  const auto certificate = make_certificate(name, days, key.get(), secrets_->certificate.get(), secrets_->key.get());
  actors::links::operator_files files{folder_.path() / (name + ".pem"), folder_.path() / (name + "-key.pem"),
                                      folder_.path() / "authority.pem"};
  write_file(files.certificate, [&](std::FILE* out) { return PEM_write_X509(out, certificate.get()); });
  write_file(files.key, [&](std::FILE* out) {
    return PEM_write_PrivateKey(out, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return files;
}

}  // namespace furlong::tests
