// When a server looks for the clients of a round.
#include "federated/protocol/cohort.hpp"

#include <boost/test/unit_test.hpp>

using namespace furlong::federated;
using namespace furlong::federated::protocol;

namespace {

struct begun_cohort : cohort {
  static constexpr virtual_time second = microseconds_per_second;

  begun_cohort() { begin_round(5 * second); }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(cohorts, begun_cohort)

BOOST_AUTO_TEST_CASE(pauses_double_up_to_an_hour) {
  BOOST_TEST(!is_retrying());
  for (const virtual_time seconds : {10U, 20U, 40U, 80U}) BOOST_TEST(pause(10 * second) == seconds * second);
  BOOST_TEST(is_retrying());
  for (int retry = 0; retry < 100; ++retry) static_cast<void>(pause(10 * second));
  BOOST_TEST(pause(10 * second) == 3600 * second);
  restart();
  BOOST_TEST(!is_retrying());
  BOOST_TEST(pause(10 * second) == 10 * second);
}

BOOST_AUTO_TEST_CASE(a_pause_that_is_longer_than_an_hour_does_not_grow) {
  for (int retry = 0; retry < 3; ++retry) BOOST_TEST(pause(7200 * second) == 7200 * second);
}

BOOST_AUTO_TEST_CASE(only_the_last_retry_counts) {
  BOOST_TEST(!stop_waiting());
  retry_at(20 * second);
  retry_at(30 * second);
  BOOST_TEST(!is_next(20 * second));
  BOOST_TEST(is_next(30 * second));
  BOOST_TEST(stop_waiting());
  BOOST_TEST(!is_next(30 * second));
  BOOST_TEST(!stop_waiting());
}

BOOST_AUTO_TEST_CASE(the_next_round_begins_anew) {
  static_cast<void>(pause(second));
  retry_at(30 * second);
  prolong();
  begin_round(90 * second);
  BOOST_TEST(began_at() == 90 * second);
  BOOST_TEST(!is_retrying());
  BOOST_TEST(!stop_waiting());
  BOOST_TEST(!is_prolonged());
}

BOOST_AUTO_TEST_SUITE_END()
