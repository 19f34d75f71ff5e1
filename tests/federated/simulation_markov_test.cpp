// The chain against its closed form, wherever and in whatever order it is looked at.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>

#include "federated/settings/devices.hpp"
#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(markov_availability)

using namespace furlong;
using namespace furlong::federated;
using tests::second;

namespace {

constexpr virtual_time step = 60 * second;

struct chain {
  double share;
  double ends;  ///< probability that an available spell ends with a slot
  double begins;
  std::unique_ptr<availability> model;

  chain(double rate, double mean_online_slots, std::uint64_t seed = 1)
      : share(rate), ends(1 / mean_online_slots), begins(ends * rate / (1 - rate)) {
    model = make_markov({.rate = rate, .mean_online = 60 * mean_online_slots, .step = 60, .trace = {}}, seed, {});
  }
  [[nodiscard]] bool at(std::uint32_t client, std::uint64_t slot) const {
    return model->available(client, static_cast<virtual_time>(slot) * step + 17, 0);
  }
  /// Probability of state `to` n slots after state `from`.
  [[nodiscard]] double reaches(bool from, bool to, std::uint64_t n) const {
    const double memory = std::pow(1 - ends - begins, static_cast<double>(n));
    const double on = share + ((from ? 1.0 : 0.0) - share) * memory;
    return to ? on : 1 - on;
  }
};

/// Chi-square of the states of many clients at `slots`, ascending, looked at in the order of `order`, against the
/// chain's joint distribution.
double misfit(const chain& of, std::span<const std::uint64_t> slots, std::span<const std::size_t> order,
              std::uint32_t clients) {
  std::vector<double> seen(std::size_t{1} << slots.size(), 0.0);
  for (std::uint32_t client = 0; client < clients; ++client) {
    std::size_t pattern = 0;
    for (const auto which : order) pattern |= static_cast<std::size_t>(of.at(client, slots[which])) << which;
    seen[pattern] += 1;
  }
  double sum = 0;
  for (std::size_t pattern = 0; pattern < seen.size(); ++pattern) {
    const auto state = [&](std::size_t i) { return (pattern >> i & 1) == 1; };
    double p = state(0) ? of.share : 1 - of.share;
    for (std::size_t i = 1; i < slots.size(); ++i) p *= of.reaches(state(i - 1), state(i), slots[i] - slots[i - 1]);
    const double expected = p * clients;
    sum += (seen[pattern] - expected) * (seen[pattern] - expected) / expected;
  }
  return sum;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_share_of_clients_available_is_the_same_at_every_moment) {
  constexpr std::uint32_t clients = 20'000;
  for (const double rate : {0.05, 0.5, 0.8}) {
    const chain of(rate, 40);
    for (const std::uint64_t slot : {0ULL, 1ULL, 2ULL, 1000ULL, 1023ULL, 1024ULL, 4'000'000'000ULL}) {
      double on = 0;
      for (std::uint32_t client = 0; client < clients; ++client) on += of.at(client, slot) ? 1 : 0;
      BOOST_TEST(tests::share_fits(on / clients, rate, clients));
    }
  }
}

BOOST_AUTO_TEST_CASE(spells_have_geometric_lengths_of_the_means_that_were_asked_for) {
  for (const auto& [rate, mean] : {std::pair{0.3, 15.0}, {0.1, 1.1}}) {
    const chain of(rate, mean);
    std::array<tests::moments, 2> slots;  // by state
    std::array<double, 2> shortest{};
    for (std::uint32_t client = 0; client < 500; ++client) {
      auto at = of.model->changes(client, 0, 0);
      for (int spell = 0; spell < 200; ++spell) {
        const auto next = of.model->changes(client, at, 0);
        BOOST_TEST_REQUIRE((next - at) % step == 0);
        const auto state = static_cast<std::size_t>(of.model->available(client, at, 0));
        slots[state].add(static_cast<double>((next - at) / step));
        if (next - at == step) shortest[state] += 1;
        at = next;
      }
    }
    for (const std::size_t state : {0U, 1U}) {
      const double ends = state == 1 ? of.ends : of.begins;
      const double deviation = std::sqrt(1 - ends) / ends;
      const double n = slots[state].n;
      BOOST_TEST(std::abs(slots[state].mean() - 1 / ends) < 5 * deviation / std::sqrt(n));
      // The kurtosis of a geometric length is 9 + p^2 / (1 - p).
      const double spread = std::sqrt((8 + ends * ends / (1 - ends)) / n);
      BOOST_TEST(std::abs(slots[state].variance() / (deviation * deviation) - 1) < 5 * spread);
      BOOST_TEST(tests::share_fits(shortest[state] / n, ends, n));
    }
  }
}

BOOST_AUTO_TEST_CASE(the_correlation_over_a_lag_is_that_of_the_chain) {
  const chain of(0.4, 30);
  constexpr std::uint32_t clients = 40'000;
  for (const std::uint64_t lag : {1U, 2U, 5U, 17U, 64U, 300U})
    for (const bool across_blocks : {false, true}) {
      tests::moments pairs;
      random_stream stream(1, purpose::test);
      for (std::uint32_t client = 0; client < clients; ++client) {
        const std::uint64_t from = across_blocks ? 4096 * 9 - 1 : stream.below(1U << 20);
        pairs.add(of.at(client, from) ? 1 : 0, of.at(client, from + lag) ? 1 : 0);
      }
      const double expected = std::pow(1 - of.ends - of.begins, static_cast<double>(lag));
      BOOST_TEST(std::abs(pairs.correlation() - expected) < 5 / std::sqrt(clients));
    }
}

BOOST_AUTO_TEST_CASE(neighbouring_slots_have_the_chains_joint_distribution_in_any_order_of_questions) {
  constexpr std::uint32_t clients = 50'000;
  const std::vector<std::size_t> orders[] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
  std::uint64_t seed = 10;
  for (const auto& [rate, mean] : {std::pair{0.5, 3.0}, {0.2, 6.0}, {0.75, 2.9}, {0.3, 1.2}, {0.6, 1.6}, {0.5, 40.0}})
    for (const std::uint64_t at : {0U, 62U, 1023U, 7'654'321U, 1U << 30})
      for (const auto& gaps : {std::array<std::uint64_t, 3>{1, 1, 1}, {3, 1, 9}, {1, 30, 2}}) {
        const chain of(rate, mean, ++seed);
        const std::array<std::uint64_t, 4> slots{at, at + gaps[0], at + gaps[0] + gaps[1],
                                                 at + gaps[0] + gaps[1] + gaps[2]};
        const double sum = misfit(of, slots, orders[seed % 3], clients);
        // Chi-square of 15 degrees of freedom exceeds 56 once in 10^6 tables.
        BOOST_TEST(sum < 56.0, "rate " << rate << ", mean " << mean << ", slot " << at << ": chi-square " << sum);
      }
}

BOOST_AUTO_TEST_CASE(where_spells_would_be_shorter_than_a_slot_the_share_holds) {
  // Offline spells of 2/9 of a slot cannot be: they last one slot, and available ones nine.
  const auto model = make_markov({.rate = 0.9, .mean_online = 120, .step = 60, .trace = {}}, 1, {});
  double on = 0;
  constexpr std::uint32_t clients = 20'000;
  for (std::uint32_t client = 0; client < clients; ++client) {
    if (model->available(client, 5000 * step, 0)) {
      ++on;
      continue;
    }
    BOOST_TEST(model->changes(client, 5000 * step, 0) == 5001 * step);
  }
  BOOST_TEST(tests::share_fits(on / clients, 0.9, clients));
}

BOOST_AUTO_TEST_CASE(a_chain_that_alternates_does_so_for_ever) {
  const auto model = make_markov({.rate = 0.5, .mean_online = 10, .step = 60, .trace = {}}, 1, {});
  std::size_t on = 0;
  for (std::uint32_t client = 0; client < 100; ++client) {
    const bool start = model->available(client, 0, 0);
    if (start) ++on;
    for (const virtual_time slot : {1, 2, 3, 1000, 1001, 123'456'789}) {
      BOOST_TEST(model->available(client, slot * step, 0) == (start == (slot % 2 == 0)));
      BOOST_TEST(model->changes(client, slot * step, 0) == (slot + 1) * step);
    }
  }
  BOOST_TEST((on > 25 && on < 75));
}

BOOST_AUTO_TEST_CASE(spells_of_years_are_found) {
  constexpr double year = 365.25 * 86'400;
  const auto model = make_markov({.rate = 0.5, .mean_online = 2 * year, .step = 60, .trace = {}}, 1, {});
  tests::moments spells;
  for (std::uint32_t client = 0; client < 4000; ++client) {
    const auto at = model->changes(client, 0, 0);
    BOOST_TEST_REQUIRE(at < never);
    spells.add(to_seconds(at) / year);  // memoryless: what is left of a spell is as long as a spell
  }
  BOOST_TEST(std::abs(spells.mean() - 2) < 5 * 2 / std::sqrt(spells.n));
}

BOOST_AUTO_TEST_SUITE_END()
