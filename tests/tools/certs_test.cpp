// furlong certs: what it prints, what it writes and how it ends.
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_certs)

using namespace furlong::tests;

namespace {

using words = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// furlong certs, in a folder with authorities.
struct authorities {
  scratch_folder folder;
  std::string pki = (folder / "pki").string();

  authorities() { BOOST_REQUIRE(run({"init", "--out", pki}).code == 0); }
  command_result run(words arguments) const {
    arguments.insert(arguments.begin(), "certs");
    return run_furlong(folder, arguments);
  }
  command_result issue(const std::string& role, const std::string& name, const words& more = {}) const {
    words line = {"issue", "--pki", pki, "--role", role, "--name", name, "--out", (folder / name).string()};
    line.insert(line.end(), more.begin(), more.end());
    return run(line);
  }
  nlohmann::json show(const std::string& place) const {
    return nlohmann::json::parse(run({"show", place, "--format", "json"}).out);
  }
};

std::string state_of(const nlohmann::json& shown, const std::string& name) {
  for (const auto& row : shown["certificates"])
    if (row["name"] == name) return row["state"];
  return "absent";
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_the_command_line_gets_wrong_is_named) {
  const authorities all;
  const auto boss = all.issue("boss", "head");
  BOOST_TEST(boss.code == 2);
  BOOST_TEST(boss.err.starts_with("furlong: --role: \"boss\" is none of these: aggregator, node, server\n"), boss.err);
  const auto number = all.issue("1", "head");
  BOOST_TEST(number.code == 2);
  const auto range = all.issue("node", "rack", {"--clients", "9-1"});
  BOOST_TEST(range.code == 2);
  BOOST_TEST(range.err.starts_with("furlong: --clients: "), range.err);
  BOOST_TEST(all.run({"issue"}).err.starts_with("furlong: "));
}

BOOST_AUTO_TEST_CASE(certificates_are_made_shown_and_denied) {
  const authorities all;
  const auto head =
      all.issue("server", "head", {"--host", "gateway.example.org", "--host", "192.0.2.7", "--days", "90"});
  BOOST_REQUIRE_MESSAGE(head.code == 0, head.err);
  BOOST_TEST(has(head.out, "gateway.example.org, 192.0.2.7"));
  BOOST_REQUIRE(all.issue("aggregator", "west").code == 0);
  const auto rack = all.issue("node", "rack-3", {"--clients", "100-149"});
  BOOST_REQUIRE_MESSAGE(rack.code == 0, rack.err);
  BOOST_TEST(has(rack.out, "rack-3/100-149/4, valid until"));

  const auto server = all.show((all.folder / "head").string());
  BOOST_TEST(server["problem"].is_null());
  BOOST_TEST(server["certificates"].size() == 4U);
  BOOST_TEST(state_of(server, "head") == "valid");
  const auto listed = all.show(all.pki);
  BOOST_TEST(listed["certificates"].size() == 7U);
  BOOST_TEST(state_of(listed, "rack-3") == "valid");
  BOOST_TEST(has(all.run({"show", all.pki}).out, "rack-3, clients 100-149"));

  const auto denied = all.run({"deny", "--pki", all.pki, "rack-3", "--copy-to", (all.folder / "head").string(),
                               "--copy-to", (all.folder / "west").string()});
  BOOST_TEST(denied.code == 0, denied.err);
  BOOST_TEST(has(denied.out, "denied rack-3/100-149/4\n"));
  BOOST_TEST(has(denied.out, "clients/deny.txt"));
  BOOST_TEST(state_of(all.show(all.pki), "rack-3") == "denied");
  for (const char* name : {"head", "west"})
    BOOST_TEST(has(read_file(all.folder / name / "deny.txt"), "\nrack-3/100-149/4  # denied at "));
  const auto again = all.run({"deny", "--pki", all.pki, "rack-3"});
  BOOST_TEST(again.code == 0);
  BOOST_TEST(has(again.out, "denied before: 1 certificates"));
}

BOOST_AUTO_TEST_CASE(mistakes_end_with_the_code_of_their_kind) {
  const authorities all;
  BOOST_REQUIRE(all.issue("node", "one", {"--clients", "0-9"}).code == 0);
  const auto overlap = all.issue("node", "two", {"--clients", "9-19"});
  BOOST_TEST(overlap.code == 2);
  BOOST_TEST(has(overlap.err, "overlaps the clients of \"one\""));
  BOOST_TEST(all.issue("node", "two").code == 2);
  BOOST_TEST(all.issue("node", "two", {"--clients", "9"}).code == 2);
  BOOST_TEST(all.issue("node", "two", {"--clients", "10-19", "--days", "0"}).code == 2);
  BOOST_TEST(all.issue("guest", "two").code == 2);
  BOOST_TEST(all.issue("server", "two/three").code == 2);
  BOOST_TEST(all.run({"init", "--out", all.pki}).code == 2);
  BOOST_TEST(all.run({"deny", "--pki", all.pki, "nobody"}).code == 2);
  BOOST_TEST(all.run({"deny", "--pki", (all.folder / "nowhere").string(), "one"}).code == 3);
  BOOST_TEST(all.run({"show", (all.folder / "nowhere").string()}).code == 3);
  BOOST_TEST(all.run({}).code == 2);
  // A folder that --tls would refuse.
  std::filesystem::permissions(all.folder / "one" / "key.pem", std::filesystem::perms(0644));
  const auto open = all.run({"show", (all.folder / "one").string()});
  BOOST_TEST(open.code == 3);
  BOOST_TEST(has(open.err, "chmod 600"));
  BOOST_TEST(has(open.out, "one, clients 0-9"));
}

BOOST_AUTO_TEST_CASE(certificates_last_as_long_as_told) {
  const authorities all;
  BOOST_REQUIRE(all.issue("node", "short", {"--clients", "0-9", "--days", "14"}).code == 0);
  const auto shown = all.run({"show", (all.folder / "short").string(), "--format", "json"});
  BOOST_TEST(shown.code == 0);
  BOOST_TEST(nlohmann::json::parse(shown.out)["notes"].size() == 1U);
  BOOST_TEST(state_of(all.show(all.pki), "short") == "expires soon");
  BOOST_TEST(has(shown.err, "expires at"));
  const auto brief = (all.folder / "brief").string();
  BOOST_REQUIRE(all.run({"init", "--out", brief, "--days", "10"}).code == 0);
  const auto longer = all.run({"issue", "--pki", brief, "--role", "node", "--name", "a", "--clients", "0-9", "--days",
                               "11", "--out", (all.folder / "a").string()});
  BOOST_TEST(longer.code == 2);
  BOOST_TEST(has(longer.err, "would outlive its authority"));
}

BOOST_AUTO_TEST_SUITE_END()
