// Runs in virtual time for tests: worlds with faults, and everything that must not differ between two runs.
#pragma once

#include <boost/test/unit_test.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "federated/engine/simulate.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/random_settings.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/run_text.hpp"

namespace furlong::tests {

/// A small federation of ratings in virtual time, FURL or FedRecon or whatever the settings say.
[[nodiscard]] inline federated::experiment simulated(federated::run_settings settings, std::uint64_t data_seed = 41) {
  const bool own = settings.algorithm->traits.private_tensors == federated::private_use::required;
  const std::vector<std::string> names = own ? std::vector<std::string>{"user"} : std::vector<std::string>{};
  const auto clients = settings.algorithm->traits.implicit ? make_interactions(data_seed) : make_ratings(data_seed);
  return in_a_world(make_experiment(settings, clients, {}, names));
}

/// What a run leaves behind, as text: whatever differs shows.
struct trace_of_run {
  std::string model;
  std::string own;  ///< private values
  std::vector<std::string> events;
  std::vector<std::string> rounds;
  federated::accounting counts;
  federated::virtual_time ended = 0;
  std::vector<federated::client_record> ledger;
  bool interrupted = false;

  friend bool operator==(const trace_of_run&, const trace_of_run&) = default;
};

/// Writes a run down while it goes on; cut back to a checkpoint when a run is resumed from it.
class recorder {
 public:
  [[nodiscard]] federated::run_observer observer() {
    return {[this](const federated::round_report& r) {
              trace.rounds.push_back(text_of(r));
              reports.push_back(r);
              return result<void>{};
            },
            [](const auto&) { return result<void>{}; },
            [this](federated::server_state& state) {
              checkpoint = state;
              checkpoint->ledger = std::make_shared<federated::participation_ledger>(*state.ledger);
              kept_rounds_ = trace.rounds.size();
              kept_events_ = trace.events.size();
              return result<void>{};
            },
            [this](const federated::run_event& event) {
              trace.events.push_back(text_of(event));
              return result<void>{};
            }};
  }
  /// Forgets what happened after the last checkpoint.
  void cut_back() {
    trace.rounds.resize(kept_rounds_);
    reports.resize(kept_rounds_);
    trace.events.resize(kept_events_);
  }
  void finish(const federated::run_outcome& outcome, federated::private_store& store) {
    trace.model = hex(models::model_sha256(outcome.state.chosen().model));
    trace.counts = outcome.state.counts;
    trace.ended = outcome.state.now;
    trace.ledger.assign(outcome.state.ledger->records().begin(), outcome.state.ledger->records().end());
    trace.interrupted = outcome.interrupted;
    sha256_stream digest;
    BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& value) {
      digest.add(std::uint64_t{client}).add(value.values());
    }));
    trace.own = hex(digest.finish());
  }

  trace_of_run trace;
  std::vector<federated::round_report> reports;
  std::optional<federated::server_state> checkpoint;

 private:
  std::size_t kept_rounds_ = 0;
  std::size_t kept_events_ = 0;
};

inline void check_same(const trace_of_run& a, const trace_of_run& b) {
  BOOST_TEST(a.model == b.model);
  BOOST_TEST(a.own == b.own);
  BOOST_TEST(a.events == b.events, boost::test_tools::per_element());
  BOOST_TEST(a.rounds == b.rounds, boost::test_tools::per_element());
  BOOST_TEST((a.counts == b.counts));
  BOOST_TEST(a.ended == b.ended);
  BOOST_TEST((a.ledger == b.ledger));
}

/// A run on the calling thread, from its start to its end.
[[nodiscard]] inline recorder run_serially(const federated::experiment& e) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto observer = made.observer();
  auto outcome = federated::simulate(e, federated::initial_state(e), store, observer, stop);
  BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome.has_value() ? std::string() : outcome.error().text()));
  made.finish(*outcome, store);
  return made;
}

/// The same run, stopped after its first rounds and resumed from the last checkpoint.
[[nodiscard]] inline recorder run_resumed(const federated::experiment& whole, std::uint64_t first_rounds) {
  auto first_part = whole;
  first_part.settings.rounds = first_rounds;
  recorder made;
  storage::memory_store store(whole.parts.private_);
  const auto observer = made.observer();
  const std::atomic<bool> stop = false;
  BOOST_REQUIRE(federated::simulate(first_part, federated::initial_state(first_part), store, observer, stop));
  BOOST_REQUIRE(made.checkpoint);
  const auto outcome = federated::simulate(whole, *made.checkpoint, store, observer, stop);
  BOOST_REQUIRE(outcome);
  made.finish(*outcome, store);
  return made;
}

/// FURL without faults: 8 of 17 clients a round.
[[nodiscard]] inline federated::run_settings plain_settings() {
  federated::run_settings s;
  s.seed = 5;
  s.rounds = 5;
  *s.algorithm = federated::chosen_algorithm("furl");
  *s.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
  s.participation->per_round = 8;
  return s;
}

[[nodiscard]] std::uint64_t total(const auto& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace furlong::tests
