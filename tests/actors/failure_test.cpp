// What goes wrong in a run: it is accounted for or ends the run with its own error, and nothing waits forever (CTest's
// time limit says so).
#include <boost/test/unit_test.hpp>
#include <thread>

#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "models/digest.hpp"
#include "tests/actors/runs.hpp"

BOOST_AUTO_TEST_SUITE(failures)

using namespace furlong;
using federated::rejection;

namespace {

enum class broken { nothing, load, commit, sync };

/// A store that fails in one way, for one client.
class failing_store final : public federated::private_store {
 public:
  failing_store(models::layout_ptr shape, broken what, std::uint32_t client)
      : inner_(std::move(shape)), what_(what), client_(client) {}

  result<bool> load(std::uint32_t client, models::private_parameters& out) override {
    if (what_ == broken::load && client == client_) return damaged(client);
    return inner_.load(client, out);
  }
  result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
    if (what_ == broken::commit && client == client_) return damaged(client);
    return inner_.commit(client, version, value);
  }
  result<void> sync() override {
    if (what_ == broken::sync) return fail(error::kind::data, "store", "the disk is full");
    return inner_.sync();
  }
  void covered(std::uint64_t version) override { inner_.covered(version); }
  result<bool> erase(std::uint32_t client) override { return inner_.erase(client); }
  result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
    return inner_.visit(each);
  }

 private:
  static tl::unexpected<error> damaged(std::uint32_t client) {
    return fail(error::kind::data, "client " + std::to_string(client), "its value is damaged");
  }

  storage::memory_store inner_;
  broken what_;
  std::uint32_t client_;
};

/// A FURL run that asks every training client in every round.
federated::experiment everybody() {
  auto s = tests::scenarios()[2];
  s.settings.participation->per_round = 17;
  s.settings.evaluation->every = 0;
  return s.assemble(2);
}

constexpr std::uint32_t unlucky = 5;

}  // namespace

BOOST_AUTO_TEST_CASE(a_client_that_cannot_store_is_accounted_as_failed_and_the_run_goes_on) {
  auto e = everybody();
  std::uint64_t reported = 0;
  auto observer = tests::quiet();
  observer.on_round = [&](const federated::round_report& report) -> result<void> {
    BOOST_TEST(report.folded == 16U);
    BOOST_REQUIRE(report.refused.size() == 1U);
    BOOST_TEST(report.refused[0].who.client == unlucky);
    BOOST_TEST((report.refused[0].why == rejection::client_failed));
    ++reported;
    return {};
  };
  failing_store store(e.parts.private_, broken::commit, unlucky);
  const std::atomic<bool> stop = false;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
  BOOST_REQUIRE(done);
  BOOST_TEST(reported == 6U);
  const auto& counts = done->state.counts;
  BOOST_TEST(counts.rejected[static_cast<std::size_t>(rejection::client_failed)] == 6U);
  BOOST_TEST(counts.selected == counts.folded + 6U);
  BOOST_REQUIRE(store.visit([](std::uint32_t client, auto, auto&) { BOOST_TEST(client != unlucky); }));
}

// The aggregate of a round with a failed client is that of the same round without it.
BOOST_AUTO_TEST_CASE(a_failed_client_has_moved_nothing) {
  auto e = everybody();
  e.settings.rounds = 1;
  failing_store failing(e.parts.private_, broken::commit, unlucky);
  const std::atomic<bool> stop = false;
  const auto with = actors::run_actors(e, federated::initial_state(e), failing, tests::quiet(), stop, {2}).value();
  auto without = e;
  auto fewer = tests::make_ratings(41);
  std::erase(fewer->seen, unlucky);
  without.clients = fewer;
  without.participants = fewer;
  without.settings.participation->per_round = 16;
  storage::memory_store store(e.parts.private_);
  const auto others =
      actors::run_actors(without, federated::initial_state(without), store, tests::quiet(), stop, {2}).value();
  BOOST_TEST(tests::same_bits(with.state.model.values(), others.state.model.values()));
}

// Exceptions should never happen; when one does, the run must not wait forever for an actor that is gone.
BOOST_AUTO_TEST_CASE(an_exception_in_a_client_is_that_client_s_failure) {
  class throwing_store final : public storage::memory_store {
   public:
    using storage::memory_store::memory_store;
    result<bool> load(std::uint32_t client, models::private_parameters& out) override {
      if (client == unlucky && left-- > 0) throw std::runtime_error("out of everything");
      return storage::memory_store::load(client, out);
    }
    std::atomic<int> left = 6;  // tasks; the evaluation comes afterwards
  };
  const auto e = everybody();
  throwing_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, tests::quiet(), stop, {2});
  BOOST_REQUIRE(done);
  BOOST_TEST(done->state.counts.rejected[static_cast<std::size_t>(rejection::client_failed)] == 6U);
}

BOOST_AUTO_TEST_CASE(an_exception_in_the_server_ends_the_run_with_an_error) {
  const auto e = everybody();
  auto observer = tests::quiet();
  observer.on_round = [](const federated::round_report&) -> result<void> { throw std::runtime_error("no memory"); };
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
  BOOST_REQUIRE(!done);
  BOOST_TEST(done.error().text().find("the run's driver ended") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(damage_found_while_evaluating_ends_the_run_with_its_name) {
  const auto e = everybody();
  failing_store store(e.parts.private_, broken::load, unlucky);
  const std::atomic<bool> stop = false;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, tests::quiet(), stop, {2});
  BOOST_REQUIRE(!done);
  BOOST_TEST(done.error().text() == "client 5: its value is damaged");
}

BOOST_AUTO_TEST_CASE(a_store_that_cannot_sync_ends_the_run_before_a_checkpoint_is_written) {
  const auto e = everybody();
  failing_store store(e.parts.private_, broken::sync, unlucky);
  auto observer = tests::quiet();
  bool written = false;
  observer.on_checkpoint = [&](auto&) {
    written = true;
    return result<void>{};
  };
  const std::atomic<bool> stop = false;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
  BOOST_REQUIRE(!done);
  BOOST_TEST(done.error().reason == "the disk is full");
  BOOST_TEST(!written);
}

BOOST_AUTO_TEST_CASE(an_observer_that_fails_ends_the_run_with_its_error) {
  auto e = everybody();
  e.settings.evaluation->every = 1;
  e.settings.checkpoint_every = 1;
  const std::atomic<bool> stop = false;
  for (int which = 0; which < 3; ++which) {
    auto observer = tests::quiet();
    int calls = 0;
    const auto third = [&]() -> result<void> {
      if (++calls == 3) return fail(error::kind::data, "output", "cannot be written");
      return {};
    };
    if (which == 0) observer.on_round = [&](const auto&) { return third(); };
    if (which == 1) observer.on_evaluation = [&](const auto&) { return third(); };
    if (which == 2) observer.on_checkpoint = [&](auto&) { return third(); };
    storage::memory_store store(e.parts.private_);
    const auto done = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2});
    BOOST_REQUIRE(!done);
    BOOST_TEST(done.error().text() == "output: cannot be written");
    BOOST_TEST(calls == 3);  // and nothing was told after it
  }
}

BOOST_AUTO_TEST_CASE(a_stop_before_the_start_ends_after_one_round_with_a_checkpoint) {
  const auto e = everybody();
  storage::memory_store store(e.parts.private_);
  auto observer = tests::quiet();
  std::vector<std::uint64_t> checkpoints;
  observer.on_checkpoint = [&](federated::server_state& now) {
    checkpoints.push_back(now.version);
    return result<void>{};
  };
  const std::atomic<bool> stop = true;
  const auto done = actors::run_actors(e, federated::initial_state(e), store, observer, stop, {2}).value();
  BOOST_TEST(done.interrupted);
  BOOST_TEST(checkpoints == (std::vector<std::uint64_t>{1}), boost::test_tools::per_element());
  BOOST_TEST(done.state.version == 1U);
}

BOOST_AUTO_TEST_CASE(runs_may_follow_and_accompany_each_other_in_one_process) {
  const auto e = everybody();
  const std::atomic<bool> stop = false;
  std::vector<std::string> hashes(4);
  std::vector<std::thread> threads;
  for (auto& hash : hashes)
    threads.emplace_back([&] {
      storage::memory_store store(e.parts.private_);
      const auto done = actors::run_actors(e, federated::initial_state(e), store, tests::quiet(), stop, {2});
      if (done) hash = hex(models::model_sha256(done->state.model));
    });
  for (auto& thread : threads) thread.join();
  for (const auto& hash : hashes) {
    BOOST_TEST(!hash.empty());
    BOOST_TEST(hash == hashes.front());
  }
}

BOOST_AUTO_TEST_SUITE_END()
