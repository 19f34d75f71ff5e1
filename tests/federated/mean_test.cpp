#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(mean_rules)

using namespace furlong;

namespace {

/// sum of weight * change / sum of weight, in long double.
std::vector<long double> exact_mean(const std::vector<federated::client_update>& updates, bool weighted) {
  std::vector<long double> sum(updates.front().change.shape->size(), 0.0L);
  long double total = 0.0L;
  for (const auto& update : updates) {
    const long double weight = weighted ? update.weight : 1.0L;
    const auto dense = models::to_dense(update.change);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += weight * static_cast<long double>(dense.values[i]);
    total += weight;
  }
  for (auto& value : sum) value /= total;
  return sum;
}

}  // namespace

// accumulator.hpp: an update's rounding error is at most half a unit of 2^-k. The largest k is 50 minus the bits of the
// norm bound and, weighted, of the weight bound (or 42 for 2^20 unweighted updates).
BOOST_AUTO_TEST_CASE(the_mean_is_exact_to_the_stated_bound) {
  for (const bool weighted : {true, false})
    for (const double bound : {8.0, 1024.0, 0x1p20}) {
      federated::aggregation_settings settings;
      settings.rule = federated::chosen_rule(weighted ? "mean" : "uniform-mean");
      settings.max_norm = bound;
      settings.max_weight = 1U << 12;
      const auto updates = tests::random_updates(9, 60, tests::mixed_layout());
      const auto sum = federated::make_accumulator(settings, tests::mixed_layout(), {});
      for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
      const auto round = sum->report();
      const auto expected = exact_mean(updates, weighted);
      const double unit = std::ldexp(1.0, (weighted ? 12 - 50 : -42) + static_cast<int>(std::log2(bound)));
      const double divisor = weighted ? static_cast<double>(round.weight) : static_cast<double>(round.count);
      const double rounding = static_cast<double>(updates.size()) * unit / 2 / divisor;
      for (std::size_t i = 0; i < expected.size(); ++i) {
        const auto value = static_cast<double>(expected[i]);
        BOOST_TEST(std::abs(round.change.values()[i] - value) <= rounding + std::abs(value) * 0x1p-24);
      }
    }
}

BOOST_AUTO_TEST_CASE(one_update_comes_back_as_it_was) {
  federated::aggregation_settings settings;
  auto updates = tests::random_updates(10, 1, tests::mixed_layout());
  for (auto& value : updates[0].change.values) value = std::ldexp(std::round(value * 1024.0F), -10);  // on the grid
  const auto sum = federated::make_accumulator(settings, tests::mixed_layout(), {});
  BOOST_REQUIRE(!sum->fold(updates[0]));
  const auto round = sum->report();
  const auto dense = models::to_dense(updates[0].change);
  for (std::size_t i = 0; i < dense.values.size(); ++i) BOOST_TEST(round.change.values()[i] == dense.values[i]);
}

// As many updates as there may be, each as large and as heavy as it may be.
BOOST_AUTO_TEST_CASE(a_full_sum_of_the_largest_updates_does_not_overflow) {
  for (const char* rule : {"mean", "uniform-mean"}) {
    federated::aggregation_settings settings;
    settings.rule = federated::chosen_rule(rule);
    settings.max_norm = 64.0;
    settings.max_weight = 16;
    settings.max_updates = 1U << 14;
    const auto one = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"value", 1, 1}});
    const auto sum = federated::make_accumulator(settings, one, {});
    federated::client_update update;
    update.weight = settings.max_weight;
    update.change = {one, {{false, 0, 0, 0}}, {}, {64.0F}};
    for (std::uint32_t i = 0; i < settings.max_updates; ++i) BOOST_REQUIRE(!sum->fold(update));
    BOOST_TEST(sum->report().change.values()[0] == 64.0F);
  }
}

BOOST_AUTO_TEST_CASE(count_and_total_weight_are_capped) {
  federated::aggregation_settings settings;
  settings.max_weight = 16;
  settings.max_updates = 8;  // and so 128 in all
  const auto sum = federated::make_accumulator(settings, tests::mixed_layout(), {});
  auto update = tests::random_updates(11, 1, tests::mixed_layout())[0];
  update.weight = 120;  // more than validation lets through
  BOOST_REQUIRE(!sum->fold(update));
  update.weight = 9;
  BOOST_TEST((sum->fold(update) == federated::rejection::weight_bound));
  BOOST_TEST(sum->weight() == 120U);
  update.weight = 1;
  for (int i = 0; i < 7; ++i) BOOST_REQUIRE(!sum->fold(update));
  BOOST_TEST(sum->weight() == 127U);
  BOOST_TEST((sum->fold(update) == federated::rejection::weight_bound));  // the ninth update
  BOOST_TEST(sum->count() == 8U);
}

// A uniform mean of the largest values and the most updates that validation lets through is still exact.
BOOST_AUTO_TEST_CASE(the_largest_sums_do_not_overflow) {
  for (const auto rule : {"mean", "uniform-mean"}) {
    federated::aggregation_settings settings;
    settings.rule = federated::chosen_rule(rule);
    settings.max_norm = 1000.0;  // not a power of two
    settings.max_weight = 1000;
    const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"w", 1, 2}});
    const auto sum = federated::make_accumulator(settings, shape, {});
    federated::client_update update;
    update.weight = 1000;
    update.change = {shape, {{false, 0, 0, 0}}, {}, {1000.0F, 0.0F}};
    BOOST_REQUIRE(!sum->fold(update));
    for (int i = 0; i < 12; ++i) BOOST_REQUIRE(sum->merge(sum->save()));
    BOOST_TEST(!sum->merge(sum->save()));
    BOOST_TEST(sum->report().change.values()[0] == 1000.0F);
  }
}

BOOST_AUTO_TEST_CASE(a_loss_that_lies_cannot_overflow_the_report) {
  federated::aggregation_settings settings;
  const auto sum = federated::make_accumulator(settings, tests::mixed_layout(), {});
  auto updates = tests::random_updates(12, 3, tests::mixed_layout());
  updates[0].loss_sum = 1e300;
  updates[1].loss_sum = -1e300;
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  BOOST_TEST(sum->loss_fixed() >= 0);
  BOOST_TEST(sum->loss_fixed() <= std::int64_t{3} << 50);
}

BOOST_AUTO_TEST_SUITE_END()
