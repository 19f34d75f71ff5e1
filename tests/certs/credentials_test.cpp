// What --tls accepts, and what it says about a folder that it does not.
#include "actors/tls/credentials.hpp"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/pem.h>

#include "actors/tls/pem_files.hpp"
#include "tests/certs/support.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(credentials)

using std::chrono::days;
using std::chrono::hours;
using std::chrono::seconds;

namespace {

void copy_over(const fs::path& from, const fs::path& to) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
}

/// A certificate as issue() would not make it, with a key, in place of those of a folder.
void forge(const federation& all, const fs::path& folder, certs::certificate_spec spec) {
  const auto tier = all.pki().clients();
  const auto authority = must(tls::read_certificates(tier.authority()));
  const auto authority_key = must(tls::read_private_key(tier.key()));
  const auto key = must(certs::make_key());
  spec.not_before = all.now - days(1);
  spec.not_after = all.now + days(100);
  const auto made = must(certs::make_certificate(spec, *key, authority.front().get(), *authority_key));
  write_file(folder / "certificate.pem", must(certs::to_pem(*made)));
  write_file(folder / "key.pem", must(certs::to_pem(*key)));
}

/// All that a TLS library would take from a node's folder: the certificates, and the private number of the key.
std::string content_of(const fs::path& node) {
  std::string all;
  for (const char* name : {"certificate.pem", "authority.pem"})
    all += must(certs::to_pem(*must(tls::read_certificates(node / name)).front()));
  const auto key = must(tls::read_private_key(node / "key.pem"));
  BIGNUM* number = nullptr;
  BOOST_REQUIRE(EVP_PKEY_get_bn_param(key.get(), OSSL_PKEY_PARAM_PRIV_KEY, &number) == 1);
  char* digits = BN_bn2hex(number);
  all += digits;
  OPENSSL_free(digits);
  BN_clear_free(number);
  return all;
}

/// All prefixes of a file, and a flipped bit in each of its bytes: whatever passes is what it was before.
void try_damage(const fs::path& node, const std::string& name, tls::instant now) {
  const auto whole = read_file(node / name);
  const auto content = content_of(node);
  std::size_t passed = 0;
  std::size_t wrong = 0;
  const auto attempt = [&](const std::string& changed) {
    write_file(node / name, changed);
    if (!tls::load_node_credentials(node, now)) return;
    ++passed;
    if (content_of(node) != content) ++wrong;
  };
  for (std::size_t size = 0; size + 1 < whole.size(); ++size) attempt(whole.substr(0, size));
  BOOST_TEST(passed == 0U, name << " cut off");
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ (1 << (at % 7)));
    attempt(changed);
  }
  BOOST_TEST(wrong == 0U, name << " changed");
  BOOST_TEST(passed < whole.size() / 10, name << " changed");  // what may pass: line ends, padding, a version
  write_file(node / name, whole);
  must(tls::load_node_credentials(node, now));
}

}  // namespace

BOOST_AUTO_TEST_CASE(certificates_are_valid_from_their_first_to_their_last_second) {
  const federation all;
  const auto node = all.node();
  const auto server = all.server();
  for (const auto at : {some_day - hours(1), some_day, some_day + days(365) - seconds(1)}) {
    must(tls::load_node_credentials(node, at));
    must(tls::load_operator_credentials(server, at));
  }
  const auto late = some_day + days(365);
  const auto expired = must_fail(tls::load_node_credentials(node, late), "expired at 2031-03-17T17:46:40Z");
  BOOST_TEST(expired.place == (node / "certificate.pem").string());
  BOOST_TEST(has(expired.fix, "furlong certs issue"));
  must_fail(tls::load_operator_credentials(server, late), "operator/certificate.pem: the certificate expired at");
  const auto early = some_day - hours(1) - seconds(1);
  must_fail(tls::load_node_credentials(node, early),
            "is valid from 2030-03-17T16:46:40Z, and it is 2030-03-17T16:46:39Z");
  must_fail(tls::load_operator_credentials(server, early), "clock");
}

BOOST_AUTO_TEST_CASE(an_expired_authority_is_told_as_such) {
  temporary_folder folder;
  const auto made_at = some_day;
  must(certs::pki::create(folder / "short", 30, made_at));
  certs::issue_request request;
  request.name = "rack";
  request.clients = {0, 9};
  request.days = 30;
  request.out = folder / "node";
  must(must(certs::pki::open(folder / "short", made_at)).issue(request));
  // The authority ends in the same second; a certificate that says otherwise cannot outlive it.
  const auto why = must_fail(tls::load_node_credentials(request.out, made_at + days(31)), "expired at");
  BOOST_TEST(has(why.place, "authority.pem"));
  BOOST_TEST(has(why.fix, "furlong certs init"));
}

BOOST_AUTO_TEST_CASE(what_expires_within_two_weeks_is_noted) {
  const federation all;
  const auto node = all.node();
  const auto server = all.server();
  const auto end = some_day + days(365);
  BOOST_TEST(must(tls::load_node_credentials(node, end - days(14) - seconds(1))).notes.empty());
  const auto notes = must(tls::load_node_credentials(node, end - days(14))).notes;
  BOOST_REQUIRE(notes.size() == 1U);
  BOOST_TEST(has(notes.front(), "certificate.pem: expires at 2031-03-17T17:46:40Z, in 14 days"));
  BOOST_TEST(must(tls::load_operator_credentials(server, end - days(2))).notes.size() == 2U);
}

BOOST_AUTO_TEST_CASE(missing_files_are_named) {
  const federation all;
  for (const char* name : {"certificate.pem", "key.pem", "authority.pem"}) {
    const auto folder =
        all.node("n" + std::string(1, name[0]), static_cast<unsigned>(name[0]), static_cast<unsigned>(name[0]));
    fs::remove(folder / name);
    const auto why = must_fail(tls::load_node_credentials(folder, all.now), "No such file");
    BOOST_TEST(why.place == (folder / name).string());
    BOOST_TEST((why.what == error::kind::data));
    fs::create_directory(folder / name);
    fs::permissions(folder / name, fs::perms::owner_all);
    must_fail(tls::load_node_credentials(folder, all.now), "is not a regular file");
  }
  const auto server = all.server();
  fs::remove(server / "deny.txt");
  must_fail(tls::load_operator_credentials(server, all.now), "deny list");
  must_fail(tls::load_node_credentials(all.folder / "nowhere", all.now), "is not a folder");
  must_fail(tls::load_operator_credentials(all.folder / "nowhere", all.now), "is not a folder");
}

BOOST_AUTO_TEST_CASE(roles_are_not_mixed_up) {
  const federation all;
  const auto node = all.node();
  const auto server = all.server();
  must_fail(tls::load_node_credentials(server, all.now), "folder of another role");
  must_fail(tls::load_operator_credentials(node, all.now), "folder of another role");
  must_fail(tls::load_node_credentials(server / "gateway", all.now),
            "serverAuth alone, and clientAuth alone is required");
  must_fail(tls::load_node_credentials(server / "operator", all.now),
            "clientAuth and serverAuth, and clientAuth alone");
  // The gateway's certificate towards servers, a node's as a gateway's.
  const auto mixed = all.server("mixed");
  for (const char* name : {"certificate.pem", "key.pem", "authority.pem"})
    copy_over(mixed / "gateway" / name, mixed / "operator" / name);
  must_fail(tls::load_operator_credentials(mixed, all.now), "serverAuth alone, and clientAuth and serverAuth");
  const auto posing = all.server("posing");
  for (const char* name : {"certificate.pem", "key.pem", "authority.pem"})
    copy_over(node / name, posing / "gateway" / name);
  must_fail(tls::load_operator_credentials(posing, all.now), "clientAuth alone, and serverAuth alone is required");
}

BOOST_AUTO_TEST_CASE(tiers_are_not_mixed_up) {
  const federation all;
  const auto server = all.server();
  const auto other = all.server("other");
  copy_over(server / "gateway" / "authority.pem", server / "operator" / "authority.pem");
  const auto why = must_fail(tls::load_operator_credentials(server, all.now), "is not an authority in");
  BOOST_TEST(has(why.text(), "furlong operator authority"));
  // Both authorities in one file would let every node in.
  write_file(other / "operator" / "authority.pem",
             read_file(other / "operator" / "authority.pem") + read_file(other / "gateway" / "authority.pem"));
  must_fail(tls::load_operator_credentials(other, all.now), "each of them could open the operator's port");
  // Another federation's.
  const federation stranger;
  const auto node = all.node();
  copy_over(stranger.pki().clients().authority(), node / "authority.pem");
  must_fail(tls::load_node_credentials(node, all.now), "is not an authority in");
  // A certificate is not an authority.
  copy_over(node / "certificate.pem", node / "authority.pem");
  must_fail(tls::load_node_credentials(node, all.now), "not an authority's");
}

BOOST_AUTO_TEST_CASE(while_authorities_change_both_may_be_trusted) {
  const federation all;
  const federation successor;
  const auto node = all.node();
  write_file(node / "authority.pem",
             read_file(successor.pki().clients().authority()) + read_file(all.pki().clients().authority()));
  must(tls::load_node_credentials(node, all.now));
}

BOOST_AUTO_TEST_CASE(the_key_must_be_the_certificates_and_its_owners) {
  const federation all;
  const auto node = all.node();
  const auto other = all.node("other", 0, 9);
  const auto whole = read_file(node / "key.pem");
  copy_over(other / "key.pem", node / "key.pem");
  const auto why = must_fail(tls::load_node_credentials(node, all.now), "is not the key of");
  BOOST_TEST(why.place == (node / "key.pem").string());
  write_file(node / "key.pem", whole);
  for (const unsigned mode : {0640U, 0604U, 0660U, 0601U}) {
    fs::permissions(node / "key.pem", fs::perms(mode));
    must_fail(tls::load_node_credentials(node, all.now), "chmod 600 " + (node / "key.pem").string());
  }
  fs::permissions(node / "key.pem", fs::perms(0400));
  must(tls::load_node_credentials(node, all.now));
  fs::permissions(node / "key.pem", fs::perms(0600));
  write_file(node / "key.pem", read_file(node / "certificate.pem"));
  must_fail(tls::load_node_credentials(node, all.now), "holds no private key");
  write_file(node / "key.pem", whole);
  write_file(node / "certificate.pem", read_file(node / "certificate.pem") + whole);
  must_fail(tls::load_node_credentials(node, all.now), "something other than certificates");
}

BOOST_AUTO_TEST_CASE(an_encrypted_key_is_refused_without_asking) {
  const federation all;
  const auto node = all.node();
  const auto key = must(tls::read_private_key(node / "key.pem"));
  const tls::bio_ptr out(BIO_new(BIO_s_mem()));
  BOOST_REQUIRE(PEM_write_bio_PKCS8PrivateKey(out.get(), key.get(), EVP_aes_128_cbc(), "word", 4, nullptr, nullptr) ==
                1);
  char* text = nullptr;
  const auto size = BIO_get_mem_data(out.get(), &text);
  write_file(node / "key.pem", std::string(text, static_cast<std::size_t>(size)));
  must_fail(tls::load_node_credentials(node, all.now), "the key is encrypted");
}

BOOST_AUTO_TEST_CASE(a_node_is_named_as_nodes_are) {
  const federation all;
  const auto node = all.node();
  forge(all, node, {"rack-3/100-149/9", "node", 9, {}, {}, certs::purpose::client, {}});
  BOOST_TEST(must(tls::load_node_credentials(node, all.now)).identity.serial == 9U);
  for (const char* name : {"rack-3", "rack-3/149-100/9", "rack-3/100-149/09"}) {
    forge(all, node, {name, "node", 9, {}, {}, certs::purpose::client, {}});
    const auto why = must_fail(tls::load_node_credentials(node, all.now), name);
    BOOST_TEST(has(why.place, "certificate.pem"));
  }
  forge(all, node, {"rack-3/100-149/9", "node", 9, {}, {}, certs::purpose::both, {}});
  must_fail(tls::load_node_credentials(node, all.now), "clientAuth and serverAuth, and clientAuth alone");
  forge(all, node, {"", "node", 9, {}, {}, certs::purpose::client, {}});
  must_fail(tls::load_node_credentials(node, all.now), "does not have one common name");
  const auto server = all.server();
  forge(all, server / "gateway", {"head", "server", 9, {}, {}, certs::purpose::server, {}});
  must_fail(tls::load_operator_credentials(server, all.now), "names no host");
}

BOOST_AUTO_TEST_CASE(a_certificate_of_a_certificate_is_refused) {
  const federation all;
  const auto node = all.node();
  const auto own = must(tls::read_certificates(node / "certificate.pem"));
  const auto own_key = must(tls::read_private_key(node / "key.pem"));
  const auto key = must(certs::make_key());
  // A node makes itself one for all clients.
  const auto made =
      must(certs::make_certificate({"evil/0-999/1", "node", 1, all.now, all.now + days(1), certs::purpose::client, {}},
                                   *key, own.front().get(), *own_key));
  const auto evil = all.node("evil", 0, 9);
  write_file(evil / "key.pem", must(certs::to_pem(*key)));
  write_file(evil / "certificate.pem", must(certs::to_pem(*made)));
  must_fail(tls::load_node_credentials(evil, all.now), "is not an authority in");
  write_file(evil / "certificate.pem", must(certs::to_pem(*made)) + read_file(node / "certificate.pem"));
  must_fail(tls::load_node_credentials(evil, all.now), "holds 2 certificates where one is expected");
}

BOOST_AUTO_TEST_CASE(damaged_files_are_refused) {
  const federation all;
  const auto node = all.node();
  for (const char* name : {"certificate.pem", "key.pem", "authority.pem"}) try_damage(node, name, all.now);
  for (const std::string& noise : {std::string(), std::string(2'000'000, 'x'), std::string(1'000, '\0'),
                                   std::string("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n")})
    for (const char* name : {"certificate.pem", "key.pem", "authority.pem"}) {
      const auto whole = read_file(node / name);
      write_file(node / name, noise);
      const auto why = must_fail(tls::load_node_credentials(node, all.now), "");
      BOOST_TEST(has(why.place, name));
      write_file(node / name, whole);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
