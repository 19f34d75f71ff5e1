#include <boost/test/unit_test.hpp>
#include <numbers>
#include <set>

#include "federated/settings/devices.hpp"
#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(diurnal_availability)

using namespace furlong;
using namespace furlong::federated;
using tests::hour;
using tests::second;

namespace {

constexpr std::uint32_t clients = 20'000;

double share_at(const availability& model, virtual_time now) {
  double on = 0;
  for (std::uint32_t client = 0; client < clients; ++client) on += model.available(client, now, 0) ? 1 : 0;
  return on / clients;
}

double wave(double rate, double swing, double peak, double at) {
  return rate * (1 + (swing - 1) / (swing + 1) * std::cos(2 * std::numbers::pi * (at - peak) / 24));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_share_follows_the_hour_with_the_swing_that_was_asked_for) {
  const availability_settings of{.rate = 0.4, .swing = 4.0, .peak_hour = 2.0, .dwell = 600, .zones = 1, .trace = {}};
  const auto model = make_diurnal(of, 1, {});
  double mean = 0;
  for (int h = 0; h < 24; ++h) {
    const double seen = share_at(*model, (h + 24) * hour);
    BOOST_TEST(tests::share_fits(seen, wave(0.4, 4, 2, h), clients));
    mean += seen / 24;
  }
  BOOST_TEST(tests::share_fits(mean, 0.4, 24.0 * clients));
  const double swing = share_at(*model, 26 * hour) / share_at(*model, 38 * hour);
  BOOST_TEST(std::abs(swing - 4) < 0.25);
}

BOOST_AUTO_TEST_CASE(zones_are_an_hour_apart_and_hold_as_many_clients_each) {
  const auto world_over = make_diurnal({.rate = 0.4, .zones = 24, .trace = {}}, 1, {});
  for (const int h : {0, 7, 13, 22}) BOOST_TEST(tests::share_fits(share_at(*world_over, h * hour), 0.4, clients));
  for (const std::uint32_t zones : {2U, 6U}) {
    const auto some = make_diurnal({.rate = 0.4, .swing = 9.0, .peak_hour = 20.0, .zones = zones, .trace = {}}, 1, {});
    for (const int h : {0, 7, 13, 22}) {
      double expected = 0;
      for (std::uint32_t zone = 0; zone < zones; ++zone)
        expected += wave(0.4, 9, 20, h + static_cast<int>(zone)) / zones;
      BOOST_TEST(tests::share_fits(share_at(*some, (h + 48) * hour), expected, clients));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_state_lasts_whole_dwells_that_begin_at_each_clients_own_moment) {
  const virtual_time dwell = 1800 * second;
  const auto model = make_diurnal({}, 1, {});
  std::set<virtual_time> moments;
  tests::moments phase;
  for (std::uint32_t client = 0; client < 2000; ++client) {
    auto at = model->changes(client, 0, 0);
    moments.insert(at % dwell);
    phase.add(static_cast<double>(at % dwell) / static_cast<double>(dwell));
    for (int spell = 0; spell < 5; ++spell) {
      const auto next = model->changes(client, at, 0);
      BOOST_TEST((next - at) % dwell == 0);
      at = next;
    }
  }
  BOOST_TEST(moments.size() > 1990U);
  BOOST_TEST(std::abs(phase.mean() - 0.5) < 5 * std::sqrt(1.0 / 12 / phase.n));
  BOOST_TEST(std::abs(phase.variance() - 1.0 / 12) < 0.01);
}

BOOST_AUTO_TEST_CASE(states_of_different_dwells_are_drawn_anew) {
  const auto model = make_diurnal({.rate = 0.3, .swing = 1.0, .dwell = 600, .trace = {}}, 1, {});
  tests::moments pairs;
  for (std::uint32_t client = 0; client < clients; ++client)
    pairs.add(model->available(client, 5 * hour, 0) ? 1 : 0,
              model->available(client, 5 * hour + 600 * second, 0) ? 1 : 0);
  BOOST_TEST(std::abs(pairs.correlation()) < 5 / std::sqrt(pairs.n));
}

BOOST_AUTO_TEST_CASE(probabilities_stop_at_one) {
  const auto model =
      make_diurnal({.rate = 0.8, .swing = 4.0, .peak_hour = 2.0, .dwell = 60, .zones = 1, .trace = {}}, 1, {});
  BOOST_TEST(share_at(*model, 26 * hour) == 1.0);
  BOOST_TEST(tests::share_fits(share_at(*model, 38 * hour), 0.8 * 0.4, clients));
}

BOOST_AUTO_TEST_SUITE_END()
