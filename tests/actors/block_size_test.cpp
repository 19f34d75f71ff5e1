// How many jobs a trainer is sent at once.
#include "actors/block_size.hpp"

#include <boost/test/unit_test.hpp>

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(block_size_suite)

namespace {

/// The size after many blocks of jobs that last so long.
std::size_t size_for(std::size_t at_once, std::size_t threads, double seconds_of_job) {
  actors::block_size block(at_once, threads);
  for (int i = 0; i < 100; ++i) block.on_done(block.jobs(), static_cast<double>(block.jobs()) * seconds_of_job);
  return block.jobs();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_block_lasts_a_millisecond) {
  // 91 jobs of 11 us are the first that last it. So it is with any number of threads that a round is enough for.
  for (const std::size_t threads : {1U, 2U, 5U}) BOOST_TEST(size_for(2000, threads, 11e-6) == 91U);
  BOOST_TEST(size_for(2000, 2, 3.1e-4) == 4U);
  // Longer jobs are sent one by one.
  for (const double seconds : {1e-3, 0.1, 60.0}) BOOST_TEST(size_for(2000, 2, seconds) == 1U);
}

BOOST_AUTO_TEST_CASE(each_thread_has_four_blocks_of_a_round) {
  // A hundred jobs of 37 us: blocks of a millisecond would be four, for two threads.
  BOOST_TEST(size_for(100, 2, 37e-6) == 12U);
  BOOST_TEST(size_for(100, 1, 37e-6) == 25U);
}

BOOST_AUTO_TEST_CASE(no_block_lasts_less_than_a_quarter_of_a_millisecond) {
  // 13 jobs of 20 us, where four blocks for each of two threads would be of 2.
  BOOST_TEST(size_for(16, 2, 20e-6) == 13U);
  BOOST_TEST(size_for(100, 4, 37e-6) == 7U);
  // All of a round that is shorter.
  BOOST_TEST(size_for(10, 2, 20e-6) == 10U);
  BOOST_TEST(size_for(1, 2, 20e-6) == 1U);
}

BOOST_AUTO_TEST_CASE(the_first_blocks_are_small) {
  BOOST_TEST(actors::block_size(2000, 2).jobs() == 8U);
  BOOST_TEST(actors::block_size(32, 2).jobs() == 4U);
  BOOST_TEST(actors::block_size(3, 2).jobs() == 1U);
  BOOST_TEST(actors::block_size(0, 0).jobs() == 1U);
}

BOOST_AUTO_TEST_CASE(one_slow_block_among_many_changes_little) {
  actors::block_size block(2000, 2);
  for (int i = 0; i < 100; ++i) block.on_done(100, 1.05e-3);
  BOOST_TEST(block.jobs() == 96U);
  // As if another program had the processor for as long again. An eighth of the mean is of this block.
  block.on_done(100, 2.1e-3);
  BOOST_TEST(block.jobs() == 85U);
  for (int i = 0; i < 100; ++i) block.on_done(100, 2.1e-3);
  BOOST_TEST(block.jobs() == 48U);
}

BOOST_AUTO_TEST_CASE(times_that_the_clock_cannot_see_are_short) {
  actors::block_size block(2000, 2);
  block.on_done(8, 0.0);
  BOOST_TEST(block.jobs() == 2000U);
  block.on_done(0, 1.0);  // no jobs tell nothing
  BOOST_TEST(block.jobs() == 2000U);
  block.on_done(2000, -1.0);  // as no clock should say
  BOOST_TEST(block.jobs() == 2000U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
