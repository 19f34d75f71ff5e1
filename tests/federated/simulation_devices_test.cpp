#include <boost/test/unit_test.hpp>
#include <limits>
#include <map>

#include "federated/settings/devices.hpp"
#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(simulated_devices)

using namespace furlong;
using namespace furlong::federated;

namespace {

constexpr std::uint32_t many = 40'000;
const double tolerance = 5 / std::sqrt(many);  // five standard errors of a mean of standard normals

const tests::counted_population clients;

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_without_spread_is_what_the_settings_say) {
  device_settings of;
  of.ms_per_example = 4.0;
  of.mbit = 16.0;
  of.speed_sigma = 0.0;
  of.network_sigma = 0.0;
  const device_park park(of, 1, clients);
  for (const std::uint32_t client : {0U, 1U, 999'999U}) {
    BOOST_TEST(park.of(client).seconds_per_example == 0.012);  // three times the forward pass
    BOOST_TEST(park.of(client).bytes_per_second == 2e6);
  }
}

BOOST_AUTO_TEST_CASE(speed_and_network_are_lognormal_and_independent) {
  device_settings of;
  of.ms_per_example = 4.0;
  of.speed_sigma = 0.8;
  of.mbit = 16.0;
  of.network_sigma = 0.3;
  const device_park park(of, 1, clients);
  tests::moments logs;
  tests::moments network;
  for (std::uint32_t client = 0; client < many; ++client) {
    const auto own = park.of(client);
    logs.add(std::log(own.seconds_per_example / 0.012) / 0.8, std::log(own.bytes_per_second / 2e6) / 0.3);
    network.add(std::log(own.bytes_per_second / 2e6) / 0.3);
  }
  for (const auto* of_one : {&logs, &network}) {
    BOOST_TEST(std::abs(of_one->mean()) < tolerance);
    BOOST_TEST(std::abs(of_one->variance() - 1) < tolerance * std::sqrt(2.0));
  }
  BOOST_TEST(std::abs(logs.correlation()) < tolerance);
}

// Row c modulo the rows; what a row does not say is drawn as without it.
BOOST_AUTO_TEST_CASE(a_recorded_device_replaces_what_it_says) {
  device_settings of;
  of.classes = {{.ms_per_example = 2, .mbit = 80, .download = 0.125, .train = 0.25}};
  auto table = std::make_shared<device_table>();
  table->devices = 3;
  table->ms_per_example = {100, device_table::unknown, 7};
  table->dropout[1] = {device_table::unknown, 1, 0};
  table->dropout[2] = {0.5, device_table::unknown, 0};
  const device_park drawn(of, 1, clients);
  const device_park park(of, 1, clients, table);
  for (std::uint32_t client = 0; client < 9; ++client) {
    const auto is = park.of(client);
    const auto without = drawn.of(client);
    const auto row = client % 3;
    BOOST_TEST(is.seconds_per_example == (row == 0 ? 0.3 : row == 1 ? without.seconds_per_example : 0.021));
    BOOST_TEST(is.bytes_per_second == without.bytes_per_second);
    BOOST_TEST((is.dropout[0] == std::optional(0.125)));
    BOOST_TEST((is.dropout[1] == std::optional(row == 0 ? 0.25 : row == 1 ? 1.0 : 0.0)));
    BOOST_TEST((is.dropout[2] == (row == 0 ? std::optional(0.5) : row == 1 ? std::nullopt : std::optional(0.0))));
  }
  table->mbit = {8, 16, device_table::unknown};
  BOOST_TEST(park.of(3).bytes_per_second == 1e6);
  BOOST_TEST(park.of(4).bytes_per_second == 2e6);
  BOOST_TEST(park.of(5).bytes_per_second == drawn.of(5).bytes_per_second);
}

BOOST_AUTO_TEST_CASE(devices_are_keyed_by_seed_and_client) {
  const device_park park({}, 1, clients);
  const device_park same({}, 1, clients);
  const device_park other({}, 2, clients);
  for (std::uint32_t client = 100; client-- > 0;) {
    BOOST_TEST(park.of(client).seconds_per_example == same.of(client).seconds_per_example);
    BOOST_TEST(park.of(client).seconds_per_example != other.of(client).seconds_per_example);
    BOOST_TEST(park.of(client).seconds_per_example != park.of(client + 1).seconds_per_example);
  }
}

BOOST_AUTO_TEST_CASE(scores_have_the_correlations_that_were_asked_for) {
  struct asked {
    double speed_availability, speed_taste, availability_taste;
  };
  for (const auto& [sa, st, at] :
       {asked{0, 0, 0}, {0.6, 0, 0}, {0, -0.5, 0}, {0, 0, 0.7}, {0.5, -0.3, 0.4}, {0.6, 0.8, 0.0}, {-1, 0.2, -0.2}}) {
    BOOST_TEST_REQUIRE(can_hold(sa, st, at));
    device_settings of;
    of.speed_availability = sa;
    of.speed_taste = st;
    of.availability_taste = at;
    const device_park park(of, 3, clients);
    tests::moments speed_availability;
    tests::moments speed_taste;
    tests::moments availability_taste;
    for (std::uint32_t client = 0; client < many; ++client) {
      const auto scores = park.scores_of(client);
      const double taste = clients.taste(client);
      speed_availability.add(scores.speed, scores.availability);
      speed_taste.add(scores.speed, taste);
      availability_taste.add(scores.availability, taste);
      const double expected = 0.015 * std::exp(-0.6 * scores.speed);
      BOOST_TEST_REQUIRE(std::abs(park.of(client).seconds_per_example / expected - 1) < 1e-9);
    }
    BOOST_TEST(std::abs(speed_availability.correlation() - sa) < tolerance);
    BOOST_TEST(std::abs(speed_taste.correlation() - st) < tolerance);
    BOOST_TEST(std::abs(availability_taste.correlation() - at) < tolerance);
    for (const auto* one : {&speed_availability, &availability_taste}) {
      BOOST_TEST(std::abs(one->mean()) < tolerance);
      BOOST_TEST(std::abs(one->variance() - 1) < tolerance * std::sqrt(2.0));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_perfect_correlation_is_an_equality) {
  device_settings of;
  of.speed_availability = of.speed_taste = of.availability_taste = 1.0;
  const device_park park(of, 3, clients);
  for (std::uint32_t client = 0; client < 100; ++client) {
    BOOST_TEST(park.scores_of(client).speed == clients.taste(client));
    BOOST_TEST(park.scores_of(client).availability == clients.taste(client));
  }
}

BOOST_AUTO_TEST_CASE(correlations_that_contradict_each_other_are_told) {
  BOOST_TEST(can_hold(0, 0, 0));
  BOOST_TEST(can_hold(1, 1, 1));
  BOOST_TEST(can_hold(1, -1, -1));
  BOOST_TEST(can_hold(0.6, 0.8, 0));
  BOOST_TEST(!can_hold(0.6, 0.81, 0));
  BOOST_TEST(!can_hold(1, 1, -1));
  BOOST_TEST(!can_hold(0.9, 0.9, 0));
  BOOST_TEST(!can_hold(0.9, -0.9, 0.9));
  BOOST_TEST(!can_hold(1.1, 1.1, 1.1));
  BOOST_TEST(!can_hold(-1.5, 0, 0));
  BOOST_TEST(!can_hold(std::numeric_limits<double>::quiet_NaN(), 0, 0));
}

BOOST_AUTO_TEST_CASE(classes_have_their_shares_and_follow_the_score_of_speed) {
  device_settings of;
  of.classes = {{.share = 1, .ms_per_example = 2, .mbit = 80},
                {.share = 5, .ms_per_example = 20, .mbit = 4},
                {.share = 2, .ms_per_example = 8, .mbit = 8}};
  for (const double speed_taste : {0.0, 0.8}) {
    of.speed_taste = speed_taste;
    const device_park park(of, 3, clients);
    std::map<double, tests::moments> tastes;  // by seconds per example
    std::map<double, std::pair<double, double>> score_range;
    for (std::uint32_t client = 0; client < many; ++client) {
      const auto own = park.of(client);
      const double score = park.scores_of(client).speed;
      auto [at, added] = score_range.try_emplace(own.seconds_per_example, score, score);
      at->second = {std::min(at->second.first, score), std::max(at->second.second, score)};
      tastes[own.seconds_per_example].add(clients.taste(client));
      BOOST_TEST_REQUIRE(own.bytes_per_second == (own.seconds_per_example == 0.006  ? 1e7
                                                  : own.seconds_per_example == 0.06 ? 5e5
                                                                                    : 1e6));
    }
    BOOST_TEST_REQUIRE(tastes.size() == 3U);
    BOOST_TEST(tests::share_fits(tastes[0.006].n / many, 1.0 / 8, many));
    BOOST_TEST(tests::share_fits(tastes[0.06].n / many, 5.0 / 8, many));
    BOOST_TEST(score_range[0.06].second < score_range[0.024].first);
    BOOST_TEST(score_range[0.024].second < score_range[0.006].first);
    const double ahead = tastes[0.006].mean() - tastes[0.06].mean();
    if (speed_taste == 0.0)
      BOOST_TEST(std::abs(ahead) < 0.1);
    else
      BOOST_TEST(ahead > 1.0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
