// What a client accepts of a sum, whatever the server says.
#include <boost/test/unit_test.hpp>

#include "federated/privacy/secure_aggregation/secure_client.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "tests/federated/seeded_source.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(secure_aggregation)

namespace {

/// What the first of the clients says to the neighbours that the server gives it, when the clients' tasks have these
/// versions, the sum has that of the server, and the client accepts sums that `terms` describe.
bool is_accepted(const sum_terms& terms, std::span<const std::uint64_t> versions, std::uint64_t server_version) {
  std::vector<task_id> cohort;
  std::vector<secure_client> clients;
  for (std::uint32_t i = 0; i < versions.size(); ++i) {
    cohort.push_back({7, versions[i], i, 0});
    clients.emplace_back(cohort.back(), terms, sum_inputs{}, seeded(1, i));
  }
  secure_server server(cohort, server_version, terms.against, {}, seeded(1));
  secure_letters out;
  for (const auto& client : clients) BOOST_TEST(server.on_letter(client.last(), out));
  BOOST_REQUIRE(!out.empty());
  return clients[0].on_letter(out[0]).has_value();
}

}  // namespace

BOOST_AUTO_TEST_CASE(all_of_a_synchronous_sum_is_of_the_version_of_the_task) {
  const sum_terms synchronous{.one_version = true};
  const std::uint64_t same[] = {4, 4, 4, 4}, older[] = {4, 4, 3, 4};
  BOOST_TEST(is_accepted(synchronous, same, 4));
  BOOST_TEST(!is_accepted(synchronous, same, 5));
  BOOST_TEST(!is_accepted(synchronous, older, 4));
  BOOST_TEST(is_accepted({}, older, 5));
  BOOST_TEST(!is_accepted({}, older, 3));
}

BOOST_AUTO_TEST_CASE(a_client_takes_part_in_no_sum_of_too_few) {
  const std::uint64_t four[] = {0, 0, 0, 0};
  BOOST_TEST(is_accepted({.fewest = 4}, four, 0));
  BOOST_TEST(!is_accepted({.fewest = 5}, four, 0));
}

/// A server that puts its own keys in place of a neighbour's, or sends it another scenario, is found out where keys are
/// signed.
BOOST_AUTO_TEST_CASE(keys_of_another_signer_are_refused) {
  const auto identity = [](std::uint8_t name) {
    key_identity made;
    made.certificate = {name};
    made.sign = [name](crypto::bytes_view statement) {
      crypto::bytes signature(statement.begin(), statement.end());
      signature.push_back(name);
      return signature;
    };
    made.check = [](std::uint32_t client, crypto::bytes_view certificate, crypto::bytes_view statement,
                    crypto::bytes_view signature) -> std::string {
      if (certificate.size() != 1 || certificate[0] != client % 2) return "the certificate is of another node";
      crypto::bytes expected(statement.begin(), statement.end());
      expected.push_back(certificate[0]);
      return std::ranges::equal(expected, signature) ? "" : "the signature is false";
    };
    return std::make_shared<const key_identity>(std::move(made));
  };
  const auto play = [&](std::uint32_t impersonated, std::uint32_t misled) {
    std::vector<task_id> cohort;
    std::vector<secure_client> clients;
    for (std::uint32_t i = 0; i < 4; ++i) {
      cohort.push_back({1, 1, i, 0});
      const auto node = static_cast<std::uint8_t>(i == impersonated ? 1 - i % 2 : i % 2);
      const sum_inputs inputs{.terms = {static_cast<std::uint8_t>(i == misled)}};
      clients.emplace_back(cohort.back(), sum_terms{}, inputs, seeded(i), identity(node));
    }
    secure_server server(cohort, 5, adversary_kind::semi_honest, {}, seeded(9));
    secure_letters out;
    for (const auto& client : clients) BOOST_TEST(server.on_letter(client.last(), out));
    std::size_t refused = 0;
    for (const auto& letter : out) refused += clients[letter.task.client].on_letter(letter) ? 0 : 1;
    return refused;
  };
  BOOST_TEST(play(4, 4) == 0U);
  BOOST_TEST(play(2, 4) == 3U);  // all its neighbours
  BOOST_TEST(play(4, 2) == 4U);  // and itself
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
