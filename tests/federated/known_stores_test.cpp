// Which stores the server takes for those that its model goes with.
#include "federated/state/known_stores.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

constexpr std::uint64_t east = 11;
constexpr std::uint64_t west = 12;
constexpr client_range low{0, 9};
constexpr client_range high{10, 19};

struct federation {
  participation_ledger ledger{30};
  known_stores stores;
  bool complete = true;

  /// An update of this client on the model of a version went in.
  void fold(std::uint32_t client, std::uint32_t version) { ledger.touch(client).folded_version = version + 1; }
  [[nodiscard]] std::string why(const client_range& clients, const store_claim& claim) const {
    return stores.mismatch(clients, claim, ledger, complete).value_or("");
  }
  std::uint64_t take(const client_range& clients, const store_claim& claim, std::uint64_t version = 0) {
    return stores.take(clients, claim, ledger, complete, version, "");
  }
};

bool says(const std::string& why, const char* what) { return why.find(what) != std::string::npos; }

}  // namespace

BOOST_FIXTURE_TEST_SUITE(stores_of_nodes, federation)

BOOST_AUTO_TEST_CASE(a_node_comes_again_with_its_store) {
  BOOST_TEST(why(low, {}).empty());
  BOOST_TEST(take(low, {east, 1, 0}) == 0U);
  fold(3, 7);
  fold(4, 5);
  BOOST_TEST(why(low, {east, 1, 8}).empty());
  BOOST_TEST(why(low, {east, 2, 9}).empty());
  BOOST_TEST(take(low, {east, 2, 9}, 20) == 0U);
  BOOST_TEST(stores.lost() == 0U);
}

BOOST_AUTO_TEST_CASE(swapped_stores_are_found) {
  take(low, {east, 1, 0});
  take(high, {west, 1, 0});
  fold(3, 2);
  fold(12, 2);
  BOOST_TEST(says(why(low, {west, 1, 3}), "is not that of clients 0 to 9"));
  BOOST_TEST(says(why(high, {east, 1, 3}), "is not that of clients 10 to 19"));
}

BOOST_AUTO_TEST_CASE(a_store_that_was_emptied_is_found_and_its_loss_counted_once) {
  take(low, {east, 1, 0});
  fold(3, 2);
  fold(4, 9);
  BOOST_TEST(says(why(low, {}), "has no private store for clients 0 to 9"));
  BOOST_TEST(says(why(low, {west, 1, 0}), "is not that of clients 0 to 9"));
  BOOST_TEST(take(low, {west, 1, 0}, 10) == 2U);
  BOOST_TEST(why(low, {west, 1, 0}).empty());
  BOOST_TEST(take(low, {west, 2, 0}, 12) == 0U);
  BOOST_TEST(says(why(low, {east, 5, 10}), "is not that of"));
  BOOST_TEST(stores.lost() == 2U);
}

BOOST_AUTO_TEST_CASE(nothing_is_lost_before_an_update_is_in_the_model) {
  take(low, {east, 1, 0});
  BOOST_TEST(why(low, {}).empty());
  BOOST_TEST(take(low, {west, 1, 0}) == 0U);
  fold(3, 2);
  BOOST_TEST(!why(low, {east, 2, 0}).empty());
}

BOOST_AUTO_TEST_CASE(an_older_copy_is_found) {
  take(low, {east, 3, 0});
  fold(3, 7);
  BOOST_TEST(says(why(low, {east, 3, 7}), "is older than the model"));
  BOOST_TEST(why(low, {east, 3, 8}).empty());
  BOOST_TEST(says(why(low, {east, 2, 8}), "is older than the model"));
  BOOST_TEST(take(low, {east, 3, 7}, 9) == 1U);
  BOOST_TEST(why(low, {east, 3, 7}).empty());  // that was accepted
  fold(4, 10);
  BOOST_TEST(!why(low, {east, 3, 7}).empty());
}

BOOST_AUTO_TEST_CASE(a_node_that_never_had_a_store_has_none_to_lose) {
  take(low, {});
  fold(3, 7);
  BOOST_TEST(why(low, {}).empty());
  BOOST_TEST(take(low, {}, 9) == 0U);
}

BOOST_AUTO_TEST_CASE(values_that_wait_for_their_update_may_be_missing) {
  complete = false;
  take(low, {east, 3, 0});
  fold(3, 7);
  BOOST_TEST(why(low, {east, 3, 0}).empty());
  BOOST_TEST(!why(low, {east, 2, 0}).empty());
}

BOOST_AUTO_TEST_CASE(an_update_of_the_store_before_is_not_asked_of_the_next) {
  take(low, {east, 1, 0});
  take(low, {west, 1, 0}, 5);
  fold(3, 5);  // given out before
  BOOST_TEST(why(low, {west, 1, 0}).empty());
  fold(3, 6);
  BOOST_TEST(!why(low, {west, 1, 0}).empty());
}

BOOST_AUTO_TEST_CASE(what_a_store_had_beside_these_clients_stays_with_it) {
  take({0, 19}, {east, 1, 0});
  for (std::uint32_t client = 0; client < 20; ++client) fold(client, 3);
  BOOST_TEST(take({5, 9}, {west, 1, 0}, 4) == 5U);
  BOOST_TEST(stores.entries().size() == 3U);
  BOOST_TEST(why({0, 4}, {east, 1, 4}).empty());
  BOOST_TEST(why({10, 19}, {east, 1, 4}).empty());
  BOOST_TEST(why({5, 9}, {west, 1, 0}).empty());
  BOOST_TEST(!why({0, 19}, {east, 1, 4}).empty());
  BOOST_TEST(!why({0, 4}, {west, 1, 0}).empty());
}

BOOST_AUTO_TEST_SUITE_END()
