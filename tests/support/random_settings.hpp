// Runs in virtual time under which a lot goes wrong.
#pragma once

#include <string_view>

#include "base/random.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"

namespace furlong::tests {

/// SCAFFOLD or FedDyn, whose server values are sums of what clients keep, in place of what the settings say.
inline void use_exact_state(federated::run_settings& s) {
  *s.algorithm = federated::chosen_algorithm(s.rounds % 2 == 0 ? "scaffold" : "feddyn");
  s.aggregation->norm_bound = federated::norm_bound_kind::adaptive;
  s.aggregation->rule = federated::chosen_rule("uniform-mean");
  s.own->commit = federated::commit_kind::after_ack;
  s.network->compression.numbers = federated::number_format::float32;
  *s.server = {};
  s.participation->async = federated::async_kind::change;
  s.participation->weighting = federated::staleness_kind::constant;
}

/// Secure aggregation in place of what it cannot be combined with, in some runs with noise of clients.
inline void use_secure_aggregation(federated::run_settings& s, random_stream& draw) {
  using namespace federated;
  auto& how = *s.participation;
  s.privacy->secure_aggregation = true;
  s.privacy->adversary =
      draw.below(2) == 0 ? privacy::adversary_kind::semi_honest : privacy::adversary_kind::semi_malicious;
  s.aggregation->rule = chosen_rule("uniform-mean");
  s.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  s.network->compression = {};
  if (how.policy.kind == "power-of-choice") how.policy = chosen_policy("uniform");
  how.per_round = std::max(3U, how.per_round);
  how.over_selection = std::min(how.over_selection, 1.4);
  how.async = async_kind::change;
  how.buffer = std::max(3U, how.buffer);
  how.max_staleness = 0;
  if (how.mode == participation_mode::async || s.algorithm->traits.exact_state || draw.below(3) > 0) return;
  s.privacy->clip = 0.5;
  s.privacy->noise = 0.1;
  s.privacy->noise_at = noise_place::client;
  how.min_reports = 2;
}

/// Settings under which a lot goes wrong, drawn from a seed.
[[nodiscard]] inline federated::run_settings random_settings(std::uint64_t seed) {
  using namespace federated;
  random_stream stream(seed, purpose::test, 7);
  const auto chance = [&](std::uint32_t odds) { return stream.below(odds) == 0; };
  run_settings s;
  s.seed = seed;
  s.rounds = 1 + stream.below(6);
  constexpr std::string_view kinds[] = {"fedavg", "furl", "fedrecon"};
  *s.algorithm = federated::chosen_algorithm(kinds[stream.below(3)]);
  *s.client = {.lr = 0.1F, .epochs = 1 + stream.below(2), .batch_size = 4};
  *s.reconstruction = {.lr = 0.1F, .epochs = 1, .max_steps = 3};
  s.aggregation->rule = federated::chosen_rule(chance(3) ? "fedatt" : "mean");
  if (chance(3)) s.aggregation->max_norm = 0.05;  // many are rejected
  if (random_stream(seed, purpose::test, 8).below(3) == 0) s.aggregation->norm_bound = norm_bound_kind::clip;
  s.topology->aggregators = 1 + stream.below(3);
  s.own->commit = chance(2) ? commit_kind::after_ack : commit_kind::after_training;
  auto& how = *s.participation;
  constexpr std::string_view policies[] = {"uniform", "weight", "round-robin", "least-recent", "power-of-choice"};
  how.policy = federated::chosen_policy(policies[stream.below(5)]);
  how.retry = 5;
  if (chance(2)) {
    how.per_round = 1 + stream.below(12);
    how.over_selection = 1.0 + static_cast<double>(stream.below(3)) * 0.4;
    if (chance(2)) how.deadline = 0.2 + static_cast<double>(stream.below(20)) * 0.1;
    if (chance(3)) how.selection_timeout = 30;
    how.min_reports = 1 + stream.below(how.per_round);
  } else {
    how.mode = participation_mode::async;
    how.buffer = 1 + stream.below(6);
    how.concurrency = 1 + stream.below(12);
    how.max_staleness = stream.below(4);
    if (chance(2)) {
      how.async = async_kind::model;
      how.buffer = 1;
    }
    constexpr staleness_kind weights[] = {staleness_kind::constant, staleness_kind::polynomial, staleness_kind::hinge};
    how.weighting = weights[stream.below(3)];
  }
  if (chance(3)) how.reconnect_most = 10;
  auto& devices = *s.devices;
  devices.speed_sigma = 1.0;
  devices.mbit = 0.05;
  if (chance(3)) devices.straggler_share = 0.2;
  constexpr const char* presences[] = {"always", "bernoulli", "markov", "diurnal"};
  devices.availability.kind = presences[stream.below(4)];
  devices.availability.rate = 0.6;
  devices.availability.step = 1;
  devices.availability.mean_online = 3;
  devices.availability.dwell = 2;
  if (chance(2)) *s.dropout = {.download = 0.1, .train = 0.2, .upload = 0.2};
  s.dropout->mean_pause = 2;
  s.dropout->policy = chance(2) ? dropout_policy::pause : dropout_policy::abort;
  if (chance(3)) {
    *s.events = {{.at_round = true, .round = 2, .what = event_kind::leave, .first = 1, .last = 4, .erase = chance(2)},
                 {.seconds = 0.5, .what = event_kind::kill, .share = 0.3},
                 {.seconds = 1.5, .what = event_kind::restart, .share = 1.0},
                 {.seconds = 0.3, .what = event_kind::partition, .first = 5, .last = 9},
                 {.seconds = 4.0, .what = event_kind::heal, .first = 0, .last = 99},
                 {.at_round = true, .round = 3, .what = event_kind::join, .first = 0, .last = 3}};
  }
  return s;
}

}  // namespace furlong::tests
