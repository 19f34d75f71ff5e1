// Updates that wait for their keys under secure aggregation.
#include "federated/processes/masked_reports.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/settings.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(waiting_updates)

using namespace furlong;
using namespace furlong::federated::processes;

BOOST_AUTO_TEST_CASE(an_update_without_keys_waits_also_in_the_next_life_of_the_run_until_its_task_is_over) {
  const auto e = tests::make_experiment({}, tests::make_ratings(12), {}, {});
  const federated::task_id task{e.run, 0, 3, 0};
  federated::client_update update;
  update.id = task;
  masked_reports first(e);
  first.add(std::move(update), nullptr);
  BOOST_TEST((first.report(task).first.what == masking::kind::waits));
  BOOST_TEST(first.waits(task));
  masked_reports second(e, {}, {}, first.take_waiting());
  BOOST_TEST(!first.waits(task));
  BOOST_TEST((second.report(task).first.what == masking::kind::waits));
  second.forget(task);
  const auto made = second.report(task).first;
  BOOST_TEST((made.what == masking::kind::never));
  BOOST_TEST(made.why == "its update is of an earlier life of the run");
}

BOOST_AUTO_TEST_SUITE_END()
