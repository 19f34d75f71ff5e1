// Attacks in runs of virtual time.
#include "federated/attack/attack.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/algorithm_kinds.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(attacked_runs)

using namespace furlong;
using namespace furlong::federated;

namespace {

struct variant {
  const char* kind = "none";
  std::uint32_t aggregators = 1;
  const char* algorithm = "fedavg";
  double dropout = 0.0;
  std::uint64_t from_round = 1;
  std::uint32_t nodes = 0;
  bool asynchronous = false;
  bool faults = false;
};

experiment attacked(const variant& how) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm(how.algorithm);
  if (settings.algorithm->traits.exact_state) {
    settings.own->commit = commit_kind::after_ack;
    settings.aggregation->rule = chosen_rule("uniform-mean");
  }
  settings.attack->choose(how.kind);
  settings.attack->clients = 0.3;
  settings.attack->options.set("knows", std::string("all"));
  settings.attack->features["target"] = {2};
  settings.attack->from_round = how.from_round;
  settings.dropout->train = how.dropout;
  settings.participation->min_reports = 1;
  settings.checkpoint_every = 2;
  settings.topology->aggregators = how.aggregators;
  settings.topology->nodes = how.nodes;
  settings.network->heartbeat = 2.0;
  settings.network->timeout = 3.0;
  settings.aggregation->norm_bound = norm_bound_kind::fixed;
  settings.aggregation->max_norm = 4.0;  // several times what honest clients send, and no run diverges
  if (how.faults)
    *settings.events = {{.at_round = true, .round = 2, .what = event_kind::leave, .first = 1, .last = 4},
                        {.seconds = 0.5, .what = event_kind::kill, .share = 0.3},
                        {.seconds = 1.5, .what = event_kind::restart, .share = 1.0},
                        {.seconds = 0.3, .what = event_kind::partition, .first = 5, .last = 9},
                        {.seconds = 4.0, .what = event_kind::heal, .first = 0, .last = 99}};
  if (how.asynchronous) {
    settings.participation->mode = participation_mode::async;
    settings.participation->buffer = 4;
    settings.participation->concurrency = 8;
  }
  return tests::simulated(settings);
}

std::string model_after(const variant& how) { return tests::run_serially(attacked(how)).trace.model; }

/// The attacks that go with ratings.
std::vector<const char*> kinds() {
  std::vector<const char*> found;
  for (const auto& entry : federated::attacks())
    if (entry.labels.empty() || std::ranges::find(entry.labels, models::objective::squared_error) != entry.labels.end())
      found.push_back(entry.kind.c_str());
  return found;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_attack_changes_the_model_and_a_tree_does_not) {
  const auto honest = model_after({});
  BOOST_TEST(kinds().size() >= 11U);
  for (const auto* kind : kinds()) BOOST_TEST_CONTEXT("attack " << kind) {
      const auto alone = model_after({.kind = kind});
      BOOST_TEST(alone != honest);
      BOOST_TEST(model_after({.kind = kind, .aggregators = 3}) == alone);
      BOOST_TEST(model_after({.kind = kind, .from_round = 6}) == honest);  // of five rounds
    }
}

BOOST_AUTO_TEST_CASE(attacks_go_with_dropout_and_kept_private_values) {
  for (const auto* kind : {"sign-flip", "ipm", "opt-alie", "promote-item"}) {
    const variant dropping{.kind = kind, .dropout = 0.3};
    BOOST_TEST(model_after(dropping) == model_after({.kind = kind, .aggregators = 4, .dropout = 0.3}));
    const variant keeping{.kind = kind, .algorithm = "furl"};
    BOOST_TEST(model_after(keeping) != model_after({.algorithm = "furl"}));
    BOOST_TEST(model_after(keeping) == model_after({.kind = kind, .aggregators = 2, .algorithm = "furl"}));
  }
}

// What is kept, reported beside the model or solved for differs; bad clients have it as others do.
BOOST_AUTO_TEST_CASE(attacks_go_with_every_algorithm) {
  for (const auto& algorithm : tests::algorithm_kinds()) {
    const chosen_algorithm chosen(algorithm);
    if (!chosen.traits.sends) continue;
    for (const auto* kind : {"sign-flip", "promote-item"}) BOOST_TEST_CONTEXT(kind << " under " << algorithm) {
        const variant attack{.kind = kind, .algorithm = algorithm.c_str()};
        const bool is_changed = chosen.does->sends_model() || find_attack(kind)->poison != nullptr;
        BOOST_TEST((model_after(attack) != model_after({.algorithm = algorithm.c_str()})) == is_changed);
        const auto whole = attacked(attack);
        BOOST_TEST(tests::run_resumed(whole, 2).trace.own == tests::run_serially(whole).trace.own);
      }
  }
}

// What a client does by itself needs neither rounds nor one process.
BOOST_AUTO_TEST_CASE(attacks_of_single_clients_go_with_nodes_and_asynchronous_runs) {
  for (const auto* kind : {"sign-flip", "gaussian", "label-flip", "promote-item", "fedrec-attack"}) {
    BOOST_TEST(model_after({.kind = kind, .aggregators = 3, .nodes = 3}) == model_after({.kind = kind}));
    BOOST_TEST(model_after({.kind = kind, .asynchronous = true}) != model_after({.asynchronous = true}));
  }
}

// Bad clients leave, are killed and cut off as others are.
BOOST_AUTO_TEST_CASE(attacks_go_with_faults_in_any_tree) {
  for (const auto* kind : {"sign-flip", "alie", "promote-item"}) BOOST_TEST_CONTEXT("attack " << kind) {
      const variant alone{.kind = kind, .dropout = 0.1, .faults = true};
      const auto model = model_after(alone);
      BOOST_TEST(model != model_after({.dropout = 0.1, .faults = true}));
      BOOST_TEST(model == model_after({.kind = kind, .aggregators = 3, .dropout = 0.1, .faults = true}));
      BOOST_TEST(model == tests::run_resumed(attacked(alone), 2).trace.model);
    }
}

BOOST_AUTO_TEST_CASE(a_resumed_attack_ends_as_one_that_was_not_interrupted) {
  for (const auto* kind : {"gaussian", "opt-ipm", "fedrec-attack"}) {
    const auto whole = attacked({.kind = kind});
    BOOST_TEST(tests::run_resumed(whole, 2).trace.model == model_after({.kind = kind}));
  }
}

BOOST_AUTO_TEST_SUITE_END()
