#include "tests/net/test_pki.hpp"

#include <memory>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdexcept>

namespace furlong::tests {

namespace {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* what) const {
    Free(what);
  }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<BIO_free_all>>;

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(std::string("test_pki: ") + what);
}

void extend(X509* certificate, X509* issuer, int which, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* made = X509V3_EXT_conf_nid(nullptr, &context, which, value.c_str());
  must(made != nullptr && X509_add_ext(certificate, made, -1) == 1, value.c_str());
  X509_EXTENSION_free(made);
}

certificate_ptr blank(const std::string& common_name, EVP_PKEY* key, long begins, long ends, int serial) {
  certificate_ptr made(X509_new());
  must(made != nullptr, "no memory");
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), serial);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), begins);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), ends);
  X509_set_pubkey(made.get(), key);
  if (!common_name.empty())
    X509_NAME_add_entry_by_txt(X509_get_subject_name(made.get()), "CN", MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(common_name.data()),
                               static_cast<int>(common_name.size()), -1, 0);
  return made;
}

void write_key(const std::filesystem::path& file, EVP_PKEY* key) {
  const bio_ptr out(BIO_new_file(file.c_str(), "w"));
  must(out && PEM_write_bio_PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1, "key not written");
}
void write_certificate(const std::filesystem::path& file, X509* certificate) {
  const bio_ptr out(BIO_new_file(file.c_str(), "w"));
  must(out && PEM_write_bio_X509(out.get(), certificate) == 1, "certificate not written");
}
key_ptr read_key(const std::filesystem::path& file) {
  const bio_ptr in(BIO_new_file(file.c_str(), "r"));
  return key_ptr(PEM_read_bio_PrivateKey(in.get(), nullptr, nullptr, nullptr));
}
certificate_ptr read_certificate(const std::filesystem::path& file) {
  const bio_ptr in(BIO_new_file(file.c_str(), "r"));
  return certificate_ptr(PEM_read_bio_X509(in.get(), nullptr, nullptr, nullptr));
}

void make_authority(const std::filesystem::path& certificate_file, const std::filesystem::path& key_file,
                    const std::string& name) {
  const key_ptr key(EVP_EC_gen("P-256"));
  const auto made = blank(name, key.get(), -7200, 7200, 1);
  X509_set_issuer_name(made.get(), X509_get_subject_name(made.get()));
  extend(made.get(), made.get(), NID_basic_constraints, "critical,CA:TRUE");
  extend(made.get(), made.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  must(X509_sign(made.get(), key.get(), EVP_sha256()) > 0, "not signed");
  write_key(key_file, key.get());
  write_certificate(certificate_file, made.get());
}

std::string joined(const std::vector<std::string>& parts) {
  std::string all;
  for (const auto& part : parts) all += (all.empty() ? "" : ",") + part;
  return all;
}

}  // namespace

std::filesystem::path test_pki::certificate_of(const std::string& authority) const {
  return folder_ / (authority + ".pem");
}
std::filesystem::path test_pki::key_of(const std::string& authority) const {
  return folder_ / (authority + "-key.pem");
}

void test_pki::adopt(const std::filesystem::path& tier, const std::string& name) {
  std::filesystem::copy_file(tier / "authority.pem", certificate_of(name));
  std::filesystem::copy_file(tier / "authority-key.pem", key_of(name));
}

actors::net::tls_paths test_pki::issue(const certificate_request& request) {
  for (const auto& name : {request.authority, request.trusts})
    if (!std::filesystem::exists(certificate_of(name))) make_authority(certificate_of(name), key_of(name), name);
  const auto issuer = read_certificate(certificate_of(request.authority));
  const auto issuer_key = read_key(key_of(request.authority));
  const key_ptr key(EVP_EC_gen("P-256"));
  const auto made = blank(request.common_name, key.get(), request.begins, request.ends, ++issued_ + 1);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer.get()));
  extend(made.get(), issuer.get(), NID_ext_key_usage, request.use);
  if (!request.names.empty()) extend(made.get(), issuer.get(), NID_subject_alt_name, joined(request.names));
  must(X509_sign(made.get(), issuer_key.get(), EVP_sha256()) > 0, "not signed");
  const auto stem = "issued-" + std::to_string(issued_);
  actors::net::tls_paths paths{folder_ / (stem + ".pem"), folder_ / (stem + "-key.pem"),
                               certificate_of(request.trusts)};
  write_certificate(paths.certificate, made.get());
  write_key(paths.key, key.get());
  return paths;
}

actors::net::tls_paths test_pki::node(const std::string& common_name) {
  certificate_request request;
  request.common_name = common_name;
  return issue(request);
}
actors::net::tls_paths test_pki::gateway() {
  certificate_request request;
  request.common_name = "gateway";
  request.use = "serverAuth";
  request.names = {"DNS:localhost", "IP:127.0.0.1"};
  return issue(request);
}

}  // namespace furlong::tests
