#include "base/random.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

BOOST_AUTO_TEST_SUITE(random_streams)

using namespace furlong;

namespace {

using block = std::array<std::uint32_t, 4>;

std::uint32_t high(std::uint32_t a, std::uint32_t b) { return static_cast<std::uint32_t>(std::uint64_t{a} * b >> 32); }

/// Philox4x32-10 as the paper's section 3.3 has it: rounds of two multiplications, keys bumped by Weyl sequences.
block philox(block c, std::array<std::uint32_t, 2> k) {
  for (int round = 0; round < 10; ++round) {
    c = {high(0xCD9E8D57U, c[2]) ^ c[1] ^ k[0], 0xCD9E8D57U * c[2], high(0xD2511F53U, c[0]) ^ c[3] ^ k[1],
         0xD2511F53U * c[0]};
    k = {k[0] + 0x9E3779B9U, k[1] + 0xBB67AE85U};
  }
  return c;
}

double chi_square(const std::vector<std::uint64_t>& counts) {
  const auto total = static_cast<double>(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}));
  const double expected = total / static_cast<double>(counts.size());
  double sum = 0.0;
  for (const auto count : counts) sum += std::pow(static_cast<double>(count) - expected, 2) / expected;
  return sum;
}

}  // namespace

// The known answers that come with the paper's own library (Random123, kat_vectors).
BOOST_AUTO_TEST_CASE(the_yardstick_has_the_published_answers) {
  BOOST_TEST(philox({0, 0, 0, 0}, {0, 0}) == (block{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  constexpr std::uint32_t ones = 0xFFFFFFFF;
  BOOST_TEST(philox({ones, ones, ones, ones}, {ones, ones}) == (block{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  BOOST_TEST(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}) ==
             (block{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

BOOST_AUTO_TEST_CASE(a_stream_is_philox_of_its_key_block_by_block) {
  struct key {
    std::uint64_t seed;
    std::uint32_t why, round, client, part;
  };
  // The first is the published zero vector.
  for (const auto& k : {key{0, 0, 0, 0, 0}, key{0x299F31D0A4093822, 12, 0x13198A2E, 0x03707344, 0x85A308},
                        key{~0ULL, 255, ~0U, ~0U, 0xFFFFFF}}) {
    random_stream stream(k.seed, static_cast<purpose>(k.why), k.round, k.client, k.part);
    for (std::uint32_t at = 0; at < 5; ++at) {
      const auto expected = philox({at, k.why | k.part << 8, k.round, k.client},
                                   {static_cast<std::uint32_t>(k.seed), static_cast<std::uint32_t>(k.seed >> 32)});
      for (const auto word : expected) BOOST_TEST(stream() == word);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_same_key_gives_the_same_draws_and_any_other_key_gives_others) {
  random_stream a(7, purpose::test, 3, 4);
  random_stream same(7, purpose::test, 3, 4);
  random_stream seed(8, purpose::test, 3, 4);
  random_stream round(7, purpose::test, 4, 4);
  random_stream client(7, purpose::test, 3, 5);
  random_stream part(7, purpose::test, 3, 4, 1);
  random_stream why(7, purpose::cohort, 3, 4);
  for (int i = 0; i < 100; ++i) {
    const auto draw = a();
    BOOST_TEST(draw == same());
    for (auto* other : {&seed, &round, &client, &part, &why}) BOOST_TEST(draw != (*other)());
  }
}

BOOST_AUTO_TEST_CASE(a_copy_goes_on_from_where_the_original_stood) {
  random_stream a(1, purpose::test);
  static_cast<void>(a.normal());  // leaves a spare normal and half a block
  auto copy = a;
  for (int i = 0; i < 20; ++i) BOOST_TEST(a.normal() == copy.normal());
}

BOOST_AUTO_TEST_CASE(uniform_draws_have_the_moments_of_the_uniform_distribution) {
  constexpr int n = 200'000;
  random_stream stream(3, purpose::test);
  double sum = 0.0;
  double squares = 0.0;
  for (int i = 0; i < n; ++i) {
    const double draw = stream.uniform(-1.0F, 3.0F);
    BOOST_REQUIRE(draw >= -1.0);
    BOOST_REQUIRE(draw < 3.0);
    sum += draw;
    squares += draw * draw;
  }
  const double mean = sum / n;
  // Five standard errors: sd of a draw 4 / sqrt(12) = 1.155.
  BOOST_TEST(std::abs(mean - 1.0) < 5 * 1.155 / std::sqrt(n));
  BOOST_TEST(std::abs(squares / n - mean * mean - 16.0 / 12.0) < 0.02);
}

BOOST_AUTO_TEST_CASE(normal_draws_have_the_moments_and_tails_of_the_normal_distribution) {
  constexpr int n = 200'000;
  random_stream stream(4, purpose::test);
  std::array<double, 5> moments{};
  int beyond_two = 0;
  for (int i = 0; i < n; ++i) {
    const double draw = stream.normal();
    for (std::size_t p = 1; p < moments.size(); ++p) moments[p] += std::pow(draw, p) / n;
    beyond_two += std::abs(draw) > 2 ? 1 : 0;
  }
  // Five standard errors of each: sqrt(var x^p / n), var x = 1, x^2: 2, x^3: 15, x^4: 96.
  const double root = std::sqrt(n);
  BOOST_TEST(std::abs(moments[1]) < 5 * 1.0 / root);
  BOOST_TEST(std::abs(moments[2] - 1) < 5 * std::sqrt(2.0) / root);
  BOOST_TEST(std::abs(moments[3]) < 5 * std::sqrt(15.0) / root);
  BOOST_TEST(std::abs(moments[4] - 3) < 5 * std::sqrt(96.0) / root);
  const double share = std::erfc(2 / std::sqrt(2.0));
  BOOST_TEST(std::abs(beyond_two - n * share) < 5 * std::sqrt(n * share * (1 - share)));
}

// Taking the high word of a product without rejection would make every third value of this bound twice as likely.
BOOST_AUTO_TEST_CASE(below_is_unbiased_where_a_product_without_rejection_is_not) {
  constexpr std::uint32_t bound = 0xC0000000;
  random_stream stream(5, purpose::test);
  std::vector<std::uint64_t> by_remainder(3);
  for (int i = 0; i < 60'000; ++i) {
    const auto draw = stream.below(bound);
    BOOST_REQUIRE(draw < bound);
    ++by_remainder[draw % 3];
  }
  BOOST_TEST(chi_square(by_remainder) < 13.8);  // 2 degrees of freedom, p = 0.001
}

BOOST_AUTO_TEST_CASE(below_reaches_every_value_of_small_bounds_evenly) {
  random_stream stream(6, purpose::test);
  for (int i = 0; i < 10; ++i) BOOST_TEST(stream.below(1) == 0U);
  std::vector<std::uint64_t> counts(7);
  for (int i = 0; i < 70'000; ++i) ++counts[stream.below(7)];
  BOOST_TEST(chi_square(counts) < 22.5);  // 6 degrees of freedom, p = 0.001
}

BOOST_AUTO_TEST_CASE(all_orders_of_a_shuffle_are_equally_likely) {
  random_stream stream(7, purpose::test);
  std::map<std::array<int, 4>, std::uint64_t> seen;
  for (int i = 0; i < 24'000; ++i) {
    std::array<int, 4> items{0, 1, 2, 3};
    stream.shuffle(std::span<int>(items));
    ++seen[items];
  }
  BOOST_REQUIRE(seen.size() == 24U);  // each a permutation: there are no others
  std::vector<std::uint64_t> counts;
  for (const auto& [order, count] : seen) {
    BOOST_TEST(std::ranges::is_permutation(order, std::array<int, 4>{0, 1, 2, 3}));
    counts.push_back(count);
  }
  BOOST_TEST(chi_square(counts) < 49.7);  // 23 degrees of freedom, p = 0.001
}

BOOST_AUTO_TEST_SUITE_END()
