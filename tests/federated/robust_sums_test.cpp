// Robust rules in accumulators: as sums of integers, in any order and tree, or with the updates held.
#include "federated/aggregation/rule.hpp"
#include "tests/federated/robust_cases.hpp"
#include "tests/support/experiments.hpp"

BOOST_AUTO_TEST_SUITE(robust_sums)

using namespace furlong;
using namespace furlong::federated;
using tests::check_near;
using tests::nine_updates;
using tests::option_changes;
using tests::settings_of;

namespace {

constexpr double as_float = 2e-7;  // of values below 2: half a unit of float32, twice

aggregate aggregate_of(const aggregation_settings& settings, const std::vector<client_update>& updates,
                       const std::vector<double>& reference = {}) {
  const auto sum = make_accumulator(settings, updates.front().change.shape, reference);
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  return sum->report();
}

std::vector<client_update> nine() { return tests::updates_of(nine_updates(), tests::one_tensor(4)); }

}  // namespace

BOOST_AUTO_TEST_CASE(rules_that_hold_updates_report_what_they_are_in_double) {
  for (const auto& rule : robust::robust_rules()) BOOST_TEST_CONTEXT(rule.kind) {
      const auto made = aggregate_of(settings_of(rule.kind, {{"tolerate", 1.0}}), nine());
      BOOST_TEST(made.usable);
      BOOST_TEST(made.updates.empty());
      check_near(made.change.values(), tests::robust_of(rule.kind, nine_updates(), 1.0), as_float);
    }
}

BOOST_AUTO_TEST_CASE(steps_before_a_rule_are_keys_of_it) {
  const option_changes both = {{"tolerate", 2.0}, {"before", std::vector<std::string>{"arc", "nnm"}}};
  check_near(aggregate_of(settings_of("trimmed-mean", both), nine()).change.values(),
             {0.9750902356, 0.5, -0.2541516274, 1.8334837261}, as_float);
}

BOOST_AUTO_TEST_CASE(too_few_reports_leave_the_model_as_it_is) {
  auto updates = nine();
  updates.resize(4);
  const auto made = aggregate_of(settings_of("median", {{"tolerate", 2.0}}), updates);
  BOOST_TEST(!made.usable);
  for (const auto value : made.change.values()) BOOST_TEST(value == 0.0F);
}

BOOST_AUTO_TEST_CASE(a_partial_aggregate_without_its_updates_is_refused) {
  const auto shape = tests::one_tensor(4);
  const auto sum = make_accumulator(settings_of("median"), shape, {});
  BOOST_REQUIRE(!sum->fold(nine().front()));
  auto partial = sum->save();
  partial.updates.clear();
  const auto merged = sum->merge(partial);
  BOOST_REQUIRE(!merged);
  BOOST_TEST(merged.error().text().find("counts 1 updates and has 0, and the rule median needs each") !=
             std::string::npos);
  BOOST_TEST(sum->count() == 1U);
}

// Three updates with equal scores and distances: the lowest client decides, whoever reports first.
BOOST_AUTO_TEST_CASE(the_order_of_arrival_breaks_no_tie) {
  auto updates = tests::updates_of(tests::three_updates(), tests::one_tensor(3));
  std::ranges::reverse(updates);
  check_near(aggregate_of(settings_of("krum", {{"tolerate", 1.0}}), updates).change.values(), {1.0, 2.0, 3.0}, 0.0);
  check_near(aggregate_of(settings_of("multi-krum", {{"tolerate", 1.0}}), updates).change.values(), {2.5, 3.5, 4.5},
             0.0);
}

BOOST_AUTO_TEST_CASE(centred_clipping_has_the_results_of_byzfl) {
  const auto settings = settings_of("centred-clipping", {{"radius", 1.0}});
  const auto first = aggregate_of(settings, nine());
  check_near(first.change.values(), {0.3199129204, 0.1986576654, -0.0021047214, 0.5466701313}, as_float);
  BOOST_TEST(first.reference.size() == 4U);
  // Three versions of the same updates are its three steps.
  const auto second = aggregate_of(settings, nine(), first.reference);
  const auto third = aggregate_of(settings, nine(), second.reference);
  check_near(third.change.values(), {0.8023247078, 0.4903054639, -0.1211868018, 1.4550384106}, 2.0 * as_float);
  check_near(aggregate_of(settings, nine(), {0.9, 0.5, -0.2, 1.8}).change.values(),
             {0.9255043136, 0.5048553815, -0.1509442142, 1.7322422607}, as_float);
}

// s_i rounded to 24 bits, as every weight of an exact sum is.
BOOST_AUTO_TEST_CASE(the_words_of_centred_clipping_are_its_sums_within_a_unit_for_each_client) {
  auto settings = settings_of("centred-clipping", {{"radius", 1.0}});
  settings.max_norm = 16.0;
  const std::vector<double> center = {0.875, 0.5, -0.25, 1.75};  // exact in float32
  const auto sum = make_accumulator(settings, tests::one_tensor(4), center);
  std::vector<double> expected(4, 0.0);
  double factors = 0.0;
  for (const auto& update : nine()) {
    BOOST_REQUIRE(!sum->fold(update));
    double squared = 0.0;
    for (std::size_t i = 0; i < 4; ++i) squared += std::pow(update.change.values[i] - center[i], 2.0);
    const double factor = static_cast<float>(std::min(1.0, 1.0 / std::sqrt(squared)));
    for (std::size_t i = 0; i < 4; ++i) expected[i] += factor * static_cast<double>(update.change.values[i]);
    factors += factor;
  }
  const double units = std::ldexp(1.0, 46);  // 50 bits for 16
  const auto words = sum->save().words;
  for (std::size_t i = 0; i < 4; ++i)
    BOOST_TEST(std::abs(static_cast<double>(words[accumulator::header_words + i]) / units - expected[i]) <=
               9.0 / units);
  BOOST_TEST(static_cast<double>(words.back()) * 0x1p-40 == factors);
}

BOOST_AUTO_TEST_CASE(without_reports_the_center_of_clipping_stays) {
  const auto sum = make_accumulator(settings_of("centred-clipping"), tests::one_tensor(4), {1.0, 1.0, 1.0, 1.0});
  const auto made = sum->report();
  BOOST_TEST(!made.usable);
  BOOST_TEST(made.reference.empty());
  for (const auto value : made.change.values()) BOOST_TEST(value == 0.0F);
}

// Trust is rounded to 24 bits.
BOOST_AUTO_TEST_CASE(fltrust_has_the_result_of_its_definition) {
  const auto settings = settings_of("fltrust", {{"root", std::vector<double>{0.0, 3.0}}});
  const auto made = aggregate_of(settings, nine(), {1.0, 0.5, -0.25, 1.5});
  check_near(made.change.values(), {0.8274469847, 0.4663580037, -0.2467282381, 1.5370104819}, 5e-7);
  // The trusted clients' mean is what the next version is compared with.
  check_near(made.reference, {0.75, 0.75, -0.5, 1.75}, as_float);
}

BOOST_AUTO_TEST_CASE(without_trusted_updates_fltrust_moves_nothing_or_trusts_the_last_ones) {
  const auto settings = settings_of("fltrust", {{"root", std::vector<double>{0.0, 3.0}}});
  const std::vector<double> none(4, 0.0);
  const auto first = aggregate_of(settings, nine(), none);
  BOOST_TEST(first.usable);
  check_near(first.change.values(), {0.75, 0.75, -0.5, 1.75}, as_float);  // their mean
  auto others = nine();
  others.erase(others.begin() + 3);
  others.erase(others.begin());
  BOOST_TEST(!aggregate_of(settings, others, none).usable);
  const auto later = aggregate_of(settings, others, {1.0, 0.5, -0.25, 1.5});
  BOOST_TEST(later.usable);
  BOOST_TEST(later.reference.empty());
  // Nobody points where they do.
  const auto opposed = aggregate_of(settings, {others.back()}, {-3.0, 3.0, -3.0, 3.0});
  BOOST_TEST(!opposed.usable);
  for (const auto value : opposed.change.values()) BOOST_TEST(value == 0.0F);
}

// f = 2 of 9 clips three: the longest of the others is the third update, sqrt(6.6875) long.
BOOST_AUTO_TEST_CASE(arc_clips_to_a_length_of_the_last_version) {
  const auto settings = settings_of("arc", {{"tolerate", 2.0}});
  const auto first = aggregate_of(settings, nine());
  check_near(first.change.values(), {0.0, 0.9444444444, 0.8055555556, 0.6805555556}, as_float);  // the mean
  BOOST_REQUIRE(first.reference.size() == 1U);
  const double limit = first.reference.front();
  BOOST_TEST(limit >= std::sqrt(6.6875));
  BOOST_TEST(limit < std::sqrt(6.6875) * std::sqrt(std::sqrt(2.0)));  // a level is a quarter of an octave
  std::vector<double> expected(4, 0.0);
  for (const auto& row : nine_updates()) {
    double squared = 0.0;
    for (const auto value : row) squared += static_cast<double>(value) * static_cast<double>(value);
    const double factor = std::min(1.0, limit / std::sqrt(squared));
    for (std::size_t i = 0; i < 4; ++i) expected[i] += factor * static_cast<double>(row[i]) / 9.0;
  }
  check_near(aggregate_of(settings, nine(), first.reference).change.values(), expected, as_float);
}

// A client under masks may say of its length what it likes, and a node of all of them.
BOOST_AUTO_TEST_CASE(counts_of_lengths_that_do_not_add_up_set_some_limit_or_none) {
  for (const std::int64_t word : {std::int64_t{0}, std::int64_t{-5}, INT64_MIN, INT64_MAX}) {
    const auto sum = make_accumulator(settings_of("arc", {{"tolerate", 2.0}}), tests::one_tensor(4), {0.0});
    for (const auto& update : nine()) BOOST_REQUIRE(!sum->fold(update));
    auto state = sum->take();
    std::fill(state.words.begin() + accumulator::header_words + 4, state.words.end(), word);
    BOOST_REQUIRE(sum->merge(std::move(state)));
    const auto made = sum->report();
    BOOST_TEST(made.usable);
    BOOST_TEST_REQUIRE(made.reference.size() == 1U);
    BOOST_TEST((made.reference.front() == 0.0) == (word <= 0));
  }
}

namespace {

/// An update of a client that is drawn into this bucket.
task_id task_in(std::uint32_t bucket, std::uint32_t buckets, std::uint64_t seed, std::uint32_t from) {
  for (auto client = from;; ++client) {
    const task_id task{4711, 0, client, 0};
    if (rule_draws(seed).of_update(task).below(buckets) == bucket) return task;
  }
}

std::vector<client_update> nine_in_buckets(std::uint64_t seed) {
  auto updates = nine();
  for (std::uint32_t i = 0; i < 9; ++i) updates[i].id = task_in(i / 2, 5, seed, 1000 * i);
  return updates;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_median_of_means_of_buckets) {
  const auto settings = settings_of("buckets", {{"buckets", std::int64_t{5}}, {"then", std::string("median")}});
  const auto sum = make_accumulator(settings, tests::one_tensor(4), {}, 7);
  for (const auto& update : nine_in_buckets(7)) BOOST_REQUIRE(!sum->fold(update));
  check_near(sum->report().change.values(), {0.875, 0.5625, 0.0625, 1.875}, as_float);
  // The same updates once more: nothing is left in the buckets.
  for (const auto& update : nine_in_buckets(7)) BOOST_REQUIRE(!sum->fold(update));
  check_near(sum->report().change.values(), {0.875, 0.5625, 0.0625, 1.875}, as_float);
}

BOOST_AUTO_TEST_CASE(buckets_of_nobody_are_left_out_and_too_few_are_not_usable) {
  const option_changes changes = {
      {"buckets", std::int64_t{5}}, {"then", std::string("trimmed-mean")}, {"tolerate", 1.0}};
  const auto sum = make_accumulator(settings_of("buckets", changes), tests::one_tensor(4), {}, 7);
  auto updates = nine_in_buckets(7);
  updates.erase(updates.begin(), updates.begin() + 4);  // of buckets 2, 3 and 4
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  const auto made = sum->report();
  BOOST_TEST(made.usable);
  // Means (1.3125, ...), (-4.5625, ...) and (3, ...): the middle one of three.
  BOOST_TEST(made.change.values()[0] == 1.3125F);
  for (std::size_t i = 0; i < 2; ++i) BOOST_REQUIRE(!sum->fold(updates[i]));
  BOOST_TEST(!sum->report().usable);  // one bucket cannot tolerate a bad one
}

BOOST_AUTO_TEST_CASE(counts_of_buckets_that_do_not_add_up_tolerate_what_the_updates_do) {
  const option_changes changes = {
      {"buckets", std::int64_t{5}}, {"then", std::string("trimmed-mean")}, {"tolerate", 0.25}};
  const auto sum = make_accumulator(settings_of("buckets", changes), tests::one_tensor(4), {}, 7);
  for (const auto& update : nine_in_buckets(7)) BOOST_REQUIRE(!sum->fold(update));
  auto state = sum->take();
  state.words[accumulator::header_words + 4] = INT64_MAX;  // of the first bucket
  BOOST_REQUIRE(sum->merge(std::move(state)));
  BOOST_TEST(sum->report().usable);  // two of nine, so five buckets suffice
}

// One update in each bucket: the rule gets the means of sums of integers, each within half a unit of its update.
BOOST_AUTO_TEST_CASE(every_rule_through_sums_of_integers_is_within_a_unit_for_each_client) {
  for (const auto& rule : robust::robust_rules())
    for (const auto& before : {std::vector<std::string>{}, {"arc", "nnm"}}) BOOST_TEST_CONTEXT(rule.kind) {
        auto settings = settings_of(
            "buckets", {{"buckets", std::int64_t{9}}, {"then", rule.kind}, {"tolerate", 1.0}, {"before", before}});
        settings.max_norm = 16.0;
        auto updates = nine();
        for (std::uint32_t i = 0; i < 9; ++i) updates[i].id = task_in(i, 9, 7, 1000 * i);
        const auto expected = tests::robust_of(rule.kind, nine_updates(), 1.0, before);
        const auto sum = make_accumulator(settings, tests::one_tensor(4), {}, 7);
        for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
        const auto made = sum->report();
        check_near(made.change.values(), expected, as_float + 9.0 * std::ldexp(1.0, -46));
        // As two parts of a tree that report in another order, one of which was saved and restored.
        const auto root = make_accumulator(settings, tests::one_tensor(4), {}, 7);
        for (const std::size_t first : {5U, 0U}) {
          const auto part = make_accumulator(settings, tests::one_tensor(4), {}, 7);
          for (std::size_t i = first; i < (first == 0 ? 5U : 9U); ++i) BOOST_REQUIRE(!part->fold(updates[i]));
          const auto restored = make_accumulator(settings, tests::one_tensor(4), {}, 7);
          BOOST_REQUIRE(restored->merge(part->save()));
          BOOST_REQUIRE(root->merge(restored->take()));
        }
        BOOST_TEST(tests::same_bits(root->report().change.values(), made.change.values()));
      }
}

BOOST_AUTO_TEST_SUITE_END()
