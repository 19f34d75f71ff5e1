// Aggregation rules of other libraries that do not keep their contracts: each mistake is told when a run is opened, or
// ends the run with a message.
#include <functional>
#include <limits>
#include <stdexcept>

#include "federated/aggregation/contracts.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/federated/broken_runs.hpp"

BOOST_AUTO_TEST_SUITE(broken_rules)

using namespace furlong;
using namespace furlong::federated;
using tests::check_says;
using tests::failure_of;
using words = std::span<std::int64_t>;

namespace {

/// What a rule does after the uniform mean has done its own.
struct behaviour {
  std::function<std::size_t(std::size_t)> size = {};
  std::function<bool(const models::delta&)> refuses = {};
  std::function<void(words)> encode = {};
  std::function<void(words, aggregate&)> report = {};
  bool is_null = false;
  std::size_t constants = 0;
  bool needs_constants = false;
};

class behaving final : public aggregation_rule {
 public:
  behaving(behaviour of, std::unique_ptr<aggregation_rule> sound) : of_(std::move(of)), sound_(std::move(sound)) {}

  std::size_t words() const override { return of_.size ? of_.size(sound_->words()) : sound_->words(); }
  std::optional<rejection> encode(const models::delta& change, const fold_context& of,
                                  std::span<std::int64_t> sum) override {
    if (of_.refuses && of_.refuses(change)) return rejection::wrong_shape;
    auto refused = sound_->encode(change, of, sum);
    if (of_.encode) of_.encode(sum);
    return refused;
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    sound_->report(sum, out);
    if (of_.report) of_.report(sum, out);
  }

 private:
  behaviour of_;
  std::unique_ptr<aggregation_rule> sound_;
};

experiment experiment_with(const behaviour& of) {
  const auto& mean = *find_rule("uniform-mean");
  register_rule({.kind = "broken",
                 .doc = "A rule of this test.",
                 .traits = {.counts_alike = true},
                 .build =
                     [of, build = mean.build](const aggregation_settings& settings, const models::layout_ptr& shared,
                                              const std::vector<double>& reference, const rule_draws& draws) {
                       if (of.needs_constants) static_cast<void>(reference.at(0));
                       auto made = of.is_null ? nullptr : build(settings, shared, reference, draws);
                       return of.is_null ? std::unique_ptr<aggregation_rule>()
                                         : std::make_unique<behaving>(of, std::move(made));
                     },
                 .first_reference = [of](const aggregation_settings&,
                                         const models::layout&) { return std::vector<double>(of.constants, 1.0); }});
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("broken");
  return tests::simulated(settings);
}

std::string contract_of(const behaviour& of) {
  const auto kept = check_contracts(experiment_with(of));
  return kept ? std::string() : kept.error().text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_rule_is_none_of_these) {
  BOOST_TEST(contract_of({}) == "");
  BOOST_TEST(contract_of({.constants = 1}) == "");
  BOOST_TEST(failure_of(experiment_with({})) == "");
}

BOOST_AUTO_TEST_CASE(a_rule_that_cannot_be_is_refused_when_a_run_is_opened) {
  struct fault {
    behaviour of;
    std::string says;
  };
  const std::vector<fault> faults = {
      {{.is_null = true}, "algorithm.aggregation.rule: is \"broken\", which is built as null; correct it"},
      {{.constants = 1, .needs_constants = true}, "which failed: "},  // the number of words is asked without them
      {{.size = [](std::size_t) { return std::size_t{0}; }}, "has no words: words() is how many integers its sum has"},
      {{.size = [calls = std::size_t{0}](std::size_t own) mutable { return own + calls++; }},
       ": words() must depend on the settings and the shapes alone"},
      {{.encode = [](words sum) { std::ranges::fill(sum, 0); }},
       "adds nothing to its sum: encode() adds the integers of the update"},
      {{.encode = [](words) { throw std::runtime_error("no room"); }}, "which failed: no room; correct it"},
      {{.encode = [calls = std::make_shared<std::int64_t>(0)](words sum) { sum[0] += ++*calls; }},
       "encodes the same updates in another way when it is built again"},
      {{.report = [](words sum, aggregate&) { sum[0] = 1; }}, "leaves its sum as it is: report() clears it"},
      {{.report = [](words, aggregate& out) { out.change = {}; }},
       "makes an aggregate of 0 values, and the model shares "},
      {{.report = [](words, aggregate& out) { out.change.values()[1] = std::numeric_limits<float>::quiet_NaN(); }},
       "makes an aggregate that is not finite, of updates that are: correct its report()"},
  };
  for (const auto& [of, says] : faults) check_says(contract_of(of), says);
}

// Of any number of tensors: otherwise a rule that refuses what is too large would be asked in vain.
BOOST_AUTO_TEST_CASE(a_rule_is_asked_with_an_update_that_is_small_as_a_whole) {
  const auto is_large = [](const models::delta& change) {
    double squares = 0.0;
    for (const auto value : change.values) squares += static_cast<double>(value) * value;
    BOOST_TEST(change.pieces.size() > 1);
    return squares > 0.3;  // a norm of 0.5 is meant, under any bound from 1 on
  };
  check_says(contract_of({.refuses = is_large, .report = [](words sum, aggregate&) { sum[0] = 1; }}),
             "leaves its sum as it is");
}

// Later than when the run is opened, by what only a round shows.
BOOST_AUTO_TEST_CASE(an_aggregate_that_is_not_finite_is_the_mistake_of_the_rule) {
  check_says(
      failure_of(experiment_with(
          {.report = [](words, aggregate& out) { out.change.values()[0] = std::numeric_limits<float>::infinity(); }})),
      "algorithm.aggregation.rule: is \"broken\", which makes an aggregate that is not finite, of updates that "
      "are: correct its report()");
  check_says(failure_of(experiment_with({.report = [](words, aggregate& out) { out.change = {}; }})),
             "which makes an aggregate of 0 values");
}

BOOST_AUTO_TEST_CASE(a_rule_that_throws_in_a_round_ends_the_run) {
  const std::string place = "algorithm.aggregation.rule: is \"broken\", which failed in ";
  const auto encoding = experiment_with({.encode = [](words) { throw std::runtime_error("no room"); }});
  BOOST_TEST(failure_of(encoding) == place + "encode(): no room");
  BOOST_TEST(tests::failure_over_nodes(encoding) == place + "encode(): no room");
  const auto reporting = experiment_with({.report = [](words, aggregate&) { throw std::runtime_error("no idea"); }});
  BOOST_TEST(failure_of(reporting) == place + "report(): no idea");
  BOOST_TEST(tests::failure_over_nodes(reporting) == place + "report(): no idea");
}

// Of a masked update the client makes the words.
BOOST_AUTO_TEST_CASE(a_rule_that_throws_in_a_client_that_masks_ends_the_run) {
  auto masking = experiment_with({.encode = [](words) { throw std::runtime_error("no room"); }});
  masking.settings.privacy->secure_aggregation = true;
  masking.settings.aggregation->norm_bound = norm_bound_kind::fixed;
  check_says(tests::failure_over_nodes(std::move(masking)), "which failed in encode(): no room");
}

BOOST_AUTO_TEST_SUITE_END()
