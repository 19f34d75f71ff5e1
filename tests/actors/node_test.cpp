// A node's actor between a gateway that the test plays and a store that the test watches.
#include "actors/federation/node.hpp"

#include <boost/test/unit_test.hpp>
#include <future>

#include "actors/federation/model_frames.hpp"
#include "actors/federation/processes.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/round.hpp"
#include "federated/settings.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/training.hpp"
#include "tests/actors/sessions.hpp"
#include "tests/actors/watched_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(nodes)

using namespace furlong;
using namespace furlong::actors::federation;
namespace net = actors::net;
using tests::listening_channel;
using tests::monitor;
using tests::patience;
using tests::watched_store;

namespace {

federated::experiment make(std::string_view kind, federated::commit_kind commit = federated::commit_kind::after_ack) {
  federated::run_settings settings;
  settings.rounds = 5;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
  *settings.reconstruction = {.lr = 0.1F, .epochs = 1, .max_steps = 3};
  settings.own->commit = commit;
  return tests::make_experiment(settings, tests::make_ratings(12), {}, {"user"});
}

/// Hosts all 24 clients on two workers.
class node_at_work {
 public:
  federated::experiment e;
  std::shared_ptr<watched_store> store;
  std::shared_ptr<listening_channel> channel;
  std::function<void()> on_prepare = [] {};

  explicit node_at_work(std::string_view kind = "furl",
                        federated::commit_kind commit = federated::commit_kind::after_ack)
      : e(make(kind, commit)), store(std::make_shared<watched_store>(e.parts.private_)) {
    configure_system(config_, 3);
    system_.emplace(config_);
    node_hooks hooks;
    hooks.stop = &stop;
    hooks.open = [this](const session_events& to, const std::string&, protocol::session_number attempt) {
      state_.change([&] {
        node_ = to;
        session_ = attempt;
        channel = std::make_shared<listening_channel>();
        caf::anon_send(to, session_opened{attempt, channel});
      });
    };
    hooks.prepare = [this](const protocol::welcome&) { return prepare(); };
    hooks.on_over = [this](const std::string& why, const std::optional<error>& failure) {
      state_.change([&] { ended_ = node_end{why, failure}; });
    };
    federated::processes::backoff pause([](federated::virtual_time) { return 0; });
    system_->spawn(node_behavior, std::string("server:1"), std::string("test"), protocol::client_range{0, 23},
                   std::size_t{2}, std::move(pause), std::move(hooks));
    BOOST_REQUIRE(state_.wait([&] { return session_ > 0; }));
  }
  ~node_at_work() {
    store->hold_up({});
    stop = true;
    // A drained node takes leave, and its gateway ends the session.
    if (!end(std::chrono::milliseconds(0)) && hears<protocol::close_notice>())
      caf::anon_send(node_, session_closed{session_, "left"});
    static_cast<void>(end());
    node_ = nullptr;
    system_.reset();
  }

  /// What the gateway says.
  void say(const wire::control& message) { say(wire::encoder::encode(message).value()); }
  void say_model(std::uint64_t version) {
    auto state = federated::initial_state(e);
    state.version = version;
    say(wire::encoder(e.parts.shared).encode(federated::make_broadcast(e, state)).value());
  }
  void welcome(const std::vector<std::uint64_t>& lives = {}) {
    protocol::welcome content;
    content.run = e.run;
    content.scenario = "name = \"test\"\n";
    for (const auto version : lives) content.history.resume(version, 1);
    content.facts = e.clients->facts();
    say(content);
  }
  void assign(std::uint64_t version, std::vector<federated::member> tasks) {
    say(protocol::assignment{e.run, version, false, std::move(tasks)});
  }
  /// Client 3 gets its first task and reports it.
  void train_first() {
    welcome();
    say_model(0);
    assign(0, {{3, 0}});
    BOOST_REQUIRE(hears<wire::update_view>());
  }
  /// A client gets a task, and reads its values until they are not held up any more.
  void train_slowly(std::uint64_t version, std::uint32_t client, std::size_t readers = 1) {
    store->hold_up(client);
    assign(version, {{client, 0}});
    BOOST_REQUIRE(store->is_read(client, readers));
  }
  void judge(std::uint64_t version, std::uint32_t client, protocol::verdict_kind what) {
    say(protocol::verdicts{{{{e.run, version, client, 0}, what, {}}}, version});
  }
  /// The session ends, and the next one begins.
  void drop_session() {
    const auto before = session_;
    caf::anon_send(node_, session_closed{before, "cut off"});
    BOOST_REQUIRE(state_.wait([&] { return session_ > before; }));
  }
  /// The node begins another session than its first by itself.
  void await_another_session() {
    BOOST_REQUIRE(state_.wait([&] { return session_ > 1; }));
  }
  /// The gateway does not let the node in any more.
  void deny() { caf::anon_send(node_, session_closed{session_, "denied", true}); }
  template <class Message>
  bool hears(std::size_t fewest = 1, std::chrono::milliseconds longest = patience) {
    return channel->heard<Message>(fewest, e.parts.shared, longest) >= fewest;
  }
  /// How it ended; it must.
  node_end must_end() {
    BOOST_REQUIRE(end());
    return *ended_;
  }
  /// How it ended, if it does.
  std::optional<node_end> end(std::chrono::milliseconds longest = patience) {
    state_.wait([&] { return ended_.has_value(); }, longest);
    return ended_;
  }

  std::atomic<bool> stop{false};

 private:
  void say(const wire::encoded& frame) {
    auto copy = std::make_shared<net::received>(frame.size());
    std::ranges::copy(frame.bytes(), copy->bytes().begin());
    caf::anon_send(node_, session_frame{session_, std::move(copy)});
  }
  /// Only one at a time may have the store, as on a disk.
  result<node_run_ptr> prepare() {
    on_prepare();
    if (!last_.expired()) return fail(error::kind::runtime, "the store", "another process is using this store");
    auto made = std::make_shared<const node_run>(node_run{e, store, wire::update_format::dense, {}});
    last_ = made;
    return made;
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  monitor state_;
  session_events node_;
  protocol::session_number session_ = 0;
  std::weak_ptr<const node_run> last_;
  std::optional<node_end> ended_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(private_values_are_kept_once_a_model_has_their_update_and_not_again_when_that_is_durable) {
  node_at_work one;
  one.train_first();
  BOOST_TEST(one.store->on_record().empty());
  one.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_REQUIRE(one.store->keeps(3));
  one.say_model(1);
  one.assign(1, {{3, 0}});
  BOOST_REQUIRE(one.hears<wire::update_view>(2));
  one.judge(1, 3, protocol::verdict_kind::taken);
  one.judge(0, 3, protocol::verdict_kind::durable);  // its values are older than those kept by now
  one.judge(1, 3, protocol::verdict_kind::durable);
  one.say(protocol::close_notice{"the run is over", true});
  BOOST_REQUIRE(one.end());
  BOOST_TEST(one.store->on_record().at(3) == 1U);
}

// With commit = "after-training" a server may count on the values of every update that it has.
BOOST_AUTO_TEST_CASE(private_values_are_on_record_before_their_update_is_sent) {
  node_at_work one("furl", federated::commit_kind::after_training);
  one.train_first();
  BOOST_TEST(one.store->on_record().contains(3));
}

// exact_state: an update that is reported has its private values in the store.
BOOST_AUTO_TEST_CASE(values_are_pending_before_their_update_is_sent_and_discarded_after_the_verdict) {
  node_at_work one("feddyn");
  one.train_first();
  BOOST_TEST(one.store->pending() == 1U);
  one.judge(0, 3, protocol::verdict_kind::unwanted);
  BOOST_REQUIRE(one.store->discards());
  BOOST_TEST(one.store->pending() == 0U);
  BOOST_TEST(one.store->on_record().empty());
}

BOOST_AUTO_TEST_CASE(the_next_process_of_a_node_commits_pending_values_once_it_hears_the_verdict) {
  node_at_work one("feddyn");
  BOOST_REQUIRE(one.store->stage({one.e.run, 0, 3, 0}, models::private_parameters(one.e.parts.private_)));
  one.welcome();
  one.await_another_session();
  BOOST_REQUIRE(one.hears<protocol::hello>());
  one.welcome();
  BOOST_REQUIRE(one.hears<protocol::ready>());
  one.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_REQUIRE(one.store->keeps(3));
  BOOST_TEST(one.store->pending() == 1U);
  one.judge(0, 3, protocol::verdict_kind::durable);
  BOOST_REQUIRE(one.store->discards());
  BOOST_TEST(one.store->pending() == 0U);
}

BOOST_AUTO_TEST_CASE(a_denied_node_does_not_come_again) {
  node_at_work one;
  one.deny();
  const auto end = one.must_end();
  BOOST_REQUIRE(end.failure.has_value());
  BOOST_TEST((end.failure->what == error::kind::usage));
  BOOST_TEST(end.failure->text().starts_with("the gateway rejects this node: denied; "), end.failure->text());
}

BOOST_AUTO_TEST_CASE(a_new_life_of_the_run_finds_the_store_closed_while_clients_wait_to_be_scored) {
  node_at_work one;
  one.welcome();
  BOOST_REQUIRE(one.hears<protocol::ready>());
  one.say_model(0);
  one.store->hold_up(1);
  protocol::evaluation_request all{0, {}};
  for (std::uint32_t i = 0; i < 640; ++i) all.clients.emplace_back(federated::group::seen, i % 17);
  one.say(all);
  BOOST_REQUIRE(one.store->is_read(1));
  one.drop_session();
  one.welcome({1});
  one.store->hold_up({});
  BOOST_TEST(one.hears<protocol::ready>());
  BOOST_TEST(!one.end(std::chrono::milliseconds(200)));
  // This session asked for none.
  BOOST_TEST(!one.hears<protocol::evaluation_scores>(1, std::chrono::milliseconds(200)));
}

BOOST_AUTO_TEST_CASE(what_a_model_has_is_kept_and_on_record_when_the_run_ends_while_a_worker_is_busy) {
  node_at_work one;
  one.train_first();
  one.train_slowly(0, 5);
  one.judge(0, 3, protocol::verdict_kind::durable);
  one.say(protocol::close_notice{"the run is over", true});
  BOOST_TEST(!one.end(std::chrono::milliseconds(200)));
  one.store->hold_up({});
  const auto end = one.must_end();
  BOOST_TEST(end.why == "the run is over");
  BOOST_TEST(!end.failure);
  BOOST_TEST(one.store->on_record().contains(3));
}

// A node that ended now would lose them, although a model has their update.
BOOST_AUTO_TEST_CASE(private_values_are_on_record_while_another_client_trains) {
  node_at_work one;
  one.train_first();
  one.train_slowly(0, 5);
  one.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(one.store->has_on_record(3));
}

BOOST_AUTO_TEST_CASE(private_values_do_not_change_while_a_worker_reads_them) {
  node_at_work one;
  one.train_first();
  one.say_model(1);
  one.train_slowly(1, 3, 2);
  one.judge(0, 3, protocol::verdict_kind::taken);
  BOOST_TEST(!one.store->keeps(3, std::chrono::milliseconds(200)));
  one.store->hold_up({});
  BOOST_TEST(one.store->has_on_record(3));
}

BOOST_AUTO_TEST_CASE(an_exception_while_a_node_makes_ready_ends_it) {
  node_at_work one;
  one.on_prepare = [] { throw std::filesystem::filesystem_error("status", std::make_error_code(std::errc::io_error)); };
  one.welcome();
  const auto end = one.must_end();
  BOOST_REQUIRE(end.failure);
  BOOST_TEST(end.failure->reason.find("status") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_exception_while_values_are_kept_ends_it) {
  node_at_work one;
  one.train_first();
  one.store->throw_from_now_on();
  one.judge(0, 3, protocol::verdict_kind::taken);
  const auto end = one.must_end();
  BOOST_TEST(end.failure.has_value());
}

BOOST_AUTO_TEST_CASE(a_damaged_value_fails_its_task_and_a_failing_store_the_node) {
  for (const auto what : {error::kind::data, error::kind::runtime}) {
    node_at_work one("furl", federated::commit_kind::after_training);
    one.store->refuse(what);
    one.welcome();
    one.say_model(0);
    one.assign(0, {{3, 0}});
    if (what == error::kind::data) {
      BOOST_TEST(one.hears<protocol::task_failures>());
    } else {
      const auto end = one.must_end();
      BOOST_TEST(end.why == "its store or its model failed");
      BOOST_TEST(end.failure.value().reason == "cannot be written");
    }
    BOOST_TEST(!one.hears<wire::update_view>(1, std::chrono::milliseconds(0)));
  }
}

/// What comes of a node whose preparations are these, beside a server that lets it in.
result<std::string> run_node_that(const std::function<void()>& prepares) {
  const auto e = make("furl");
  server_setup setup;
  setup.listen = {"127.0.0.1", 0};
  setup.scenario = "name = \"test\"\n";
  const auto opened = server::open(e, std::move(setup)).value();
  std::promise<std::uint16_t> listening;
  server_watcher watcher;
  watcher.on_listening = [&](std::uint16_t port, std::uint16_t) { listening.set_value(port); };
  std::atomic<bool> stop{false};
  const federated::run_observer nobody;
  auto served = std::async(std::launch::async,
                           [&] { return opened->run(federated::initial_state(e), nobody, watcher, stop).has_value(); });
  node_setup node;
  node.server = {"127.0.0.1", listening.get_future().get()};
  node.clients = {0, 23};
  node.prepare = [&](const protocol::welcome&) -> result<prepared_run> {
    prepares();
    return fail(error::kind::usage, "the test", "must throw");
  };
  const std::atomic<bool> never{false};
  auto ended = run_node(never, node);
  stop = true;
  BOOST_TEST(served.get());
  return ended;
}

BOOST_AUTO_TEST_CASE(a_process_whose_node_an_exception_ended_ends_with_an_error) {
  const auto named = run_node_that([] { throw std::runtime_error("no room"); });
  BOOST_REQUIRE(!named);
  BOOST_TEST(named.error().reason.find("no room") != std::string::npos);
  const auto unknown = run_node_that([] { throw 42; });  // which nobody looks for
  BOOST_REQUIRE(!unknown);
  BOOST_TEST(unknown.error().reason.find("its actor ended") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_run_that_has_failed_ends_its_nodes_with_the_reason) {
  node_at_work one;
  one.welcome();
  one.say(protocol::close_notice{"the run has failed: a rule is broken", true, false, {}, true});
  const auto end = one.must_end();
  BOOST_TEST((end.failure.value().what == error::kind::runtime));
  BOOST_TEST(end.failure.value().text() == "the server: the run has failed: a rule is broken");
}

// What follows does not hide that it is repeated: behind a model that does not fit come its tasks, of a model that the
// node does not have.
BOOST_AUTO_TEST_CASE(a_node_whose_gateway_always_sends_the_same_nonsense_ends) {
  for (const bool more_follows : {false, true}) {
    node_at_work one;
    for (std::size_t session = 1; session <= repeated_failure::most_times; ++session) {
      one.welcome();
      one.say(protocol::task_failures{});  // which only nodes send
      if (more_follows) one.assign(7, {{3, 0}});
      BOOST_TEST(one.channel->is_closed());
      if (session < repeated_failure::most_times) one.drop_session();
    }
    BOOST_TEST(one.must_end().failure.value().text() ==
               "the gateway: sent a message that gateways do not send; " + std::string(same_build_remedy));
  }
}

// It keeps what comes while it waits for its workers before it opens a run.
BOOST_AUTO_TEST_CASE(a_gateway_that_sends_too_much_before_a_node_is_ready_is_left) {
  node_at_work one;
  one.train_first();
  one.train_slowly(0, 5);
  one.drop_session();
  one.welcome({1});
  const protocol::verdict other{{one.e.run, 0, 6, 0}, protocol::verdict_kind::durable, {}};
  one.say(protocol::verdicts{std::vector(100'000, other), 0});
  BOOST_TEST(one.channel->is_closed());
  one.store->hold_up({});
  BOOST_TEST(!one.end(std::chrono::milliseconds(200)).has_value());
}

BOOST_AUTO_TEST_CASE(a_node_that_was_given_tasks_in_between_goes_on) {
  node_at_work one;
  for (std::size_t session = 1; session <= repeated_failure::most_times; ++session) {
    one.welcome();
    one.say_model(0);
    one.assign(0, {{static_cast<std::uint32_t>(session), 0}});
    one.say(protocol::task_failures{});
    BOOST_TEST(one.channel->is_closed());
    one.drop_session();
  }
  BOOST_TEST(!one.end(std::chrono::milliseconds(0)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
