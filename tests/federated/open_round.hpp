// A round of a server with two aggregators that has just begun.
#pragma once

#include <boost/test/unit_test.hpp>

#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

namespace furlong::tests {

using namespace federated::protocol;

inline federated::experiment two_aggregators(federated::aggregation_settings rule = {}) {
  federated::run_settings settings;
  *settings.aggregation = rule;
  settings.rounds = 3;
  settings.participation->per_round = 8;
  settings.topology->aggregators = 2;
  return make_experiment(settings, make_ratings(12), {}, {});
}

/// What an aggregator says of its share.
struct share_end {
  std::vector<federated::settlement> settled;
  federated::partial_aggregate partial;

  explicit share_end(aggregator_effects& said) {
    for (auto& effect : said)
      if (auto* some = std::get_if<federated::protocol::settled>(&effect))
        settled.insert(settled.end(), some->each.begin(), some->each.end());
    partial = std::get<federated::partial_aggregate>(std::move(said.back()));
  }
};

/// A round that has just begun.
struct open_round {
  federated::experiment e;
  server_machine server{e, federated::initial_state(e)};
  std::vector<assign> shares;

  explicit open_round(federated::aggregation_settings rule = {}) : e(two_aggregators(rule)) {
    BOOST_REQUIRE(std::holds_alternative<proceed>(server.start().at(0)));
    for (auto& effect : server.on_proceed()) shares.push_back(std::get<assign>(effect));
    BOOST_REQUIRE(shares.size() == 2U);
  }
  /// What aggregator `a` answers when each of its clients reports a random update of values below `size`.
  [[nodiscard]] share_end answer(std::uint32_t a, float size = 1.0F) const {
    aggregator_machine machine(e, a);
    machine.set_known_examples({});  // random updates weigh more than their clients have examples
    aggregator_effects out;
    machine.on_assignment(shares[a].from, shares[a].tasks, true, out);
    random_stream stream(a, purpose::test);
    for (const auto& task : shares[a].tasks) {
      auto update = random_update(stream, e.parts.shared, size);
      update.id = task;
      BOOST_REQUIRE(!machine.on_update(update, out));
    }
    return share_end(out);
  }
  void tell(std::uint32_t a) { BOOST_TEST(server.on_settled(a, answer(a).settled, 0).empty()); }
  /// Both aggregators tell and send, and the next round begins.
  std::vector<assign> next(float size) {
    for (const std::uint32_t a : {0U, 1U}) {
      const auto sent = answer(a, size);
      BOOST_TEST(server.on_settled(a, sent.settled, 0).empty());
      BOOST_REQUIRE(server.on_partial(sent.partial, 0));
    }
    std::vector<assign> given;
    for (auto& effect : server.on_proceed()) given.push_back(std::get<assign>(effect));
    return given;
  }
};

}  // namespace furlong::tests
