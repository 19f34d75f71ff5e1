// Tasks with added tensors take nothing from the heap, once clients as large have been seen.
#include <boost/test/unit_test.hpp>

#include "federated/client/client_work.hpp"
#include "federated/rounds/round.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/groups/every_place.hpp"
#include "tests/support/count_allocations.hpp"

BOOST_AUTO_TEST_SUITE(group_allocations)

using namespace furlong;

BOOST_AUTO_TEST_CASE(a_warm_workspace_allocates_nothing) {
  const auto e = tests::every_place_experiment(tests::every_place_settings());
  const auto from = federated::make_broadcast(e, federated::initial_state(e));
  federated::workspace use;
  federated::client_update update;
  const auto all_clients = [&](bool has_state) {
    for (const auto client : e.participants->training().subspan(1))  // the first has no examples
      static_cast<void>(federated::client_work(e, from, {e.run, 0, client, 0}, has_state, use, update));
  };
  all_clients(false);
  all_clients(true);
  const std::size_t before = allocations;
  all_clients(false);
  all_clients(true);
  BOOST_TEST(allocations - before == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
