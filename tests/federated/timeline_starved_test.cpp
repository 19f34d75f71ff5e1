// Asynchronous runs that want more tasks than clients are eligible: the server selects from an index.
#include "federated/protocol/eligible_clients.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/simulation/timeline.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(starved_selections)

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;

namespace {

/// Does not say when clients become reachable: the server looks at all of them.
class unforeseen_timeline final : public timeline {
 public:
  using timeline::timeline;
  [[nodiscard]] std::optional<std::uint64_t> foresight() const override { return std::nullopt; }
};

template <class Line>
recorder run_on(const experiment& e) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  const auto observer = made.observer();
  Line line(e, initial_state(e), store, observer);
  workspace use;
  std::vector<training_job> taken;
  for (;;) {
    const auto needs = line.advance();
    BOOST_REQUIRE_MESSAGE(needs.has_value(), (needs ? std::string() : needs.error().text()));
    if (*needs == run_needs::nothing) break;
    if (*needs == run_needs::evaluation) line.on_evaluated({});
    if (*needs == run_needs::checkpoint) BOOST_REQUIRE(line.on_checkpointed());
    if (*needs != run_needs::training) continue;
    line.take_jobs(1, taken);
    perform(e, store, taken.back(), use);
    line.on_trained(std::move(taken.back()));
    taken.clear();
  }
  made.finish({line.snapshot(), {}, line.interrupted()}, store);
  return made;
}

/// Every fourth client is available. Counts how often the server asks for one.
class counted_presence final : public availability {
 public:
  explicit counted_presence(std::uint64_t& looks) : looks_(looks) {}
  bool available(std::uint32_t client, virtual_time, std::uint64_t) const override {
    ++looks_;
    return client % 4 == 0;
  }
  virtual_time changes(std::uint32_t, virtual_time, std::uint64_t) const override { return never; }

 private:
  std::uint64_t& looks_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_index_selects_whom_a_scan_selects) {
  std::uint64_t starved = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    auto s = tests::random_settings(seed);
    if (s.participation->mode == participation_mode::sync) continue;
    s.participation->concurrency += 8;  // of 17 clients
    s.participation->min_separation = static_cast<std::uint32_t>(seed % 3);
    const auto e = tests::simulated(s);
    const auto indexed = run_on<timeline>(e);
    const auto scanned = run_on<unforeseen_timeline>(e);
    BOOST_TEST_CONTEXT("seed " << seed) tests::check_same(indexed.trace, scanned.trace);
    for (const auto& report : indexed.reports) starved += report.in_flight + 1 < s.participation->concurrency ? 1 : 0;
  }
  BOOST_TEST(starved > 100U);
}

BOOST_AUTO_TEST_CASE(looks_at_a_task_do_not_grow_with_the_population) {
  std::vector<double> looks_by_task;
  for (const std::uint32_t clients : {100U, 400U}) {
    tests::ratings_shape shape;
    shape.clients = clients;
    shape.fewest = shape.most = 3;
    auto s = tests::plain_settings();
    *s.algorithm = chosen_algorithm("fedavg");
    s.rounds = clients / 2;
    s.participation->mode = participation_mode::async;
    s.participation->buffer = 5;
    s.participation->concurrency = 2 * clients;
    s.participation->reconnect_least = 20;
    s.participation->reconnect_most = 60;
    auto e = tests::in_a_world(tests::make_experiment(s, tests::make_ratings(41, shape), {}, {}));
    std::uint64_t looks = 0;
    e.around = std::make_shared<world>(
        world{device_park(*s.devices, s.seed, *e.participants), std::make_unique<counted_presence>(looks)});
    const auto seen = tests::run_serially(e);
    looks_by_task.push_back(static_cast<double>(looks) / static_cast<double>(seen.trace.counts.selected));
  }
  BOOST_TEST(looks_by_task[1] < 1.5 * looks_by_task[0]);
  BOOST_TEST(looks_by_task[1] < 10.0);
}

// What a set of bits adds is counted across words.
BOOST_AUTO_TEST_CASE(bits_are_added_once) {
  protocol::client_bits some;
  protocol::client_bits others;
  for (auto* of : {&some, &others}) of->resize(200);
  BOOST_TEST(some.insert(63));
  BOOST_TEST(!some.insert(63));
  for (const std::uint32_t client : {0U, 63U, 64U, 199U}) others.insert(client);
  BOOST_TEST(some.insert(others) == 3U);
  BOOST_TEST(some.insert(others) == 0U);
  others.erase(64);
  some.clear();
  BOOST_TEST(some.insert(others) == 3U);
}

BOOST_AUTO_TEST_SUITE_END()
