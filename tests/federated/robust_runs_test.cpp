// Robust rules in runs: with any number of aggregators, and resumed.
#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/contracts.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(robust_runs)

using namespace furlong;
using namespace furlong::federated;

namespace {

experiment experiment_with(const char* kind, std::uint32_t aggregators = 1, const char* rows = nullptr) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule(kind);
  auto& options = settings.aggregation->rule.options;
  if (options.has("tolerate")) options.set("tolerate", 0.2);  // one of eight
  if (options.has("root")) options.set("root", std::vector<double>{8.0, 9.0, 10.0, 11.0, 12.0});
  if (options.has("radius")) options.set("radius", 0.01);  // shorter than any update
  if (rows != nullptr) options.set("rows", std::string(rows));
  settings.aggregation->norm_bound = norm_bound_kind::fixed;
  settings.checkpoint_every = 2;
  settings.topology->aggregators = aggregators;
  return tests::simulated(settings);
}

std::string model_after(const experiment& e) { return tests::run_serially(e).trace.model; }

const std::vector<const char*> kinds = {"median", "trimmed-mean", "meamed", "geometric-median",
                                        "krum",   "multi-krum",   "bulyan", "centred-clipping",
                                        "arc",    "buckets",      "fltrust"};

}  // namespace

BOOST_AUTO_TEST_CASE(a_tree_gives_the_same_model) {
  const auto mean = model_after(experiment_with("uniform-mean"));
  for (const auto* kind : kinds) BOOST_TEST_CONTEXT(kind) {
      const auto alone = model_after(experiment_with(kind));
      BOOST_TEST(alone != mean);
      BOOST_TEST(model_after(experiment_with(kind, 3)) == alone);
    }
}

BOOST_AUTO_TEST_CASE(rows_by_themselves_give_another_model_and_the_same_one_in_a_tree) {
  const auto by_row = model_after(experiment_with("median", 1, "per-row"));
  BOOST_TEST(by_row != model_after(experiment_with("median", 1, "whole")));
  BOOST_TEST(by_row == model_after(experiment_with("median", 4, "per-row")));
}

BOOST_AUTO_TEST_CASE(a_resumed_run_ends_as_one_that_was_not_interrupted) {
  for (const auto* kind : kinds) BOOST_TEST_CONTEXT(kind) {
      const auto whole = experiment_with(kind);
      BOOST_TEST(tests::run_resumed(whole, 2).trace.model == model_after(whole));
    }
}

// A rule of another library may hold updates too, and need no words.
BOOST_AUTO_TEST_CASE(a_registered_rule_that_holds_updates_is_sound_and_gets_them) {
  auto entry = *find_rule("median");
  entry.kind = "median-of-others";
  register_rule(entry);
  const auto run = experiment_with("median-of-others");
  const auto sound = check_contracts(run);
  BOOST_TEST(sound.has_value(), (sound ? std::string() : sound.error().text()));
  BOOST_TEST(model_after(run) == model_after(experiment_with("median")));
  entry.traits.sensitivity = 1.0;
  BOOST_CHECK_THROW(register_rule(entry), std::invalid_argument);
}

BOOST_AUTO_TEST_CASE(the_bytes_of_held_updates_are_those_of_a_round) {
  const auto run = experiment_with("median");
  BOOST_TEST(held_bytes(run) == 8 * run.parts.up->size() * sizeof(float));
  BOOST_TEST(held_bytes(experiment_with("uniform-mean")) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
