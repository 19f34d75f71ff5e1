// Mistakes of aggregation rules that a run does not see, each found by its law.
#include <algorithm>
#include <functional>
#include <memory>
#include <optional>

#include "federated/aggregation/rule.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_rules)

using namespace furlong;
using namespace furlong::federated;
using words = std::span<std::int64_t>;
using refusal = std::optional<rejection>;

namespace {

/// What a rule does around the uniform mean.
struct behaviour {
  /// In the place of encode() of the mean, which it may call.
  std::function<refusal(aggregation_rule& mean, const models::delta&, const fold_context&, words)> encode = {};
  std::function<void(aggregate&)> report = {};  ///< after that of the mean
  double units = 1.0;                           ///< factor of units_in_one()
};

class behaving final : public aggregation_rule {
 public:
  behaving(behaviour does, std::unique_ptr<aggregation_rule> mean) : does_(std::move(does)), mean_(std::move(mean)) {}

  std::size_t words() const override { return mean_->words(); }
  double units_in_one() const override { return does_.units * mean_->units_in_one(); }
  refusal encode(const models::delta& change, const fold_context& context, std::span<std::int64_t> sum) override {
    return does_.encode ? does_.encode(*mean_, change, context, sum) : mean_->encode(change, context, sum);
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    mean_->report(sum, out);
    if (does_.report) does_.report(out);
  }

 private:
  behaviour does_;
  std::unique_ptr<aggregation_rule> mean_;
};

/// Registers a rule. `make` is called for each instance.
void plant(const std::function<behaviour()>& make, bool takes_all = false) {
  register_rule({.kind = "planted",
                 .doc = "A rule of this test.",
                 .traits = {.counts_alike = true, .sensitivity = 1.0, .takes_all = takes_all},
                 .build = [make, build = find_rule("uniform-mean")->build](
                              const aggregation_settings& settings, const models::layout_ptr& shared,
                              const std::vector<double>& reference,
                              const federated::rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
                   return std::make_unique<behaving>(make(), build(settings, shared, reference, draws));
                 }});
}

/// The same around the median, which holds the updates.
void plant_median(const std::function<behaviour()>& make) {
  auto entry = *find_rule("median");
  entry.kind = "planted";
  entry.build = [make, build = entry.build](const aggregation_settings& settings, const models::layout_ptr& shared,
                                            const std::vector<double>& reference,
                                            const federated::rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
    return std::make_unique<behaving>(make(), build(settings, shared, reference, draws));
  };
  register_rule(std::move(entry));
}

void check_broken(const std::function<behaviour()>& make, const std::string& law, const std::string& reason) {
  plant(make);
  tests::check_broken(tools::part_kind::rule, law, reason);
}

/// A rule whose encode() also does something to the first word.
behaviour with_first_word(const std::function<void(std::int64_t&, const models::delta&, const fold_context&)>& more) {
  return {
      .encode = [more](aggregation_rule& mean, const models::delta& change, const fold_context& context, words sum) {
        auto refused = mean.encode(change, context, sum);
        more(sum[0], change, context);
        return refused;
      }};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_rule_is_none_of_these) {
  plant([] { return behaviour(); });
  tests::check_sound(tools::part_kind::rule);
}

BOOST_AUTO_TEST_CASE(an_aggregate_that_is_divided_by_one_update_less) {
  check_broken(
      [] {
        return behaviour{.report = [](aggregate& out) {
          for (float& value : out.change.values()) value /= static_cast<float>(out.count) - 1.0F;
        }};
      },
      "aggregates", "the aggregate of 1 updates");
}

BOOST_AUTO_TEST_CASE(constants_of_another_number_than_at_first) {
  check_broken([] { return behaviour{.report = [](aggregate& out) { out.reference.assign(2, 0.5); }}; }, "aggregates",
               "report() gives 2 constants for the next round, and first_reference() 0");
}

BOOST_AUTO_TEST_CASE(a_sum_that_weighs_updates_by_their_arrival) {
  check_broken(
      [] {
        const auto calls = std::make_shared<std::int64_t>(0);
        return with_first_word([calls](std::int64_t& word, const models::delta&, const fold_context& context) {
          word += ++*calls * context.id.client;
        });
      },
      "order", "the same updates in another order have another sum");
}

BOOST_AUTO_TEST_CASE(a_largest_value_that_is_no_sum) {
  check_broken(
      [] {
        return behaviour{
            .encode = [](aggregation_rule& mean, const models::delta& change, const fold_context& context, words sum) {
              const auto before = sum[0];
              auto refused = mean.encode(change, context, sum);
              sum[0] = std::max<std::int64_t>(before, context.id.client + 1);
              return refused;
            }};
      },
      "grouping", "sums of parts of the updates, saved and added, are not the sum of all");
}

BOOST_AUTO_TEST_CASE(an_update_by_rows_that_counts_more) {
  check_broken(
      [] {
        return with_first_word([](std::int64_t& word, const models::delta& change, const fold_context&) {
          word += std::ranges::count_if(change.pieces, [](const auto& piece) { return piece.by_rows; });
        });
      },
      "rows", "an update that lists its changed rows and its dense copy have other sums");
}

BOOST_AUTO_TEST_CASE(a_report_that_depends_on_the_number_of_the_call) {
  check_broken(
      [] {
        const auto calls = std::make_shared<int>(0);
        return behaviour{
            .report = [calls](aggregate& out) { out.change.values()[0] += 1e-3F * static_cast<float>(++*calls); }};
      },
      "report", "the same sum is reported in another way");
}

BOOST_AUTO_TEST_CASE(an_aggregate_of_no_updates_that_is_usable) {
  check_broken([] { return behaviour{.report = [](aggregate& out) { out.usable = true; }}; }, "empty-sum",
               "a sum of no updates is usable");
}

BOOST_AUTO_TEST_CASE(an_aggregate_of_no_updates_that_moves_the_model) {
  check_broken(
      [] {
        return behaviour{.report = [](aggregate& out) {
          if (out.count == 0) out.change.values()[0] = 1.0F;
        }};
      },
      "empty-sum", "a sum of no updates moves the model");
}

BOOST_AUTO_TEST_CASE(a_weight_that_counts_without_a_bound) {
  check_broken(
      [] {
        return with_first_word(
            [](std::int64_t& word, const models::delta&, const fold_context& context) { word += context.weight; });
      },
      "weights", "and the traits do not say weighs_examples");
}

BOOST_AUTO_TEST_CASE(units_that_are_not_those_of_the_words) {
  check_broken([] { return behaviour{.units = 2.0}; }, "units", ", and units_in_one() is ");
}

BOOST_AUTO_TEST_CASE(a_sensitivity_that_is_too_small) {
  check_broken(
      [] {
        return behaviour{.report = [](aggregate& out) {
          for (float& value : out.change.values()) value *= 3.0F;
        }};
      },
      "sensitivity", "moves the aggregate by 3 times its norm");
}

BOOST_AUTO_TEST_CASE(words_that_leave_no_room_for_all_updates) {
  check_broken(
      [] {
        return with_first_word(
            [](std::int64_t& word, const models::delta&, const fold_context&) { word += std::int64_t{1} << 56U; });
      },
      "capacity", "is beyond 2^62");
}

BOOST_AUTO_TEST_CASE(a_sound_rule_that_holds_updates_is_none_of_these) {
  plant_median([] { return behaviour(); });
  const auto made = tests::examined(tools::part_kind::rule);
  BOOST_TEST(tests::broken_lines(made) == "");
  const auto* const capacity = made.about("capacity");
  BOOST_TEST_REQUIRE(capacity != nullptr);
  BOOST_TEST(capacity->found.reason == "it has no words that could overflow: it holds the updates");
}

BOOST_AUTO_TEST_CASE(a_rule_that_holds_updates_and_prefers_the_first_to_arrive) {
  plant_median([] {
    const auto first = std::make_shared<std::optional<std::uint32_t>>();
    return behaviour{
        .encode =
            [first](aggregation_rule& median, const models::delta& change, const fold_context& context, words sum) {
              if (!*first) *first = context.id.client;
              return median.encode(change, context, sum);
            },
        .report = [first](aggregate& out) { out.change.values()[0] += static_cast<float>(first->value_or(0)); }};
  });
  tests::check_broken(tools::part_kind::rule, "order", "the same updates in another order have another aggregate");
}

BOOST_AUTO_TEST_CASE(held_updates_by_rows_that_count_more) {
  plant_median([] {
    return behaviour{.report = [](aggregate& out) {
      for (const auto& update : out.updates)
        for (const auto& piece : update.change.pieces) out.change.values()[0] += piece.by_rows ? 1.0F : 0.0F;
    }};
  });
  tests::check_broken(tools::part_kind::rule, "rows", "an update that lists its changed rows and its dense copy");
}

BOOST_AUTO_TEST_CASE(held_updates_whose_weight_counts) {
  plant_median([] {
    return behaviour{.report = [](aggregate& out) {
      for (const auto& update : out.updates) out.change.values()[0] += static_cast<float>(update.weight);
    }};
  });
  tests::check_broken(tools::part_kind::rule, "weights", "and the traits do not say weighs_examples");
}

BOOST_AUTO_TEST_CASE(a_refusal_of_a_rule_that_takes_all) {
  const auto plant_refusal = [](bool takes_all, bool of_stale) {
    plant(
        [of_stale] {
          return behaviour{.encode = [of_stale](aggregation_rule& mean, const models::delta& change,
                                                const fold_context& context, words sum) -> refusal {
            if (of_stale && context.freshness < 0.1) return rejection::stale_version;
            const auto values = change.values_of(0);
            if (!of_stale && !values.empty() && values[0] > 100.0F) return rejection::attention_range;
            return mean.encode(change, context, sum);
          }};
        },
        takes_all);
  };
  for (const bool of_stale : {true, false}) {
    plant_refusal(true, of_stale);
    tests::check_broken(tools::part_kind::rule, "acceptance", " is refused: ");
    plant_refusal(false, of_stale);
    tests::check_sound(tools::part_kind::rule);
  }
  plant([] { return behaviour(); }, true);
  tests::check_sound(tools::part_kind::rule);
}

BOOST_AUTO_TEST_CASE(an_update_that_is_refused_when_it_is_half_added) {
  check_broken(
      [] {
        return behaviour{.encode = [](aggregation_rule& mean, const models::delta& change, const fold_context& context,
                                      words sum) -> refusal {
          static_cast<void>(mean.encode(change, context, sum));
          const auto values = change.values_of(0);
          if (!values.empty() && values[0] > 100.0F) return rejection::attention_range;
          return std::nullopt;
        }};
      },
      "refusal", "an update that encode() refuses changes the sum");
}

BOOST_AUTO_TEST_SUITE_END()
