#include "tools/dashboard/round_history.hpp"

#include <boost/test/unit_test.hpp>

#include "tests/dashboard/sample.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(round_history_suite)

using namespace tools::dashboard;

namespace {

// Every field has a value of its own, so that a sum that forgets one is found.
round_record numbered(std::uint64_t version) {
  round_record round;
  round.first = round.last = version;
  round.ended_at = 10.0 * static_cast<double>(version);
  round.seconds = 1.0;
  round.selected = 10 * version;
  round.folded = version;
  round.rejected[2] = version + 1;
  round.late = version + 2;
  round.surplus = version + 3;
  round.dropped[1] = version + 4;
  round.abandoned = version + 5;
  round.gave_up = version % 2;
  round.applied = 1 - round.gave_up;
  round.loss = static_cast<double>(version);
  round.change_norm = 2.0 * static_cast<double>(version);
  round.bytes_up = version + 6;
  round.bytes_down = version + 7;
  return round;
}

}  // namespace

BOOST_AUTO_TEST_CASE(merging_adds_counts_and_averages_what_the_applied_rounds_have) {
  const auto both = merged(numbered(2), numbered(3));
  BOOST_TEST(both.first == 2);
  BOOST_TEST(both.last == 3);
  BOOST_TEST(both.ended_at == 30.0);
  BOOST_TEST(both.seconds == 2.0);
  BOOST_TEST(both.selected == 50);
  BOOST_TEST(both.folded == 5);
  BOOST_TEST(both.rejected[2] == 7);
  BOOST_TEST(both.late == 9);
  BOOST_TEST(both.surplus == 11);
  BOOST_TEST(both.dropped[1] == 13);
  BOOST_TEST(both.abandoned == 15);
  BOOST_TEST(both.gave_up == 1);
  BOOST_TEST(both.applied == 1);
  BOOST_TEST(both.bytes_up == 17);
  BOOST_TEST(both.bytes_down == 19);
  BOOST_TEST(both.loss == 2.0);  // round 3 gave up
  BOOST_TEST(both.change_norm == 4.0);
  BOOST_TEST(merged(both, numbered(4)).loss == 3.0);
}

BOOST_AUTO_TEST_CASE(the_newest_rounds_stay_single_and_nothing_is_lost_or_counted_twice) {
  constexpr std::size_t most = 7;  // odd: a stretch is left half filled when the old ones are merged
  round_history history(most);
  std::uint64_t folded = 0;
  for (std::uint64_t version = 1; version <= 1000; ++version) {
    history.add(numbered(version));
    folded += version;
    const auto all = history.since(0);
    BOOST_REQUIRE(all.size() <= 2 * most);
    std::uint64_t seen = 0, expected = 1;
    double seconds = 0.0;
    for (const auto& one : all) {
      BOOST_REQUIRE_EQUAL(one.first, expected);
      BOOST_REQUIRE_LE(one.last - one.first + 1, history.stride());
      expected = one.last + 1;
      seen += one.folded;
      seconds += one.seconds;
    }
    BOOST_REQUIRE_EQUAL(expected, version + 1);
    BOOST_REQUIRE_EQUAL(seen, folded);
    BOOST_REQUIRE_EQUAL(seconds, static_cast<double>(version));
    for (std::size_t i = all.size() - std::min<std::size_t>(most, version); i < all.size(); ++i)
      BOOST_REQUIRE_EQUAL(all[i].first, all[i].last);
  }
  BOOST_TEST(history.stride() == 256);
}

BOOST_AUTO_TEST_CASE(what_ended_before_is_left_out) {
  round_history history(4);
  for (std::uint64_t version = 1; version <= 20; ++version) history.add(numbered(version));
  const auto newest = history.since(19);
  BOOST_REQUIRE(newest.size() == 2);
  BOOST_TEST(newest[0].last == 19);
  BOOST_TEST(history.since(21).empty());
  // A merged stretch comes whole when it ends late enough.
  const auto from_five = history.since(5);
  BOOST_TEST(from_five.front().first <= 5);
  BOOST_TEST(from_five.front().last >= 5);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
