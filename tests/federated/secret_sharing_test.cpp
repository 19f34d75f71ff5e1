#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/privacy/secure_aggregation/shamir.hpp"
#include "tests/federated/seeded_source.hpp"

namespace furlong::federated::privacy {

BOOST_AUTO_TEST_SUITE(secret_sharing)

BOOST_AUTO_TEST_CASE(a_threshold_of_shares_restores_a_secret_and_fewer_do_not) {
  const auto random = seeded(1);
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto secret = crypto::random_key(random);
    const std::vector<std::uint32_t> holders = {0, 5, 9, 4'000'000'000U, 17, 2};
    const auto shares = split_secret(secret, holders, 4, random);
    for (std::size_t left = 0; left < 3; ++left) {
      std::vector<std::uint32_t> some(holders.begin() + static_cast<std::ptrdiff_t>(left), holders.end());
      std::vector<secret_share> theirs(shares.begin() + static_cast<std::ptrdiff_t>(left), shares.end());
      BOOST_TEST((combine_shares(some, theirs) == std::optional(secret)));
    }
    const auto few = combine_shares(std::span(holders).first(3), std::span(shares).first(3));
    BOOST_TEST((!few || *few != secret));
    BOOST_TEST(!combine_shares(std::vector<std::uint32_t>{1, 1}, std::vector<secret_share>(2)));
  }
}

/// With one share fewer than the threshold every secret is possible: the first coefficient is independent of it.
BOOST_AUTO_TEST_CASE(fewer_shares_than_the_threshold_are_uniform) {
  const auto random = seeded(2);
  std::array<std::size_t, 16> seen{};
  const crypto::key zero{};
  const std::vector<std::uint32_t> holders = {3, 4};
  for (int i = 0; i < 8000; ++i) ++seen[split_secret(zero, holders, 2, random)[0][0] >> 57U];
  double chi = 0;  // 15 degrees of freedom: 37.7 at 0.1 %
  for (const auto count : seen) chi += std::pow(static_cast<double>(count) - 500.0, 2) / 500.0;
  BOOST_TEST(chi < 45.0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::federated::privacy
