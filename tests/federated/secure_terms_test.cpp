// What a client accepts of a sum, whatever the server says.
#include <boost/test/unit_test.hpp>

#include "federated/client/secure_update.hpp"
#include "federated/privacy/secure_aggregation/detail/keys.hpp"
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

namespace {

/// What an honest server sends the first of forty clients, each of which has 28 neighbours.
struct sparse_sum {
  static constexpr std::size_t neighbour_bytes = 24 + detail::public_keys_bytes, peer_bytes = 8 + detail::sealed_bytes;
  static constexpr std::size_t first_neighbour = 24, first_peer = 4;  // after the numbers of the list
  std::vector<secure_client> clients;
  secure_letter neighbours, peers;

  sparse_sum() {
    std::vector<task_id> cohort;
    for (std::uint32_t i = 0; i < 40; ++i) {
      cohort.push_back({7, 4, i, 0});
      clients.emplace_back(cohort.back(), sum_terms{}, sum_inputs{}, seeded(1, i));
    }
    secure_server server(cohort, 4, adversary_kind::semi_honest, {}, seeded(1));
    secure_letters lists, out;
    for (const auto& client : clients) BOOST_TEST(server.on_letter(client.last(), lists));
    for (const auto& list : lists) {
      if (list.task.client == 0) neighbours = list;
      auto& client = clients[list.task.client];
      // The first one answers in the tests: here another object of the same secrets does.
      auto answers = secure_client(client.task(), {}, {}, seeded(1, list.task.client));
      BOOST_TEST(server.on_letter(**answers.on_letter(list), out));
    }
    peers = out.front();
    BOOST_TEST(neighbours.content.size() == first_neighbour + 28 * neighbour_bytes);
    BOOST_TEST(peers.content.size() == first_peer + 28 * peer_bytes);
  }
  /// The last entry of a list becomes the one before.
  static void repeat_last(crypto::bytes& of, std::size_t bytes) {
    const auto last = of.end() - static_cast<std::ptrdiff_t>(bytes);
    std::copy(last - static_cast<std::ptrdiff_t>(bytes), last, last);
  }
  static void leave_out_last(crypto::bytes& of, std::size_t bytes, std::size_t count_at) {
    of.resize(of.size() - bytes);
    --of[count_at];
  }
  [[nodiscard]] bool is_neighbour(std::uint32_t client) const {
    for (auto at = first_neighbour; at < neighbours.content.size(); at += neighbour_bytes)
      if (neighbours.content[at] == client) return true;
    return false;
  }
  [[nodiscard]] bool takes(const secure_letter& letter) { return clients[0].on_letter(letter).has_value(); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_has_as_many_neighbours_as_the_graph_says) {
  BOOST_TEST(sparse_sum().takes(sparse_sum().neighbours));
  sparse_sum fewer, twice, itself;
  sparse_sum::leave_out_last(fewer.neighbours.content, sparse_sum::neighbour_bytes, sparse_sum::first_neighbour - 4);
  BOOST_TEST(!fewer.takes(fewer.neighbours));
  sparse_sum::repeat_last(twice.neighbours.content, sparse_sum::neighbour_bytes);
  BOOST_TEST(!twice.takes(twice.neighbours));
  itself.neighbours.content[itself.neighbours.content.size() - sparse_sum::neighbour_bytes] = 0;
  BOOST_TEST(!itself.takes(itself.neighbours));
}

BOOST_AUTO_TEST_CASE(a_sum_has_updates_of_peers_and_of_no_other_neighbours) {
  sparse_sum all, twice, few;
  for (auto* one : {&all, &twice, &few}) BOOST_TEST(one->takes(one->neighbours));
  BOOST_TEST(all.takes(all.peers));
  sparse_sum::repeat_last(twice.peers.content, sparse_sum::peer_bytes);
  BOOST_TEST(!twice.takes(twice.peers));
  few.peers.content.resize(sparse_sum::first_peer + 5 * sparse_sum::peer_bytes);  // the threshold is 6
  few.peers.content[0] = 5;
  BOOST_TEST(!few.takes(few.peers));

  for (const bool with_silent : {false, true}) {
    sparse_sum sum;
    BOOST_TEST(sum.takes(sum.neighbours));
    const auto silent = sum.peers.content[sum.peers.content.size() - sparse_sum::peer_bytes];
    sparse_sum::leave_out_last(sum.peers.content, sparse_sum::peer_bytes, 0);
    BOOST_TEST(sum.takes(sum.peers));
    std::vector<std::int64_t> words(3, 1);
    BOOST_REQUIRE(sum.clients[0].mask(words));
    std::uint32_t stranger = 1;
    while (sum.is_neighbour(stranger)) ++stranger;
    secure_letter list{sum.clients[0].task(), secure_step::unmask, {39, 0, 0, 0}};
    std::uint32_t before = 0;
    for (std::uint32_t i = 0; i < 40; ++i)
      if (i != (with_silent ? stranger : silent))
        list.content.push_back(static_cast<std::uint8_t>(i - std::exchange(before, i)));
    BOOST_TEST(sum.takes(list) == !with_silent);
  }
}

BOOST_AUTO_TEST_CASE(a_survivor_is_listed_once_and_the_client_is_one) {
  enum class list_kind { fine, twice, without_itself };
  for (const auto kind : {list_kind::fine, list_kind::twice, list_kind::without_itself}) {
    sparse_sum sum;
    BOOST_TEST(sum.takes(sum.neighbours));
    BOOST_TEST(sum.takes(sum.peers));
    std::vector<std::int64_t> words(3, 1);
    BOOST_REQUIRE(sum.clients[0].mask(words));
    secure_letter list{sum.clients[0].task(), secure_step::unmask, {0, 0, 0, 0}};
    std::uint32_t before = 0;
    std::uint32_t left_out = 0;
    for (std::uint32_t i = kind == list_kind::without_itself ? 1 : 0; i < 40; ++i) {
      if (i > 0 && left_out < 2 && !sum.is_neighbour(i))
        ++left_out;
      else
        list.content.push_back(static_cast<std::uint8_t>(i - std::exchange(before, i)));
    }
    if (kind == list_kind::twice) list.content.push_back(0);
    list.content[0] = static_cast<std::uint8_t>(list.content.size() - 4);
    BOOST_TEST(sum.takes(list) == (kind == list_kind::fine));
  }
}

/// Clients that were sent anything else cannot agree.
BOOST_AUTO_TEST_CASE(keys_name_all_that_updates_follow_from) {
  const auto layout = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{"w", 1, 2}});
  broadcast from;
  from.run = 1, from.version = 2, from.model = models::shared_parameters(layout), from.reference = {0.5};
  std::vector<broadcast> others(7, from);
  others[0].run = 3;
  others[1].version = 3;
  others[2].model.values()[1] = 1e-30F;
  others[3].reference[0] = 0.25;
  others[4].limits.norm = 1;
  others[5].limits.row = 1;
  others[6].limits.weight = 1;
  for (const auto& other : others) BOOST_TEST((digest_of(other) != digest_of(from)));

  const models::data_facts facts{60, 50, models::objective::squared_error};
  const auto terms = terms_of(1, "text", facts);
  BOOST_TEST((terms_of(2, "text", facts) != terms));
  BOOST_TEST((terms_of(1, "test", facts) != terms));
  for (auto field : {&models::data_facts::features, &models::data_facts::clients}) {
    auto other = facts;
    ++(other.*field);
    BOOST_TEST((terms_of(1, "text", other) != terms));
  }
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
