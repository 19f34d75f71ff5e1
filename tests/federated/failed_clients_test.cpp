// When nobody is left to train.
#include "federated/protocol/failed_clients.hpp"

#include <array>
#include <boost/test/unit_test.hpp>

BOOST_AUTO_TEST_SUITE(failed_nodes)

using furlong::federated::client_range;
using furlong::federated::protocol::failed_clients;

namespace {

// Clients 0 to 9, of which these train: two nodes have 0 to 4 and 5 to 9.
constexpr std::array<std::uint32_t, 6> training = {0, 1, 4, 5, 7, 8};
constexpr client_range west{0, 4};
constexpr client_range east{5, 9};

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_is_lost_once_all_training_clients_have_failed) {
  failed_clients clients(training);
  clients.on_detached(west, "no room");
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_detached(west, "no room");  // once more
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_detached(east, "no idea");
  BOOST_TEST(clients.failure_of_all().value() == "no idea");
}

BOOST_AUTO_TEST_CASE(nobody_ends_a_run_by_a_claim_while_a_client_may_come) {
  failed_clients clients(training);
  clients.on_attached(west);
  clients.on_attached(east);
  clients.on_detached(west, "no room");
  clients.on_detached(east, "");  // killed: it may come back
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_attached(east);
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_attached(west);  // with a correct part
  clients.on_detached(east, "no idea");
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_detached(west, "");
  BOOST_TEST(!clients.failure_of_all().has_value());
  clients.on_detached({9, 9}, "no idea");  // of a client that does not train
  BOOST_TEST(!clients.failure_of_all().has_value());
}

BOOST_AUTO_TEST_CASE(a_run_without_training_clients_is_not_lost) {
  failed_clients clients({});
  clients.on_detached(west, "no room");
  BOOST_TEST(!clients.failure_of_all().has_value());
}

BOOST_AUTO_TEST_SUITE_END()
