// privacy.noise is sized by how far one update moves the aggregate of the rule.
#include "federated/privacy/server_noise.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(rule_sensitivity)

using namespace furlong;
using namespace furlong::federated;

namespace {

experiment noisy(double sensitivity) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("uniform-mean");
  settings.aggregation->rule.traits.sensitivity = sensitivity;
  settings.aggregation->norm_bound = norm_bound_kind::fixed;
  *settings.privacy = {.clip = 0.5, .noise = 1.2};
  return tests::make_experiment(settings, tests::make_ratings(9), {}, {});
}

/// The noise on an aggregate of eight updates.
std::vector<float> noise_of(const experiment& e) {
  aggregate round;
  round.count = 8;
  round.change = models::shared_parameters(e.parts.shared);
  add_server_noise(e, initial_state(e), round);
  return {round.change.values().begin(), round.change.values().end()};
}

}  // namespace

// A median of the means of five buckets moves five times as far as a mean.
BOOST_AUTO_TEST_CASE(noise_grows_with_the_sensitivity) {
  const auto of_mean = noise_of(noisy(1.0));
  for (const double sensitivity : {5.0, 0.25}) {
    const auto made = noise_of(noisy(sensitivity));
    BOOST_REQUIRE(made.size() == of_mean.size());
    for (std::size_t i = 0; i < made.size(); ++i)
      BOOST_TEST(made[i] == static_cast<float>(sensitivity) * of_mean[i], boost::test_tools::tolerance(1e-5F));
    BOOST_TEST(check_noise(noisy(sensitivity), 17).has_value());
  }
}

BOOST_AUTO_TEST_CASE(noise_needs_a_sensitivity) {
  const auto fits = check_noise(noisy(0.0), 17);
  BOOST_REQUIRE(!fits.has_value());
  BOOST_TEST(fits.error().text() ==
             "privacy.noise: is above 0, and how far one update moves the aggregate of aggregation.rule = "
             "\"uniform-mean\" is not stated; choose another rule, or state the sensitivity in its traits");
}

BOOST_AUTO_TEST_SUITE_END()
