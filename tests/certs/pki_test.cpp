// Making authorities and certificates: what is written, and what is refused.
#include "tools/certs/pki.hpp"

#include <openssl/x509_vfy.h>
#include <set>
#include <thread>

#include "actors/tls/credentials.hpp"
#include "actors/tls/deny_list.hpp"
#include "actors/tls/pem_files.hpp"
#include "tests/certs/support.hpp"
#include "tools/certs/listing.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(pki)

using std::chrono::days;
using std::chrono::hours;

namespace {

/// All files and folders below, with their modes.
std::set<std::string> tree_of(const fs::path& root) {
  std::set<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    std::array<char, 8> mode{};
    std::snprintf(mode.data(), mode.size(), "%03o", mode_of(entry.path()));
    found.insert(entry.path().lexically_relative(root).string() + ' ' + mode.data());
  }
  return found;
}

const certs::listed& row_of(const certs::listing& all, const std::string& role, const std::string& tier) {
  for (const auto& row : all.rows)
    if (row.role == role && row.tier == tier) return row;
  BOOST_FAIL("no " + role + " in " + tier);
  return all.rows.front();
}

bool has_extension(const X509& of, int kind, bool critical) {
  const int at = X509_get_ext_by_NID(&of, kind, -1);
  return at >= 0 && (X509_EXTENSION_get_critical(X509_get_ext(&of, at)) == 1) == critical;
}

}  // namespace

BOOST_AUTO_TEST_CASE(init_makes_two_authorities_for_their_owner_alone) {
  const federation all;
  BOOST_TEST(mode_of(all.pki_path()) == 0700U);
  const std::set<std::string> expected = {
      "clients 700",           "clients/authority-key.pem 600",  "clients/authority.pem 644",
      "clients/deny.txt 644",  "clients/index.jsonl 600",        "clients/serial 600",
      "operator 700",          "operator/authority-key.pem 600", "operator/authority.pem 644",
      "operator/deny.txt 644", "operator/index.jsonl 600",       "operator/serial 600"};
  BOOST_TEST(tree_of(all.pki_path()) == expected, boost::test_tools::per_element());
  for (const auto& tier : {all.pki().operators(), all.pki().clients()}) {
    const auto read = must(tls::read_certificates(tier.authority()));
    auto& own = *read.front();
    const auto facts = must(tls::read_facts(tier.authority()));
    BOOST_TEST(facts.common_name == facts.issuer);
    BOOST_TEST((facts.not_before == some_day - hours(1)));
    BOOST_TEST((facts.not_after == some_day + days(3650)));
    BOOST_TEST(X509_check_ca(&own) == 1);
    BOOST_TEST(X509_get_pathlen(&own) == 0);
    BOOST_TEST(has_extension(own, NID_basic_constraints, true));
    BOOST_TEST(X509_get_key_usage(&own) == unsigned{KU_KEY_CERT_SIGN | KU_CRL_SIGN});
    BOOST_TEST(EVP_PKEY_is_a(X509_get0_pubkey(&own), "EC"));
    BOOST_TEST(EVP_PKEY_get_bits(X509_get0_pubkey(&own)) == 256);
    BOOST_TEST(X509_check_private_key(&own, must(tls::read_private_key(tier.key())).get()) == 1);
  }
  const auto one = must(tls::read_facts(all.pki().operators().authority()));
  const auto other = must(tls::read_facts(all.pki().clients().authority()));
  BOOST_TEST(one.common_name != other.common_name);
}

BOOST_AUTO_TEST_CASE(init_spares_what_is_there) {
  const temporary_folder folder;
  must_fail(certs::pki::create(folder.path() / "new", 0), "--days");
  must_fail(certs::pki::create(folder.path() / "new", 36'501), "--days");
  BOOST_TEST(!fs::exists(folder / "new"));
  fs::create_directories(folder / "full");
  write_file(folder / "full" / "notes", "mine");
  BOOST_TEST((must_fail(certs::pki::create(folder / "full"), "not an empty folder").what == error::kind::usage));
  BOOST_TEST(read_file(folder / "full" / "notes") == "mine");
  must_fail(certs::pki::create(folder / "full" / "notes"), "not an empty folder");
  fs::create_directories(folder / "empty");
  must(certs::pki::create(folder / "empty" / ""));
  must(certs::pki::create(folder / "a" / "b" / "c"));
  const auto left = std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator());
  BOOST_TEST(left == 3, "a staged folder is left");
  must_fail(certs::pki::create(folder / "empty"), "not an empty folder");
}

BOOST_AUTO_TEST_CASE(a_node_gets_three_files) {
  const federation all;
  const auto folder = all.node("rack-3", 100, 149);
  BOOST_TEST(mode_of(folder) == 0700U);
  const std::set<std::string> expected = {"authority.pem 644", "certificate.pem 644", "key.pem 600"};
  BOOST_TEST(tree_of(folder) == expected, boost::test_tools::per_element());
  BOOST_TEST(read_file(folder / "authority.pem") == read_file(all.pki().clients().authority()));
  const auto loaded = must(tls::load_node_credentials(folder, all.now));
  BOOST_TEST((loaded.identity == tls::node_identity{"rack-3", {100, 149}, 2}));
  BOOST_TEST(loaded.tier.facts.common_name == "rack-3/100-149/2");
  BOOST_TEST(loaded.tier.facts.role == "node");
  BOOST_TEST(loaded.tier.facts.serial == 2U);
  BOOST_TEST((loaded.tier.facts.not_after == some_day + days(365)));
  BOOST_TEST(loaded.tier.facts.hosts.empty());
  BOOST_TEST(loaded.notes.empty());
  BOOST_TEST(read_file(all.pki().clients().serial()) == "3\n");
  const auto index = must(certs::read_index(all.pki().clients().index()));
  BOOST_REQUIRE(index.size() == 1U);
  BOOST_TEST((index.front() == certs::issued{2, "rack-3", "node", {{100, 149}}, some_day + days(365)}));
  BOOST_TEST(read_file(all.pki().clients().index()) ==
             R"({"serial":2,"name":"rack-3","role":"node","clients":"100-149","not_after":")" +
                 tls::to_string(some_day + days(365)) + "\"}\n");
}

BOOST_AUTO_TEST_CASE(a_server_gets_a_certificate_of_each_tier) {
  const federation all;
  const auto folder = all.server("head", {"Gateway.example.org", "192.0.2.7", "::1", "192.0.2.7"});
  const std::set<std::string> expected = {
      "deny.txt 644",        "gateway 700",  "gateway/authority.pem 644",  "gateway/certificate.pem 644",
      "gateway/key.pem 600", "operator 700", "operator/authority.pem 644", "operator/certificate.pem 644",
      "operator/key.pem 600"};
  BOOST_TEST(tree_of(folder) == expected, boost::test_tools::per_element());
  const auto loaded = must(tls::load_operator_credentials(folder, all.now));
  BOOST_TEST(loaded.operator_tier.facts.common_name == "head");
  BOOST_TEST(loaded.operator_tier.facts.role == "server");
  BOOST_TEST(has(loaded.operator_tier.facts.issuer, "operator"));
  BOOST_TEST(loaded.operator_tier.facts.as_client);
  BOOST_TEST(loaded.operator_tier.facts.as_server);
  BOOST_TEST(has(loaded.gateway.facts.issuer, "clients"));
  BOOST_TEST(!loaded.gateway.facts.as_client);
  BOOST_TEST(loaded.gateway.facts.as_server);
  const std::vector<std::string> hosts = {"gateway.example.org", "192.0.2.7", "::1"};
  BOOST_TEST(loaded.gateway.facts.hosts == hosts, boost::test_tools::per_element());
  BOOST_TEST(loaded.operator_tier.facts.hosts == hosts, boost::test_tools::per_element());
  const auto read = must(tls::read_certificates(loaded.gateway.certificate));
  BOOST_TEST(X509_check_host(read.front().get(), "gateway.example.org", 0, 0, nullptr) == 1);
  BOOST_TEST(X509_check_host(read.front().get(), "head", 0, 0, nullptr) == 0);
  BOOST_TEST(X509_check_ip_asc(read.front().get(), "192.0.2.7", 0) == 1);
  BOOST_TEST(X509_check_ip_asc(read.front().get(), "127.0.0.1", 0) == 0);
  const auto local = must(tls::load_operator_credentials(all.server("other"), all.now));
  BOOST_TEST((local.gateway.facts.hosts == std::vector<std::string>{"localhost", "127.0.0.1"}));
}

BOOST_AUTO_TEST_CASE(certificates_pass_the_strict_rules_of_x509) {
  const federation all(tls::wall_clock());
  const auto server = all.server();
  const auto node = all.node();
  for (const auto& [folder, purpose] : {std::pair{node, X509_PURPOSE_SSL_CLIENT},
                                        {server / "gateway", X509_PURPOSE_SSL_SERVER},
                                        {server / "operator", X509_PURPOSE_SSL_SERVER},
                                        {server / "operator", X509_PURPOSE_SSL_CLIENT}}) {
    const auto own = must(tls::read_certificates(folder / "certificate.pem"));
    const auto authority = must(tls::read_certificates(folder / "authority.pem"));
    const tls::certificate_store_ptr trusted(X509_STORE_new());
    BOOST_TEST(X509_STORE_add_cert(trusted.get(), authority.front().get()) == 1);
    const tls::verification_ptr check(X509_STORE_CTX_new());
    BOOST_TEST(X509_STORE_CTX_init(check.get(), trusted.get(), own.front().get(), nullptr) == 1);
    X509_STORE_CTX_set_flags(check.get(), X509_V_FLAG_X509_STRICT | X509_V_FLAG_CHECK_SS_SIGNATURE);
    X509_STORE_CTX_set_purpose(check.get(), purpose);
    BOOST_TEST(X509_verify_cert(check.get()) == 1,
               folder << ": " << X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get())));
    BOOST_TEST(X509_get_key_usage(own.front().get()) == unsigned{KU_DIGITAL_SIGNATURE});
    BOOST_TEST(has_extension(*own.front(), NID_basic_constraints, true));
    BOOST_TEST(X509_check_ca(own.front().get()) == 0);
  }
}

BOOST_AUTO_TEST_CASE(wrong_requests_are_refused_and_leave_nothing) {
  const federation all;
  const auto refused = [&](auto change, const std::string& why) {
    auto request = all.node_request("rack", 0, 9);
    change(request);
    BOOST_TEST((must_fail(all.pki().issue(request), why).what == error::kind::usage));
    BOOST_TEST(!fs::exists(request.out));
  };
  using request = certs::issue_request;
  refused([](request& r) { r.name = "a/b"; }, "--name");
  refused([](request& r) { r.name = std::string(41, 'a'); }, "--name");
  refused([](request& r) { r.clients.reset(); }, "--clients");
  refused([](request& r) { r.hosts = {"localhost"}; }, "--host");
  refused([](request& r) { r.days = 0; }, "--days");
  refused([](request& r) { r.days = -3; }, "--days");
  refused([](request& r) { r.days = 3651; }, "at most 3650 days");
  refused([](request& r) { r.as = certs::role::server; }, "nodes only");
  refused([](request& r) { r.as = certs::role::server, r.clients.reset(), r.hosts = {"a:7"}; }, "--host a:7");
  BOOST_TEST(read_file(all.pki().clients().serial()) == "2\n");
}

BOOST_AUTO_TEST_CASE(common_names_stay_within_64_characters) {
  const federation all;
  auto request = all.node_request(std::string(40, 'a'), 4'000'000'000, 4'000'000'001);
  BOOST_TEST(must(all.pki().issue(request)).common_names.front().size() == 64U);
  write_file(all.pki().clients().serial(), "10\n");
  request = all.node_request(std::string(40, 'b'), 4'000'000'002, 4'000'000'003);
  must_fail(all.pki().issue(request), "choose a shorter --name");
}

BOOST_AUTO_TEST_CASE(a_folder_that_is_not_empty_is_spared) {
  const federation all;
  const auto first = all.node("one", 0, 9);
  const auto key = read_file(first / "key.pem");
  auto request = all.node_request("two", 10, 19);
  request.out = first;
  must_fail(all.pki().issue(request), "not an empty folder");
  BOOST_TEST(read_file(first / "key.pem") == key);
  // Nothing was used up.
  BOOST_TEST(read_file(all.pki().clients().serial()) == "3\n");
}

BOOST_AUTO_TEST_CASE(clients_belong_to_one_node) {
  const federation all;
  static_cast<void>(all.node("one", 100, 149));
  for (const auto& [first, last] : {std::pair{149U, 200U}, {0U, 100U}, {120U, 121U}, {0U, 999U}, {100U, 149U}}) {
    const auto why = must_fail(all.pki().issue(all.node_request("two", first, last)), "\"one\"");
    BOOST_TEST(has(why.text(), "one/100-149/2"));
  }
  static_cast<void>(all.node("two", 150, 199));
  static_cast<void>(all.node("three", 0, 99));
  // A node may have several ranges, and gets the same one again when it renews. Another one that overlaps is a mistake.
  static_cast<void>(all.node("one", 300, 309));
  static_cast<void>(all.node("one", 100, 149));
  must_fail(all.pki().issue(all.node_request("one", 100, 148)), "\"one\"");
  // Denied, it speaks for nobody.
  BOOST_TEST(must(all.pki().deny("one")).added.size() == 3U);
  static_cast<void>(all.node("four", 120, 139));
  must_fail(all.pki().issue(all.node_request("one", 100, 149)), "\"four\"");
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_frees_its_clients) {
  const federation all;
  static_cast<void>(all.node("one", 100, 149));
  const auto later = must(certs::pki::open(all.pki_path(), all.now + days(365) - std::chrono::seconds(1)));
  must_fail(later.issue(all.node_request("two", 100, 149)), "\"one\"");
  const auto after = must(certs::pki::open(all.pki_path(), all.now + days(365)));
  must(after.issue(all.node_request("two", 100, 149)));
}

BOOST_AUTO_TEST_CASE(deny_shuts_out_every_certificate_of_a_node) {
  const federation all;
  static_cast<void>(all.node("one", 0, 9));
  static_cast<void>(all.node("one", 0, 9));
  static_cast<void>(all.node("one.more", 10, 19));
  const auto server = all.server();
  BOOST_TEST((must_fail(all.pki().deny("on"), "no certificate").what == error::kind::usage));
  must_fail(all.pki().deny("head"), "no certificate was issued to a node");
  const auto first = must(all.pki().deny("one"));
  BOOST_TEST((first.added == std::vector<std::string>{"one/0-9/2", "one/0-9/3"}));
  BOOST_TEST(first.before == 0U);
  const auto list = must(tls::deny_list::load(all.pki().clients().deny()));
  BOOST_TEST(list->size() == 2U);
  BOOST_TEST(list->contains("one/0-9/3"));
  BOOST_TEST(!list->contains("one.more/10-19/4"));
  const auto again = must(all.pki().deny("one"));
  BOOST_TEST(again.added.empty());
  BOOST_TEST(again.before == 2U);
  // A new certificate lets it in again, unless the bare name is denied.
  const auto back = must(tls::load_node_credentials(all.node("one", 0, 9), all.now));
  BOOST_TEST(!list->contains(back.tier.facts.common_name));
  write_file(all.pki().clients().deny(), read_file(all.pki().clients().deny()) + "one");
  must_fail(all.pki().issue(all.node_request("one", 0, 9)), "denied for good");
  BOOST_TEST(must(all.pki().deny("one.more")).added.size() == 1U);  // behind a last line without end
  BOOST_TEST(must(tls::deny_list::load(all.pki().clients().deny()))->size() == 4U);
  // To the gateways.
  BOOST_TEST(must(tls::deny_list::load(server / "deny.txt"))->size() == 0U);
  must(all.pki().copy_deny_list(server));
  BOOST_TEST(must(tls::deny_list::load(server / "deny.txt"))->size() == 4U);
  must_fail(all.pki().copy_deny_list(all.folder.path()), "is not the folder of a server");
  // Those made from now on have it from the start.
  BOOST_TEST(must(tls::deny_list::load(all.server("late") / "deny.txt"))->size() == 4U);
}

BOOST_AUTO_TEST_CASE(serials_are_never_used_twice) {
  const federation all;
  std::vector<std::thread> issuers;
  std::atomic<int> failures = 0;
  std::vector<certs::issue_request> requests;
  for (std::uint32_t i = 0; i < 8; ++i) requests.push_back(all.node_request("n" + std::to_string(i), i, i));
  for (const auto& request : requests)
    issuers.emplace_back([&all, &failures, &request] {
      const auto in = certs::pki::open(all.pki_path(), all.now);
      if (!in || !in->issue(request)) ++failures;
    });
  for (auto& one : issuers) one.join();
  BOOST_TEST(failures == 0);
  std::set<std::uint64_t> serials;
  for (const auto& one : must(certs::read_index(all.pki().clients().index()))) serials.insert(one.serial);
  BOOST_TEST(serials.size() == 8U);
  // The counter was restored from an older copy.
  write_file(all.pki().clients().serial(), "2\n");
  const auto next = must(tls::load_node_credentials(all.node("late", 50, 59), all.now));
  BOOST_TEST(next.identity.serial == *serials.rbegin() + 1);
  write_file(all.pki().clients().serial(), "two\n");
  must_fail(all.pki().issue(all.node_request("later", 60, 69)), "is not a number");
}

BOOST_AUTO_TEST_CASE(a_damaged_folder_is_told) {
  const federation all;
  static_cast<void>(all.node("one", 0, 9));
  const auto index = all.pki().clients().index();
  const auto whole = read_file(index);
  const std::vector<std::string> damaged = {whole.substr(0, whole.size() / 2), whole + "{}\n", whole + "[]\n",
                                            whole + R"({"serial":-1,"name":"a","role":"node","clients":"1-2"})"};
  for (const auto& text : damaged) {
    write_file(index, text);
    must_fail(all.pki().issue(all.node_request("two", 10, 19)), "index.jsonl, line");
    must_fail(all.pki().deny("one"), "index.jsonl, line");
  }
  write_file(index, whole);
  fs::copy_file(all.pki().operators().key(), all.pki().clients().key(), fs::copy_options::overwrite_existing);
  must_fail(all.pki().issue(all.node_request("two", 10, 19)), "is not the key of");
  fs::permissions(all.pki().clients().key(), fs::perms(0640));
  must_fail(all.pki().issue(all.node_request("two", 10, 19)), "chmod 600");
  const auto late = must(certs::pki::open(all.pki_path(), all.now + days(3651)));
  must_fail(late.issue(all.node_request("two", 10, 19)), "expired at");
  fs::remove(index);
  must_fail(certs::pki::open(all.pki_path()), "clients/index.jsonl");
  must_fail(certs::pki::open(all.folder / "nowhere"), "furlong certs init");
}

BOOST_AUTO_TEST_CASE(a_listing_says_what_is_there_and_how_it_stands) {
  const federation all;
  const auto node = all.node("one", 0, 9);
  const auto server = all.server();
  auto listing = must(certs::list_certificates(all.pki_path(), all.now));
  BOOST_TEST(listing.rows.size() == 5U);  // two authorities, a node, and a server's certificate of each tier
  BOOST_TEST(row_of(listing, "node", "clients").name == "one");
  BOOST_TEST(row_of(listing, "node", "clients").clients == "0-9");
  BOOST_TEST(row_of(listing, "node", "clients").state == "valid");
  BOOST_TEST(row_of(listing, "server", "operator").serial == 2U);
  BOOST_TEST(row_of(listing, "server", "clients").serial == 3U);
  static_cast<void>(must(all.pki().deny("one")));
  listing = must(certs::list_certificates(all.pki_path(), all.now + days(360)));
  BOOST_TEST(row_of(listing, "node", "clients").state == "denied");
  BOOST_TEST(row_of(listing, "server", "clients").state == "expires soon");
  BOOST_TEST(row_of(listing, "authority", "clients").state == "valid");
  listing = must(certs::list_certificates(server, all.now + days(366)));
  BOOST_TEST(row_of(listing, "server", "clients").state == "expired");
  BOOST_TEST(row_of(listing, "server", "clients").hosts.size() == 2U);
  BOOST_REQUIRE(listing.problem.has_value());
  BOOST_TEST(has(listing.problem->text(), "expired at"));
  listing = must(certs::list_certificates(node, all.now + days(360)));
  BOOST_TEST(!listing.problem.has_value());
  BOOST_TEST(listing.notes.size() == 1U);
  BOOST_TEST(row_of(listing, "node", "clients").clients == "0-9");
  must_fail(certs::list_certificates(all.folder / "nowhere"), "holds no certificates");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
