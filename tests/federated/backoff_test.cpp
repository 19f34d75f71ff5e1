#include "federated/processes/backoff.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

BOOST_AUTO_TEST_SUITE(backoffs)

using furlong::federated::virtual_time;
using furlong::federated::processes::backoff;

namespace {

constexpr virtual_time millisecond = 1000;
constexpr virtual_time second = 1000 * millisecond;

}  // namespace

BOOST_AUTO_TEST_CASE(doubles_up_to_the_longest_and_begins_again_after_a_success) {
  backoff pauses([](virtual_time ceiling) { return ceiling / 2; }, {200 * millisecond, 30 * second});
  for (const int expected : {100, 200, 400, 800, 1600, 3200, 6400, 12'800, 15'000, 15'000})
    BOOST_TEST(pauses.next() == expected * millisecond);
  pauses.reset();
  BOOST_TEST(pauses.next() == 100 * millisecond);
}

// A round without a deadline waits for the nodes of a server that was restarted several times.
BOOST_AUTO_TEST_CASE(no_node_stays_away_for_more_than_ten_seconds) {
  backoff pauses([](virtual_time ceiling) { return ceiling - 1; });
  for (int i = 0; i < 20; ++i) BOOST_TEST(pauses.next() < 10 * second);
  BOOST_TEST(pauses.next() > 9 * second);
}

BOOST_AUTO_TEST_CASE(jitter_is_uniform_below_the_ceiling) {
  constexpr int draws = 2000;
  std::vector<double> shares;
  for (std::uint32_t node = 0; node < draws; ++node) {
    backoff pauses(furlong::random_stream(7, furlong::purpose::test, 0, node));
    for (int i = 0; i < 4; ++i) (void)pauses.next();
    const auto ceiling = pauses.ceiling();
    BOOST_REQUIRE(ceiling == 3200 * millisecond);
    const auto pause = pauses.next();
    BOOST_REQUIRE(pause < ceiling);
    shares.push_back(static_cast<double>(pause) / static_cast<double>(ceiling));
  }
  // The largest gap to the uniform distribution (Kolmogorov and Smirnov), at a level of about 1e-4.
  std::sort(shares.begin(), shares.end());
  double gap = 0.0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    gap = std::max(gap, std::abs(shares[i] - static_cast<double>(i) / draws));
  BOOST_TEST(gap < 2.2 / std::sqrt(draws));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_pauses) {
  backoff pauses(furlong::random_stream(7, furlong::purpose::test, 0, 3));
  backoff repeated(furlong::random_stream(7, furlong::purpose::test, 0, 3));
  for (int i = 0; i < 20; ++i) BOOST_TEST(pauses.next() == repeated.next());
}

BOOST_AUTO_TEST_SUITE_END()
