// A server whose clients are reached through aggregators, and the gateways that would aggregate their updates.
#pragma once

#include <boost/test/unit_test.hpp>
#include <map>
#include <vector>

#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/gateway_machine.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

namespace furlong::federated::protocol::testing {

inline constexpr federated::virtual_time second = federated::microseconds_per_second;
inline constexpr federated::virtual_time patience = 5 * second;

[[nodiscard]] inline federated::run_settings settings_of_two() {
  federated::run_settings settings;
  settings.rounds = 5;
  settings.participation->per_round = 17;  // all
  settings.checkpoint_every = 2;
  return settings;
}

template <class Effect>
std::vector<Effect> all(const server_effects& effects) {
  std::vector<Effect> found;
  for (const auto& effect : effects)
    if (const auto* one = std::get_if<Effect>(&effect)) found.push_back(*one);
  return found;
}

template <class Effect>
Effect only(const server_effects& effects) {
  const auto found = all<Effect>(effects);
  BOOST_REQUIRE(found.size() == 1U);
  return found[0];
}

/// A server without aggregators. 17 of the 24 clients train.
struct unreached {
  federated::experiment e;
  client_routes who;
  server_machine server{e, federated::initial_state(e), &who};

  explicit unreached(const federated::run_settings& settings = settings_of_two(), const absence_limits& limits = {})
      : e(tests::make_experiment(settings, tests::make_ratings(12), {}, {})),
        who(24, e.participants->training(), limits) {
    static_cast<void>(server.start());
  }
};

/// A server with aggregators 0 (clients 0 to 9) and 1 (10 to 23), and a round under way on all 17 that train.
struct routed : unreached {
  std::map<std::uint32_t, gateway_machine> gateways;  ///< what would be folded there

  explicit routed(const federated::run_settings& settings = settings_of_two()) : unreached(settings) {
    for (const client_range clients : {client_range{0, 9}, client_range{10, 23}}) {
      const auto number = who.add_aggregator("");
      BOOST_REQUIRE(who.attach(number, clients));
    }
    begin();
  }
  void begin() {
    gateways.clear();
    for (const auto& share : all<assign>(server.on_proceed())) give(share);
  }
  void give(const assign& share) {
    gateway_effects out;
    auto [at, fresh] = gateways.try_emplace(share.aggregator, e, share.aggregator);
    if (fresh) at->second.on_hello(1, {"test", {0, 23}, 0, {}, ""}, 0, out);
    at->second.on_assignment(share.from, share.tasks, share.begins, 0, out);
  }
  [[nodiscard]] task_id task(std::uint32_t client) const { return {e.run, server.state().version, client, 0}; }
  server_effects attach(std::uint32_t aggregator, client_range clients, const std::vector<task_id>& holding,
                        federated::virtual_time now = 0) {
    BOOST_REQUIRE(who.attach(aggregator, clients));
    return server.on_attached(aggregator, clients.first, clients.last, holding, now);
  }
  server_effects report(std::uint32_t aggregator, std::uint32_t client) {
    random_stream stream(client, purpose::test);
    auto update = tests::random_update(stream, e.parts.shared);
    update.id = task(client);
    gateway_effects out;
    gateways.at(aggregator).on_update(1, update, 0, out);
    return server.on_settled(aggregator, std::get<settled>(std::get<tell_parent>(out.at(0)).content).each, 0);
  }
  server_effects settle(std::uint32_t aggregator, std::uint32_t client, outcome what) {
    federated::settlement one;
    one.id = task(client);
    one.what = what;
    return server.on_settled(aggregator, {one}, 0);
  }
  server_effects close(const close_share& what) {
    gateway_effects out;
    gateways.at(what.aggregator).on_close(what.version, what.enough, 0, out);
    return server.on_partial(std::get<federated::partial_aggregate>(std::get<tell_parent>(out.at(0)).content), 0)
        .value();
  }
  /// Everybody reports, or all but one client.
  server_effects report_all(std::uint32_t but = 17) {
    server_effects last;
    for (std::uint32_t client = 0; client < 17; ++client)
      if (client != but) last = report(client < 10 ? 0 : 1, client);
    return last;
  }
  /// Everybody reports, and the round closes.
  server_effects finish_round() {
    auto last = report_all();
    for (const auto& one : all<close_share>(last)) last = close(one);
    return last;
  }
};

}  // namespace furlong::federated::protocol::testing
