// Worlds for the test network, drawn from a seed.
#include <algorithm>
#include <array>

#include "base/random.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/network/event_queue.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/network.hpp"
#include "tests/support/random_settings.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests::net {

using federated::virtual_time;
using federated::network::millisecond;

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
    *s.algorithm = federated::chosen_algorithm(chance(2) ? "furl" : "fedrecon");
    *s.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
    *s.reconstruction = {.lr = 0.1F, .epochs = 1, .max_steps = 3};
    if (chance(4)) s.aggregation->rule = federated::chosen_rule("fedatt");
    if (chance(5)) s.aggregation->max_norm = 0.05;
    s.own->commit = chance(2) ? federated::commit_kind::after_ack : federated::commit_kind::after_training;
    s.checkpoint_every = 1 + below(5);
    s.evaluation->every = below(4);
    s.server->optimizer = chance(3) ? federated::optimizer_kind::adam : federated::optimizer_kind::sgd;
    s.network->heartbeat = 2.0;
    s.network->timeout = 3.0;
    if (chance(3)) s.network->start = 0.3;
    participate(*s.participation);
    made.aggregators = below(4);
    if (chance(2)) {
      s.topology->fan_in = 1 + below(2);
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

/// Makes it a run of which the documents promise the end of the undisturbed run (docs/deployment.md): synchronous
/// rounds that wait for every task, and one kind of fault.
void promise(plan& what, random_stream& draw) {
  what.promised = true;
  what.settings.network->start = 1.0;
  auto& how = *what.settings.participation;
  how.mode = federated::participation_mode::sync;
  how.per_round = 2 + draw.below(11);
  how.over_selection = 1.0;
  how.deadline = how.selection_timeout = 0.0;
  how.min_reports = 1;
  const auto aggregators = draw.below(3) > 0 ? what.aggregators : 0;
  const bool server = draw.below(2) == 0;
  what.faults.clear();
  const auto count = 1 + draw.below(6);
  for (std::uint32_t i = 0; i < count; ++i) {
    fault one;
    one.at = static_cast<virtual_time>(draw.below(20'000)) * millisecond;
    one.length = static_cast<virtual_time>(1 + draw.below(9'000)) * millisecond;
    if (aggregators > 0) {
      constexpr mishap kinds[] = {mishap::kill_aggregator, mishap::stop_host, mishap::cut, mishap::silence};
      one.what = kinds[draw.below(4)];
      one.who = 1 + draw.below(aggregators);
    } else if (server) {
      one.what = mishap::kill_server;
      one.who = 0;
    } else {
      one.what = mishap::cut;
      one.who = 1 + what.aggregators + draw.below(what.nodes);
      one.at = (1 + 8 * static_cast<virtual_time>(i)) * 1000 * millisecond;  // back before the next
    }
    what.faults.push_back(one);
  }
  std::ranges::sort(what.faults, {}, &fault::at);
}

}  // namespace

plan exploring_plan(std::uint64_t seed) {
  auto made = random_plan(seed);
  random_stream draw(seed, purpose::test, 32);
  const auto below = [&](std::uint32_t bound) { return draw.below(bound); };
  auto& s = made.settings;
  constexpr std::string_view kinds[] = {"furl", "furl", "fedrecon", "fedavg"};
  *s.algorithm = federated::chosen_algorithm(kinds[below(4)]);
  const bool keeps = s.algorithm->traits.keeps_state;
  if (!keeps) s.own->commit = federated::commit_kind::after_training;
  constexpr federated::number_format formats[] = {federated::number_format::float32, federated::number_format::float32,
                                                  federated::number_format::float16, federated::number_format::int8};
  s.network->compression.numbers = formats[below(4)];
  s.network->sparse_upload = below(4) == 0;
  if (below(3) == 0) made.repeated = 0.2;
  if (below(5) == 0) made = with_exact_state(std::move(made));
  if (below(3) == 0) promise(made, draw);
  // Half of the worlds have nodes that work in waves.
  random_stream work(seed, purpose::test, 33);
  const federated::processes::work_policy in_waves{1 + work.below(3), 2 + work.below(7), work.below(2) == 0};
  const bool has_waves = work.below(3) > 0;
  if (has_waves && made.promised) made.work = in_waves;
  if (made.promised) return made;
  made.devices = below(3) == 0;
  if (has_waves && !made.devices) made.work = in_waves;
  if (made.devices) {
    s.devices->mbit = 0.05;
    s.devices->speed_sigma = 1.0;
    *s.dropout = {.download = 0.05, .train = 0.1, .upload = 0.1};
    s.dropout->mean_pause = 2;
    s.dropout->policy = below(2) == 0 ? federated::dropout_policy::pause : federated::dropout_policy::abort;
    constexpr const char* presences[] = {"always", "bernoulli", "markov", "diurnal"};
    s.devices->availability.kind = presences[below(4)];
    s.devices->availability.rate = 0.6;
    s.devices->availability.step = 1;
    s.devices->availability.mean_online = 3;
    s.devices->availability.dwell = 2;
  }
  for (auto& one : made.faults)
    if (one.what == mishap::kill_node && below(2) == 0) one.what = mishap::power_loss;
  return made;
}

std::string text_of(const fault& what) {
  const auto seconds = [](virtual_time span) { return std::to_string(federated::to_seconds(span)) + " s"; };
  return std::string(to_string(what.what)) + " of host " + std::to_string(what.who) + " at " + seconds(what.at) +
         " for " + seconds(what.length);
}

std::string text_of(const plan& what) {
  const auto& s = what.settings;
  const bool async = s.participation->mode == federated::participation_mode::async;
  std::string text = "seed " + std::to_string(what.seed) + ": " + s.algorithm->kind + ", " +
                     (async ? "asynchronous" : "synchronous") + ", " + std::to_string(s.rounds) + " rounds, commit " +
                     (s.own->commit == federated::commit_kind::after_ack ? "after-ack" : "after-training") + ", " +
                     std::to_string(what.aggregators) + " aggregators (fan_in " + std::to_string(s.topology->fan_in) +
                     "), " + std::to_string(what.nodes) + " nodes" + (what.devices ? ", devices" : "") +
                     (what.work.workers == 0 ? std::string()
                                             : ", waves of " + std::to_string(what.work.wave) + " tasks on each of " +
                                                   std::to_string(what.work.workers) + " workers" +
                                                   (what.work.workers_store ? ", which store" : "")) +
                     (what.promised ? ", promised to end as if undisturbed" : "");
  for (const auto& one : what.faults) text += "\n  " + text_of(one);
  return text;
}

plan with_exact_state(plan of) {
  use_exact_state(of.settings);
  return of;
}

plan random_plan(std::uint64_t seed) { return drawing(seed).draw(seed); }

plan without_faults(plan of) {
  of.faults.clear();
  of.failing = of.spoiled = 0.0;
  of.settings.network->start = 1.0;
  return of;
}

std::string_view to_string(mishap what) {
  constexpr std::array<std::string_view, mishap_count> words = {
      "kill_node", "kill_aggregator", "stop_host",  "kill_server", "drain_node",
      "cut",       "silence",         "part_hosts", "isolate",     "power_loss"};
  return words[static_cast<std::size_t>(what)];
}

federated::experiment experiment_of(const plan& what) {
  const bool own = what.settings.algorithm->traits.private_tensors == federated::private_use::required;
  const std::vector<std::string> names = own ? std::vector<std::string>{"user"} : std::vector<std::string>{};
  auto made = make_experiment(what.settings, make_ratings(41), {}, names);
  if (federated::carries_errors(made.settings)) federated::add_unsent(made.parts);
  return what.devices ? in_a_world(std::move(made)) : made;
}

}  // namespace furlong::tests::net
