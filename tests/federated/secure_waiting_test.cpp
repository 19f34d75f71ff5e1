// Clients that have trained and wait for others, under secure aggregation in asynchronous runs: a device that goes off
// meanwhile is interrupted as any other.
#include <boost/test/unit_test.hpp>
#include <map>

#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "tests/federated/secure_worlds.hpp"

BOOST_AUTO_TEST_SUITE(secure_waiting)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::testing;
using namespace furlong::tests;

namespace {

constexpr virtual_time second = microseconds_per_second;
constexpr std::uint32_t all_clients = 17;
constexpr std::uint32_t buffer = 12;

/// All devices are always on but one, which is off for a time.
class absence final : public availability {
 public:
  absence(std::uint32_t client, virtual_time from, virtual_time to) : client_(client), from_(from), to_(to) {}
  bool available(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    return client != client_ || now < from_ || now >= to_;
  }
  virtual_time changes(std::uint32_t client, virtual_time now, std::uint64_t) const override {
    if (client != client_ || now >= to_) return never;
    return now < from_ ? from_ : to_;
  }

 private:
  std::uint32_t client_;
  virtual_time from_;
  virtual_time to_;
};

/// All clients begin at once, each at a speed of its own; the sum is that of the first twelve.
run_settings waiting_settings(dropout_policy policy) {
  auto s = secured(uniform());
  s.rounds = 2;
  s.participation->mode = participation_mode::async;
  s.participation->buffer = buffer;
  s.participation->concurrency = all_clients;
  s.devices->speed_sigma = 1.0;
  s.devices->ms_per_example = 300.0;
  s.dropout->policy = policy;
  return s;
}

experiment absent_world(const run_settings& s, std::uint32_t client, virtual_time from, virtual_time to) {
  auto e = simulated(s);
  e.settings.devices->availability.kind = "trace";
  e.around = std::make_shared<world>(
      world{device_park(*e.settings.devices, s.seed, *e.participants), std::make_unique<absence>(client, from, to)});
  return e;
}

recorder run_with(const run_settings& s, std::uint32_t client = all_clients, virtual_time from = 0,
                  virtual_time to = 0) {
  return run_serially(absent_world(s, client, from, to));
}

/// When clients have trained and sent everything, in order: as in the run without masks.
std::vector<std::pair<virtual_time, std::uint32_t>> ends_of_work() {
  auto s = waiting_settings(dropout_policy::abort);
  s.privacy->secure_aggregation = false;
  s.participation->buffer = all_clients;
  std::vector<std::pair<virtual_time, std::uint32_t>> ends;
  const auto seen = run_with(s);
  for (const auto& span : seen.reports.front().spans)
    if (span.started_at == 0) ends.emplace_back(span.ended_at.value(), span.client);
  BOOST_REQUIRE(ends.size() == all_clients);
  return ends;
}

/// The first task of a client in the first round.
task_span first_span(const recorder& seen, std::uint32_t client) {
  for (const auto& span : seen.reports.front().spans)
    if (span.client == client && span.started_at == 0) return span;
  BOOST_FAIL("the client has no task");
  return {};
}

bool has_event(const recorder& seen, const std::string& text) {
  return std::ranges::any_of(seen.trace.events, [&](const std::string& event) { return event.starts_with(text); });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_device_that_goes_off_takes_its_update_with_it) {
  const auto ends = ends_of_work();
  const auto [done, client] = ends[2];
  const auto sum = ends[buffer - 1].first;
  BOOST_REQUIRE(done + 2 < sum);
  const auto expect = [&, first = client](virtual_time off, virtual_time back, dropout_policy policy, outcome what,
                                          virtual_time ended) {
    const auto seen = run_with(waiting_settings(policy), first, off, back);
    const auto span = first_span(seen, first);
    BOOST_TEST((span.what == what), "off at " << off << ", back at " << back);
    BOOST_TEST(span.ended_at.value_or(never) == ended, "off at " << off << ", back at " << back);
    const auto gone = std::to_string(ended) + " 1 dropped " + std::to_string(first) + " upload off";
    BOOST_TEST(has_event(seen, gone) == (what == outcome::dropped));
    check_accounts(seen);
    return seen;
  };
  using enum outcome;
  using enum dropout_policy;
  const auto later = sum + 50 * second;
  for (const auto off : {done, done + 1, sum - 1}) {
    expect(off, off + 1, abort, dropped, off);
    expect(off, later, abort, dropped, off);
    expect(off, never, abort, dropped, off);
    expect(off, never, pause, dropped, off);
    expect(off, off + 1, pause, folded, sum);
    // The others wait for it.
    BOOST_TEST(expect(off, later, pause, folded, later).reports.front().ended_at == later);
  }
  // What is done at the instant at which a device goes off is done.
  for (const auto policy : {abort, pause}) {
    expect(sum, later, policy, folded, sum);
    expect(sum + 1, later, policy, folded, sum);
  }
}

BOOST_AUTO_TEST_CASE(events_strike_clients_that_wait) {
  const auto ends = ends_of_work();
  const auto [done, client] = ends[2];
  const auto sum = ends[buffer - 1].first;
  const auto when = std::ceil(to_seconds(done));
  BOOST_REQUIRE(when < to_seconds(sum));
  const std::map<event_kind, std::string> causes = {
      {event_kind::kill, "killed"}, {event_kind::leave, "left"}, {event_kind::unresponsive, "unresponsive"}};
  for (const auto& [what, cause] : causes) {
    auto s = waiting_settings(dropout_policy::pause);
    *s.events = {at(when, what, event_target::clients, client, client)};
    const auto seen = run_with(s);
    BOOST_TEST((first_span(seen, client).what == outcome::dropped), cause);
    BOOST_TEST(first_span(seen, client).ended_at.value_or(never) == from_seconds(when), cause);
    BOOST_TEST(has_event(seen, std::to_string(from_seconds(when)) + " 1 dropped " + std::to_string(client) +
                                   " upload " + cause),
               cause);
  }
  // Behind a partition the exchange rests, and the device does not.
  const auto heals = std::ceil(to_seconds(sum)) + 30;
  for (const auto policy : {dropout_policy::abort, dropout_policy::pause}) {
    auto s = waiting_settings(policy);
    *s.events = {at(when, event_kind::partition, event_target::clients, client, client),
                 at(heals, event_kind::heal, event_target::clients, client, client)};
    auto seen = run_with(s);
    BOOST_TEST((first_span(seen, client).what == outcome::folded));
    BOOST_TEST(seen.reports.front().ended_at == from_seconds(heals));
    const auto off = from_seconds(heals - 10);
    seen = run_with(s, client, off, off + 100 * second);
    const auto span = first_span(seen, client);
    const bool drops = policy == dropout_policy::abort;
    BOOST_TEST((span.what == (drops ? outcome::dropped : outcome::folded)));
    BOOST_TEST(span.ended_at.value_or(never) == off + (drops ? 0 : 100 * second));
  }
}

// While the sum of twelve rests because of one of them, the others come to wait for the next. Their tasks begin again
// in the next life.
BOOST_AUTO_TEST_CASE(a_resumed_run_loses_no_client_that_waited) {
  const auto ends = ends_of_work();
  const auto back = ends.back().first + second;
  const auto s = waiting_settings(dropout_policy::pause);
  const auto e = absent_world(s, ends[2].second, ends[2].first + 1, back);
  storage::memory_store store(e.parts.private_);
  recorder made;
  std::atomic<bool> stop = true;  // after the first round
  auto outcome = simulate(e, initial_state(e), store, made.observer(), stop);
  BOOST_REQUIRE(outcome.has_value());
  BOOST_TEST(outcome->state.version == 1U);
  BOOST_TEST(made.reports.front().ended_at == back);
  const auto& kept = *made.checkpoint;
  BOOST_TEST(kept.open.size() == kept.simulation.tasks.size());
  const auto waited = [&](const auto& task) { return task.ends_at <= back; };
  BOOST_TEST(std::ranges::count_if(kept.simulation.tasks, waited) == all_clients - buffer);

  auto state = kept;
  state.ledger = std::make_shared<participation_ledger>(*kept.ledger);
  stop = false;
  outcome = simulate(e, std::move(state), store, made.observer(), stop);
  BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome ? std::string() : outcome.error().text()));
  made.finish(*outcome, store);
  BOOST_TEST(made.trace.counts.folded == 2U * buffer);
  BOOST_TEST(made.trace.counts.staleness_sum == all_clients - buffer);
  check_accounts(made);
}

BOOST_AUTO_TEST_SUITE_END()
