#include "actors/net/backoff.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <vector>

BOOST_AUTO_TEST_SUITE(backoffs)

using furlong::actors::net::backoff;
using std::chrono::milliseconds;

BOOST_AUTO_TEST_CASE(doubles_up_to_the_longest_and_begins_again_after_a_success) {
  backoff waits([] { return 0.5; }, {milliseconds(200), milliseconds(30'000)});
  for (const int expected : {100, 200, 400, 800, 1600, 3200, 6400, 12'800, 15'000, 15'000})
    BOOST_TEST(waits.next().count() == expected);
  waits.reset();
  BOOST_TEST(waits.next().count() == 100);
}

// A round without a deadline waits for the nodes of a server that was restarted several times.
BOOST_AUTO_TEST_CASE(no_node_stays_away_for_more_than_ten_seconds) {
  backoff waits([] { return std::nextafter(1.0, 0.0); }, backoff::bounds{});
  for (int i = 0; i < 20; ++i) BOOST_TEST(waits.next() < std::chrono::seconds(10));
  BOOST_TEST(waits.next() > std::chrono::seconds(9));
}

BOOST_AUTO_TEST_CASE(jitter_is_uniform_below_the_ceiling) {
  constexpr int draws = 2000;
  std::vector<double> shares;
  for (std::uint32_t node = 0; node < draws; ++node) {
    backoff waits(furlong::random_stream(7, furlong::purpose::test, 0, node));
    for (int i = 0; i < 4; ++i) (void)waits.next();
    const auto ceiling = waits.ceiling();
    BOOST_REQUIRE(ceiling == milliseconds(3200));
    const auto wait = waits.next();
    BOOST_REQUIRE(wait < ceiling);
    shares.push_back(static_cast<double>(wait.count()) / static_cast<double>(ceiling.count()));
  }
  // The largest gap to the uniform distribution (Kolmogorov and Smirnov), at a level of about 1e-4.
  std::sort(shares.begin(), shares.end());
  double gap = 0.0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    gap = std::max(gap, std::abs(shares[i] - static_cast<double>(i) / draws));
  BOOST_TEST(gap < 2.2 / std::sqrt(draws));
}

BOOST_AUTO_TEST_CASE(a_seed_gives_the_same_waits) {
  backoff one(furlong::random_stream(7, furlong::purpose::test, 0, 3));
  backoff two(furlong::random_stream(7, furlong::purpose::test, 0, 3));
  for (int i = 0; i < 20; ++i) BOOST_TEST(one.next().count() == two.next().count());
}

BOOST_AUTO_TEST_SUITE_END()
