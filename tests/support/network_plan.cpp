// Worlds for the test network, drawn from a seed.
#include <algorithm>

#include "base/random.hpp"
#include "tests/support/network.hpp"
#include "tests/support/network_link.hpp"

namespace furlong::tests::net {

namespace {

class drawing {
 public:
  explicit drawing(std::uint64_t seed) : stream_(seed, purpose::test, 30) {}

  plan draw(std::uint64_t seed) {
    plan made;
    made.seed = seed;
    auto& s = made.settings;
    s.seed = seed;
    s.rounds = 3 + below(8);
    s.algorithm = federated::chosen_algorithm(chance(2) ? "furl" : "fedrecon");
    s.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
    s.reconstruction = {.lr = 0.1F, .epochs = 1, .max_steps = 3};
    if (chance(4)) s.aggregation.rule = federated::chosen_rule("fedatt");
    if (chance(5)) s.aggregation.max_norm = 0.05;
    s.own.commit = chance(2) ? federated::commit_kind::after_ack : federated::commit_kind::after_training;
    s.checkpoint_every = 1 + below(5);
    s.evaluation.every = below(4);
    s.server.optimizer = chance(3) ? federated::optimizer_kind::adam : federated::optimizer_kind::sgd;
    s.network.heartbeat = 2.0;
    s.network.timeout = 3.0;
    if (chance(3)) s.network.start = 0.3;
    participate(s.participation);
    made.aggregators = below(4);
    if (chance(2)) {
      s.fan_in = 1 + below(2);
      made.aggregators += below(4);
      if (chance(3)) made.without_port = 2 + below(3);
    }
    made.nodes = 1 + below(5);
    for (std::uint32_t n = 0; n < made.nodes; ++n) made.slowness.push_back(chance(6) ? 10.0 : 1.0);
    if (chance(3)) made.failing = 0.1;
    if (chance(3)) made.spoiled = 0.1;
    const auto count = 1 + below(8);
    for (std::uint32_t i = 0; i < count; ++i) made.faults.push_back(strike(made));
    std::ranges::sort(made.faults, {}, &fault::at);
    return made;
  }

 private:
  std::uint32_t below(std::uint32_t bound) { return stream_.below(bound); }
  bool chance(std::uint32_t odds) { return below(odds) == 0; }

  void participate(federated::participation_settings& how) {
    using namespace federated;
    how.retry = 1 + below(3);
    constexpr std::string_view policies[] = {"uniform", "round-robin", "least-recent", "power-of-choice"};
    how.policy = federated::chosen_policy(policies[below(4)]);
    if (chance(2)) {
      how.per_round = 2 + below(12);
      if (chance(2)) how.over_selection = 1.3;
      if (chance(2)) how.deadline = 1.0 + below(10);
      how.min_reports = 1 + below(how.per_round);
      if (chance(3)) how.selection_timeout = 5;
      return;
    }
    how.mode = participation_mode::async;
    how.buffer = 1 + below(6);
    how.concurrency = 1 + below(12);
    how.max_staleness = chance(2) ? 0 : 1 + below(4);
    if (chance(2)) {
      how.async = async_kind::model;
      how.buffer = 1;
    }
    constexpr staleness_kind weights[] = {staleness_kind::constant, staleness_kind::polynomial, staleness_kind::hinge};
    how.weighting = weights[below(3)];
  }

  fault strike(const plan& of) {
    fault one;
    one.at = static_cast<virtual_time>(below(30'000)) * millisecond;
    one.length = static_cast<virtual_time>(50 + below(12'000)) * millisecond;
    const auto kind = below(12);
    const auto any_but_server = 1 + below(of.aggregators + of.nodes);
    one.who = any_but_server;
    if (kind < 2) {
      one.what = mishap::kill_node;
      one.who = 1 + of.aggregators + below(of.nodes);
    } else if (kind < 4 && of.aggregators > 0) {
      one.what = mishap::kill_aggregator;
      one.who = 1 + below(of.aggregators);
    } else if (kind == 4) {
      one.what = mishap::kill_server;
      one.who = 0;
    } else if (kind == 5) {
      one.what = mishap::drain_node;
      one.who = 1 + of.aggregators + below(of.nodes);
    } else {
      constexpr mishap links[] = {mishap::cut, mishap::silence, mishap::silence, mishap::part_hosts, mishap::isolate};
      one.what = links[below(5)];
    }
    return one;
  }

  random_stream stream_;
};

}  // namespace

plan random_plan(std::uint64_t seed) { return drawing(seed).draw(seed); }

plan without_faults(plan of) {
  of.faults.clear();
  of.failing = of.spoiled = 0.0;
  of.settings.network.start = 1.0;
  return of;
}

}  // namespace furlong::tests::net
