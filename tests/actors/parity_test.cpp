// A run on actors is the reference loop, bit for bit, on any number of threads and aggregators, stopped and resumed or
// not.
#include <boost/test/unit_test.hpp>

#include "federated/settings/evaluation.hpp"
#include "tests/actors/runs.hpp"
#include "tests/support/run_on_workers.hpp"

BOOST_AUTO_TEST_SUITE(parity)

using namespace furlong;
using tests::scenario;

namespace {

struct finished {
  federated::run_outcome outcome;
  std::string private_values;
  std::vector<federated::round_report> rounds;
  std::vector<std::uint64_t> evaluated;  ///< versions
};

federated::run_observer recording(finished& into) {
  return {[&](const auto& report) {
            into.rounds.push_back(report);
            return result<void>{};
          },
          [&](const auto& report) {
            into.evaluated.push_back(report.version);
            return result<void>{};
          },
          nullptr};
}

finished by_reference(const scenario& s) {
  const auto e = s.assemble(1);
  storage::memory_store store(e.parts.private_);
  finished done;
  done.outcome = federated::run_reference(e, store, recording(done)).value();
  done.private_values = tests::private_values(store);
  return done;
}

finished by_actors(const scenario& s, std::size_t threads, std::uint32_t aggregators) {
  const auto e = s.assemble(aggregators);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  finished done;
  done.outcome = actors::run_actors(e, federated::initial_state(e), store, recording(done), stop, {threads}).value();
  done.private_values = tests::private_values(store);
  return done;
}

finished by_workers(const scenario& s, federated::add_mode mode, std::size_t workers, std::uint32_t aggregators) {
  const auto run = s.assemble(aggregators);
  storage::memory_store store(run.parts.private_);
  finished done;
  const auto observer = recording(done);
  done.outcome = tests::run_on_workers(run, federated::initial_state(run), store, observer, mode, workers, 2).value();
  done.private_values = tests::private_values(store);
  return done;
}

void check_same(const finished& a, const finished& b) {
  tests::check_same(a.outcome, b.outcome);
  BOOST_TEST(a.private_values == b.private_values);
  BOOST_TEST(a.evaluated == b.evaluated);
  BOOST_REQUIRE(a.rounds.size() == b.rounds.size());
  for (std::size_t i = 0; i < a.rounds.size(); ++i) {
    const auto& x = a.rounds[i];
    const auto& y = b.rounds[i];
    BOOST_TEST(x.version == y.version);
    BOOST_TEST(x.selected == y.selected);
    BOOST_TEST(x.folded == y.folded);
    BOOST_TEST(x.examples == y.examples);
    BOOST_TEST(x.bytes_up == y.bytes_up);
    BOOST_TEST(x.bytes_down == y.bytes_down);
    BOOST_TEST(x.loss == y.loss);
    BOOST_TEST(x.change_norm == y.change_norm);
    BOOST_REQUIRE(x.attention.has_value() == y.attention.has_value());
    if (!x.attention) continue;
    BOOST_TEST(x.attention->clients == y.attention->clients, boost::test_tools::per_element());
    for (std::size_t t = 0; t < x.attention->tensors.size(); ++t)
      BOOST_TEST(x.attention->tensors[t].weights == y.attention->tensors[t].weights, boost::test_tools::per_element());
  }
}

/// Runs in lives of a round or so each: stopped in every round, resumed from the checkpoint, the store as a crash
/// leaves it.
finished in_many_lives(const scenario& s) {
  const auto e = s.assemble(2);
  storage::memory_store store(e.parts.private_);
  finished done;
  auto state = federated::initial_state(e);
  for (int lives = 0;; ++lives) {
    BOOST_REQUIRE(lives < 50);
    std::atomic<bool> stop = false;
    federated::server_state checkpoint;
    auto observer = tests::quiet();
    observer.on_round = [&](const auto&) {
      stop = true;
      return result<void>{};
    };
    observer.on_checkpoint = [&](federated::server_state& now) {
      checkpoint = now;
      return result<void>{};
    };
    done.outcome = actors::run_actors(e, std::move(state), store, observer, stop, {2}).value();
    if (!done.outcome.interrupted) break;
    BOOST_TEST(!done.outcome.evaluation.seen.has_value());
    state = checkpoint;
    state.history.resume(state.version, 1);
    store.resume(state.history);
  }
  done.private_values = tests::private_values(store);
  return done;
}

}  // namespace

BOOST_AUTO_TEST_CASE(actors_compute_what_the_reference_loop_computes) {
  for (const auto& s : tests::scenarios()) {
    BOOST_TEST_CONTEXT(s.name) {
      const auto expected = by_reference(s);
      BOOST_TEST(expected.outcome.state.version == s.settings.rounds);
      std::vector<std::uint64_t> evaluated{2, 4, 6};
      if (s.settings.evaluation->keep_best) evaluated.push_back(expected.outcome.state.best->version);
      BOOST_TEST(evaluated.back() < (s.settings.evaluation->keep_best ? 6U : 7U));
      BOOST_TEST(expected.evaluated == evaluated, boost::test_tools::per_element());
      for (const std::size_t threads : {1, 2, 4})
        for (const std::uint32_t aggregators : {1U, 3U}) {
          BOOST_TEST_CONTEXT(threads << " threads, " << aggregators << " aggregators") {
            check_same(by_actors(s, threads, aggregators), expected);
          }
        }
    }
  }
}

// Wherever updates are added up, and with the rankings of clients.
BOOST_AUTO_TEST_CASE(workers_compute_what_the_reference_loop_computes) {
  using enum federated::add_mode;
  for (const auto& s : tests::scenarios()) {
    BOOST_TEST_CONTEXT(s.name) {
      const auto expected = by_reference(s);
      const bool needs_updates = federated::add_mode_of(s.assemble(1)) == by_run;
      for (const auto mode : {at_once, when_told, by_run})
        if (mode == by_run || !needs_updates) check_same(by_workers(s, mode, 3, mode == at_once ? 1 : 3), expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_run_stopped_in_every_round_and_resumed_ends_the_same) {
  for (const auto& s : tests::scenarios()) {
    BOOST_TEST_CONTEXT(s.name) {
      const auto expected = by_reference(s);
      const auto resumed = in_many_lives(s);
      tests::check_same(resumed.outcome, expected.outcome);
      BOOST_TEST(resumed.private_values == expected.private_values);
    }
  }
}

// A crash after private values of later rounds were stored: they are not part of what the checkpoint covers.
BOOST_AUTO_TEST_CASE(private_values_newer_than_the_checkpoint_are_forgotten_on_resume) {
  const auto s = tests::scenarios()[2];
  const auto expected = by_reference(s);
  auto every_other = s;
  every_other.settings.checkpoint_every = 2;
  const auto e = every_other.assemble(2);
  storage::memory_store store(e.parts.private_);
  federated::server_state checkpoint;
  auto observer = tests::quiet();
  observer.on_checkpoint = [&](federated::server_state& now) {
    checkpoint = now;
    checkpoint.ledger = std::make_shared<federated::participation_ledger>(*now.ledger);  // as on disk
    return result<void>{};
  };
  observer.on_round = [](const federated::round_report& report) -> result<void> {
    if (report.version == 5) return fail(error::kind::runtime, "test", "the machine lost power");
    return {};
  };
  const std::atomic<bool> stop = false;
  BOOST_REQUIRE(!actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2}));
  BOOST_TEST(checkpoint.version == 4U);  // and round 5 had stored its values
  checkpoint.history.resume(4, 1);
  store.resume(checkpoint.history);
  const auto resumed = actors::run_actors(e, checkpoint, store, tests::quiet(), stop, {2}).value();
  tests::check_same(resumed, expected.outcome);
  BOOST_TEST(tests::private_values(store) == expected.private_values);
}

BOOST_AUTO_TEST_SUITE_END()
