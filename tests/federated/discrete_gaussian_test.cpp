// The discrete Gaussian against its probabilities, and the words that it is drawn from.
#include "federated/privacy/discrete_gaussian.hpp"

#include <cmath>
#include <cstring>
#include <map>
#include <set>

#include "base/digest.hpp"
#include "federated/privacy/noise_share.hpp"
#include "federated/privacy/renyi.hpp"

namespace furlong::federated::privacy {

namespace {

random_stream stream_of(std::uint32_t number) { return {7, purpose::test, number}; }

/// P[X = x] on -reach..reach, by its definition.
std::vector<double> probabilities(double variance, int reach) {
  std::vector<double> all;
  double sum = 0;
  for (int x = -reach; x <= reach; ++x) {
    all.push_back(std::exp(-0.5 * x * x / variance));
    sum += all.back();
  }
  for (auto& one : all) one /= sum;
  return all;
}

struct fit_of_draws {
  double chi_square = 0;
  int degrees = 0;
};

/// Pearson's statistic over bins of at least 20 expected draws: the values, and both tails.
fit_of_draws test_fit(std::uint64_t variance, int draws, word_source& from) {
  discrete_gaussian draw(variance, from);
  std::map<std::int64_t, int> found;
  for (int i = 0; i < draws; ++i) ++found[draw()];
  const int reach = static_cast<int>(12 * std::sqrt(static_cast<double>(variance))) + 12;
  const auto expected = probabilities(static_cast<double>(variance), reach);
  fit_of_draws fit{0, -1};
  double expected_in_bin = 0;
  double found_in_bin = 0;
  double rest = draws;
  for (int x = -reach; x <= reach; ++x) {
    expected_in_bin += draws * expected[static_cast<std::size_t>(x + reach)];
    found_in_bin += found.contains(x) ? found.at(x) : 0;
    if (expected_in_bin < 20 || rest - expected_in_bin < 20) continue;
    fit.chi_square += (found_in_bin - expected_in_bin) * (found_in_bin - expected_in_bin) / expected_in_bin;
    ++fit.degrees;
    rest -= expected_in_bin;
    expected_in_bin = found_in_bin = 0;
  }
  fit.chi_square += (found_in_bin - expected_in_bin) * (found_in_bin - expected_in_bin) / expected_in_bin;
  ++fit.degrees;
  return fit;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(discrete_gaussians)

// A chi-square of k degrees exceeds k + 5 sqrt(2 k) + 10 with a probability below 1e-6.
BOOST_AUTO_TEST_CASE(draws_have_the_probabilities_of_the_definition) {
  std::uint32_t number = 0;
  for (const std::uint64_t variance : {1, 2, 3, 10, 100, 2500}) {
    seeded_words from(stream_of(number++));
    const auto [chi_square, degrees] = test_fit(variance, 200000, from);
    BOOST_TEST_CONTEXT("variance " << variance << ", chi-square " << chi_square << " of " << degrees) {
      BOOST_TEST(degrees >= 4);
      BOOST_TEST(chi_square < degrees + 5 * std::sqrt(2.0 * degrees) + 10);
      BOOST_TEST(chi_square > degrees - 5 * std::sqrt(2.0 * degrees) - 1);
    }
  }
}

BOOST_AUTO_TEST_CASE(large_variances_are_met) {
  const secret_key key = sha256("a key for a test");
  for (const unsigned bits : {20U, 48U, 52U}) {
    secret_stream from(key, purpose::test, bits);
    discrete_gaussian draw(std::uint64_t{1} << bits, from);
    constexpr int draws = 200000;
    const double deviation = std::exp2(bits / 2.0);
    double sum = 0;
    double squares = 0;
    double fourths = 0;
    for (int i = 0; i < draws; ++i) {
      const double x = static_cast<double>(draw()) / deviation;
      sum += x;
      squares += x * x;
      fourths += x * x * x * x;
    }
    BOOST_TEST(std::abs(sum / draws) < 5 / std::sqrt(draws));
    BOOST_TEST(std::abs(squares / draws - 1) < 5 * std::sqrt(2.0 / draws));
    BOOST_TEST(std::abs(fourths / draws - 3) < 5 * std::sqrt(96.0 / draws));
  }
}

BOOST_AUTO_TEST_CASE(a_variance_has_bounds) {
  seeded_words from(stream_of(0));
  BOOST_CHECK_THROW(discrete_gaussian(0, from), std::invalid_argument);
  BOOST_CHECK_THROW(discrete_gaussian(discrete_gaussian::most_variance + 1, from), std::invalid_argument);
  for (const double deviation : {0.0, -1.0, std::nan(""), 0x1p60})
    BOOST_CHECK_THROW(static_cast<void>(lattice_noise::of_deviation(deviation)), std::invalid_argument);
}

// The deviation that is asked for, in steps: no less, and not much more.
BOOST_AUTO_TEST_CASE(a_lattice_has_the_deviation_asked_for) {
  for (double deviation = 0.1; deviation <= lattice_noise::most_deviation; deviation *= 3.7) {
    const auto noise = lattice_noise::of_deviation(deviation);
    const double made = std::sqrt(static_cast<double>(noise.variance)) * std::exp2(noise.shift);
    BOOST_TEST(made >= deviation * (1 - 1e-15));
    BOOST_TEST(made <= std::sqrt(deviation * deviation + 1) * (1 + 1e-13));
    BOOST_TEST(noise.variance < std::uint64_t{1} << 48U);
    if (noise.shift > 0) BOOST_TEST(noise.variance >= std::uint64_t{1} << 46U);
  }
}

BOOST_AUTO_TEST_CASE(words_are_rounded_to_the_nearest_step_and_get_whole_steps) {
  const lattice_noise noise{.shift = 3, .variance = 1000};
  std::vector<std::int64_t> words = {0, 3, 4, 11, 12, -3, -4, -5, INT64_MAX, INT64_MIN};
  round_to_lattice(words, noise);
  const std::vector<std::int64_t> expected = {0, 0, 8, 8, 16, 0, 0, -8, INT64_MIN, INT64_MIN};
  BOOST_TEST(words == expected, boost::test_tools::per_element());
  // Noise that is taken back leaves the words, also where it wrapped around.
  auto noisy = words;
  seeded_words there(stream_of(1));
  add_lattice_noise(noisy, noise, 1, there);
  int moved = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    BOOST_TEST(noisy[i] % 8 == 0);
    moved += noisy[i] != words[i] ? 1 : 0;
  }
  BOOST_TEST(moved > 7);
  seeded_words back(stream_of(1));
  add_lattice_noise(noisy, noise, -1, back);
  BOOST_TEST(noisy == words, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(noise_shares)

// With the smallest number of clients the sum has the deviation that is asked for, in each segment's unit.
BOOST_AUTO_TEST_CASE(shares_add_up_to_the_noise) {
  constexpr std::uint64_t fewest = 12;
  constexpr std::size_t size = 20000;
  std::vector<std::int64_t> sum(2 * size);
  seeded_words from(stream_of(3));
  for (std::uint64_t client = 0; client < fewest; ++client) {
    std::vector<std::int64_t> words(2 * size);
    const auto all = std::span(words);
    for (const auto& segment : {word_segment{all.first(size), 0x1p40}, word_segment{all.last(size), 0x1p20}})
      add_noise_share(segment, 1.5 * 0.25, fewest, 1, from);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += words[i];
  }
  for (const auto& [begin, units] : {std::pair(std::size_t{0}, 0x1p40), {size, 0x1p20}}) {
    double squares = 0;
    for (std::size_t i = begin; i < begin + size; ++i) squares += std::pow(static_cast<double>(sum[i]) / units, 2);
    BOOST_TEST(std::abs(squares / size / std::pow(1.5 * 0.25, 2) - 1) < 5 * std::sqrt(2.0 / size));
  }
}

// Rounding costs what it can add to a client's norm, and no more: with 2^40 units next to nothing, with few units much.
BOOST_AUTO_TEST_CASE(rounding_is_paid_for) {
  std::vector<std::int64_t> words(1'000'000);
  const word_segment fine[] = {{words, 0x1p40}};
  BOOST_TEST(deviation_with_rounding(fine, 1.0, 1.0, 1, 1.0) > 1.0);
  BOOST_TEST(deviation_with_rounding(fine, 1.0, 1.0, 1, 1.0) < 1 + 2e-4);
  const word_segment coarse[] = {{words, 16}};
  BOOST_TEST(deviation_with_rounding(coarse, 2.0, 1.0, 1, 1.0) == 2 * (1 + 1.5 * 1000 / 16),
             boost::test_tools::tolerance(1e-9));
  // Where the steps are as long as the noise asks for, the result agrees with itself: its own steps are paid for.
  const word_segment high[] = {{words, 0x1p50}};
  const double found = deviation_with_rounding(high, 3.0, 1.0, 1, 1.0);
  const double step = std::ldexp(1.0, static_cast<int>(lattice_noise::of_deviation(found * 0x1p50).shift));
  BOOST_TEST(step > 1.0);
  BOOST_TEST(found == 3 * (1 + (step + 0.5) * 1000 / 0x1p50), boost::test_tools::tolerance(1e-12));
  const word_segment two[] = {{std::span(words).first(9), 16}, {std::span(words).first(16), 16}};
  BOOST_TEST(deviation_with_rounding(two, 1.0, 1.0, 1, 0.5) == 1 + 1.0 * 5 / 16, boost::test_tools::tolerance(1e-9));
}

// Kairouz, Liu, Steinke 2021, theorem 1. With steps as fine as those of lattices tau underflows: the sum costs what one
// Gaussian does.
BOOST_AUTO_TEST_CASE(a_sum_of_shares_is_accounted) {
  BOOST_TEST(distance_of_sum(0x1p23, 10000) == 0.0);
  BOOST_TEST(shared_noise_divergence(8, 100, 0x1p23, 400, 1000000) == gaussian_divergence(100 / (20 * 0x1p23), 8),
             boost::test_tools::tolerance(1e-12));
  BOOST_TEST(distance_of_sum(1.0, 1) == 0.0);
  const double square = 2 * M_PI * M_PI * 0.25;
  BOOST_TEST(distance_of_sum(0.5, 3) == 10 * (std::exp(-square / 2) + std::exp(-square * 2 / 3)),
             boost::test_tools::tolerance(1e-12));
  const double tau = distance_of_sum(0.5, 3);
  const double d = 1 / (std::sqrt(3.0) * 0.5);
  BOOST_TEST(shared_noise_divergence(4, 1, 0.5, 3, 10) ==
                 std::min(2 * d * d + 10 * tau, 2 * std::pow(d + std::sqrt(10.0) * tau, 2)),
             boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(secret_streams)

// NIST AESAVS, KeySbox256, first case: a block of zeros, which is the first counter of a stream without numbers.
BOOST_AUTO_TEST_CASE(the_keystream_is_aes) {
  const secret_key key = {0xc4, 0x7b, 0x02, 0x94, 0xdb, 0xbb, 0xee, 0x0f, 0xec, 0x47, 0x57,
                          0xf2, 0x2f, 0xfe, 0xee, 0x35, 0x87, 0xca, 0x47, 0x30, 0xc3, 0xd3,
                          0x3b, 0x69, 0x1d, 0xf3, 0x8b, 0xab, 0x07, 0x6b, 0xc5, 0x58};
  secret_stream stream(key, purpose{});
  std::array<std::uint64_t, 2> block{};
  stream.fill(block);
  std::array<std::uint8_t, 16> bytes{};
  std::memcpy(bytes.data(), block.data(), bytes.size());
  BOOST_TEST(hex(bytes) == "46f2fb342d6f0ab477476fc501242c5f");
}

BOOST_AUTO_TEST_CASE(streams_differ_in_each_argument_and_go_on) {
  const secret_key key = sha256("one");
  std::set<std::uint64_t> first;
  for (const auto& of : {key, sha256("other")})
    for (const auto why : {purpose::cohort, purpose::server_noise})
      for (const std::uint64_t index : {0ULL, 1ULL, 1ULL << 40U})
        for (const std::uint32_t part : {0U, 1U, 1U << 20U}) first.insert(secret_stream(of, why, index, part).next());
  BOOST_TEST(first.size() == 36U);
  // In pieces of any size, the same words.
  secret_stream whole(key, purpose::test);
  secret_stream pieces(key, purpose::test);
  std::vector<std::uint64_t> words(100);
  whole.fill(words);
  for (std::size_t i = 0; i < words.size(); ++i) BOOST_TEST(pieces.next() == words[i]);
  BOOST_TEST((draw_secret_key() != draw_secret_key()));
}

// Beyond 2^32 blocks the counter would reach the next index.
BOOST_AUTO_TEST_CASE(a_stream_ends_before_the_next_one_begins) {
  secret_stream stream(sha256("one"), purpose::test);
  std::uint64_t word = 0;
  BOOST_CHECK_THROW(stream.fill({&word, (std::size_t{1} << 33U) + 1}), std::length_error);
  stream.fill({&word, 1});
  BOOST_CHECK_THROW(stream.fill({&word, std::size_t{1} << 33U}), std::length_error);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
