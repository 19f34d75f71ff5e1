// Sizes of updates by level, and the limits that follow from them.
#include "federated/settings/update_size.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(update_size)

using federated::fault_of;
using federated::level_of_square;
using federated::norm_bound_kind;
using federated::size_counts;
using federated::size_fault;
using federated::size_history;
using federated::update_limits;

namespace {

/// So many updates of this norm and weight.
size_counts updates(std::uint32_t count, double norm, double weight = 0.0) {
  size_counts made;
  made.norms.add(level_of_square(norm * norm), count);
  if (weight > 0) made.weights.add(level_of_square(weight * weight), count);
  return made;
}

size_counts operator+(size_counts a, const size_counts& b) {
  for (std::size_t level = 0; level < federated::size_level_count; ++level) {
    a.norms.by_level()[level] += b.norms.by_level()[level];
    a.weights.by_level()[level] += b.weights.by_level()[level];
  }
  return a;
}

double norm_limit(const size_history& of) { return federated::top_of(of.limits(norm_bound_kind::adaptive).norm); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_level_ends_at_its_top_and_begins_above_the_one_before) {
  for (int level = 2; level < 255; ++level) {
    const auto l = static_cast<federated::size_level>(level);
    const double top = federated::top_of(l);
    BOOST_TEST(top == std::exp2((level - 127) / 4.0), boost::test_tools::tolerance(1e-15));
    const double below = top * (1 - 1e-12);
    const double above = top * (1 + 1e-12);
    BOOST_TEST(level_of_square(below * below) == l);
    BOOST_TEST(level_of_square(above * above) == l + 1);
  }
  // Powers of two have squares without rounding: they belong to the level that they end.
  for (int exponent = -30; exponent <= 30; ++exponent)
    BOOST_TEST(level_of_square(std::ldexp(1.0, 2 * exponent)) == 127 + 4 * exponent);
}

BOOST_AUTO_TEST_CASE(sizes_beyond_all_levels_have_the_first_or_the_last) {
  BOOST_TEST(level_of_square(0.0) == 1);
  BOOST_TEST(level_of_square(1e-300) == 1);
  BOOST_TEST(level_of_square(1e300) == 255);
}

BOOST_AUTO_TEST_CASE(there_is_no_limit_before_a_few_updates_are_known) {
  size_history of;
  BOOST_TEST((of.limits(norm_bound_kind::adaptive) == update_limits{}));
  of.close(updates(4, 1.0));
  BOOST_TEST((of.limits(norm_bound_kind::adaptive) == update_limits{}));
  of.close(updates(1, 1.0));
  BOOST_TEST(of.limits(norm_bound_kind::adaptive).norm != 0);
  BOOST_TEST(of.limits(norm_bound_kind::adaptive).weight == 0);  // no weight was counted
}

BOOST_AUTO_TEST_CASE(the_limit_is_a_multiple_of_the_median_or_of_the_ninetieth_percentile) {
  size_history narrow;
  narrow.close(updates(60, 1.0) + updates(40, 0.25));
  BOOST_TEST(norm_limit(narrow) == std::exp2(16 / 4.0), boost::test_tools::tolerance(1e-15));
  size_history larger;
  larger.close(updates(60, 8.0) + updates(40, 2.0));
  BOOST_TEST(norm_limit(larger) == 8 * norm_limit(narrow));
  size_history wide;
  wide.close(updates(89, 1.0) + updates(11, 4.0));
  BOOST_TEST(norm_limit(wide) == 4 * std::exp2(13 / 4.0), boost::test_tools::tolerance(1e-15));
}

BOOST_AUTO_TEST_CASE(less_than_half_do_not_move_the_limit_beyond_a_multiple_of_the_median) {
  for (const std::uint32_t bad : {1U, 2U, 4U}) {
    size_history small;
    small.close(updates(10 - bad, 1.0) + updates(bad, 1024.0));
    BOOST_TEST(norm_limit(small) <= std::exp2(22 / 4.0));
    const auto clip = small.limits(norm_bound_kind::clip);
    BOOST_TEST(clip.norm == level_of_square(1.0) + 6);
    BOOST_TEST(small.limits(norm_bound_kind::clip, true).norm == clip.norm + 1);
  }
}

BOOST_AUTO_TEST_CASE(with_fixed_bounds_there_is_no_limit) {
  size_history of;
  of.close(updates(100, 1.0, 3));
  BOOST_TEST((of.limits(norm_bound_kind::fixed) == update_limits{}));
  BOOST_TEST(of.limits(norm_bound_kind::clip).weight == of.limits(norm_bound_kind::adaptive).weight);
}

BOOST_AUTO_TEST_CASE(less_than_a_tenth_do_not_move_the_limit_however_large_their_updates_are) {
  size_history honest;
  honest.close(updates(100, 1.0));
  const auto limit = honest.limits(norm_bound_kind::adaptive);
  auto attacked = honest;
  for (int version = 0; version < 1000; ++version)
    attacked.close(updates(91, 1.0) + updates(9, federated::top_of(attacked.limits(norm_bound_kind::adaptive).norm)));
  BOOST_TEST((attacked.limits(norm_bound_kind::adaptive) == limit));
}

BOOST_AUTO_TEST_CASE(the_limit_follows_when_most_updates_grow_or_shrink) {
  for (const double factor : {1000.0, 0.001}) {
    size_history of;
    of.close(updates(100, 1.0));
    const double before = norm_limit(of);
    for (int version = 0; version < 6; ++version) of.close(updates(100, factor));
    BOOST_TEST(norm_limit(of) > 0.8 * factor * before);
    BOOST_TEST(norm_limit(of) < 1.25 * factor * before);
  }
}

BOOST_AUTO_TEST_CASE(small_versions_add_up_to_a_memory_of_many_updates) {
  size_history of;
  for (int version = 0; version < 300; ++version) of.close(updates(1, 1.0));
  const auto limit = of.limits(norm_bound_kind::adaptive);
  BOOST_TEST(of.recent().norms.total() <= 300U);
  BOOST_TEST(of.recent().norms.total() >= 200U);
  for (int version = 0; version < 20; ++version) of.close(updates(1, 1e6));
  BOOST_TEST((of.limits(norm_bound_kind::adaptive) == limit));
}

BOOST_AUTO_TEST_CASE(the_order_in_which_updates_are_counted_does_not_matter) {
  size_history one;
  one.close(updates(3, 1.0, 50) + updates(2, 4.0, 20));
  size_history other;
  other.close(updates(2, 4.0, 20) + updates(3, 1.0, 50));
  BOOST_TEST((one == other));
  BOOST_TEST((size_history(one.recent()) == one));
}

BOOST_AUTO_TEST_CASE(an_outlier_of_updates_without_a_limit_is_seen_by_the_others) {
  const size_history nothing;
  const auto fault = [](const size_history& before, const size_counts& version) {
    return fault_of(before, version, version);
  };
  BOOST_TEST((fault(nothing, {}) == size_fault::none));
  BOOST_TEST((fault(nothing, updates(99, 1.0)) == size_fault::none));
  BOOST_TEST((fault(nothing, updates(99, 1.0) + updates(1, 1000.0)) == size_fault::outlier));
  BOOST_TEST((fault(nothing, updates(9, 1.0) + updates(1, 1000.0)) == size_fault::outlier));
  BOOST_TEST((fault(nothing, updates(8, 1.0) + updates(2, 1000.0)) == size_fault::outlier));
  BOOST_TEST((fault(nothing, updates(99, 1.0, 30) + updates(1, 1.0, 1e6)) == size_fault::outlier));
  BOOST_TEST((fault(nothing, updates(1, 1.0)) == size_fault::unknown));  // nothing to compare it with
  for (const std::uint32_t honest : {1U, 2U, 3U}) {
    BOOST_TEST((fault(nothing, updates(honest, 1.0) + updates(1, 40.0)) == size_fault::none));
    BOOST_TEST((fault(nothing, updates(honest, 1.0) + updates(1, 1000.0)) == size_fault::outlier));
  }
  size_history few;
  few.close(updates(4, 1.0));
  BOOST_TEST((fault(few, updates(1, 1.0)) == size_fault::none));
  BOOST_TEST((fault(few, updates(1, 1000.0)) == size_fault::outlier));
}

BOOST_AUTO_TEST_CASE(updates_with_a_limit_were_judged_by_it) {
  size_history known;
  known.close(updates(100, 1.0));
  const auto version = updates(99, 1.0) + updates(1, 1000.0);
  BOOST_TEST((fault_of(known, version, {}) == size_fault::none));
  BOOST_TEST((fault_of(known, version, updates(1, 1.0)) == size_fault::none));
  BOOST_TEST((fault_of(known, version, updates(1, 1000.0)) == size_fault::outlier));  // of an early start, late
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
