// The host of a node: its actor and workers, between a gateway that the test plays and a store that the test watches.
// What a node does is in tests/federated/node_role_test.cpp.
#include "actors/federation/node.hpp"

#include <boost/test/unit_test.hpp>
#include <future>

#include "actors/federation/model_frames.hpp"
#include "actors/federation/processes.hpp"
#include "actors/federation/processes_common.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
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
      state_.change([&] { ended_ = processes::node_end{why, failure}; });
    };
    system_->spawn(node_behavior, processes::node_settings{"server:1", "test", {0, 23}}, std::size_t{2},
                   processes::backoff([](federated::virtual_time) { return 0; }), std::move(hooks));
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
  template <class Message>
  bool hears(std::size_t fewest = 1, std::chrono::milliseconds longest = patience) {
    return channel->heard<Message>(fewest, e.parts.shared, longest) >= fewest;
  }
  /// How it ended; it must.
  processes::node_end must_end() {
    BOOST_REQUIRE(end());
    return *ended_;
  }
  /// How it ended, if it does.
  std::optional<processes::node_end> end(std::chrono::milliseconds longest = patience) {
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
  result<processes::node_run_ptr> prepare() {
    on_prepare();
    if (!last_.expired()) return fail(error::kind::runtime, "the store", "another process is using this store");
    auto made = std::make_shared<processes::node_run>();
    made->e = std::make_shared<const federated::experiment>(e);
    made->store = store;
    made->work = {2, 8, e.settings.own->commit == federated::commit_kind::after_training};
    last_ = made;
    return made;
  }

  caf::actor_system_config config_;
  std::optional<caf::actor_system> system_;
  monitor state_;
  session_events node_;
  protocol::session_number session_ = 0;
  std::weak_ptr<const processes::node_run> last_;
  std::optional<processes::node_end> ended_;
};

}  // namespace

// With commit = "after-training" a server may count on the values of every update that it has.
BOOST_AUTO_TEST_CASE(private_values_are_on_record_before_their_update_is_sent) {
  node_at_work one("furl", federated::commit_kind::after_training);
  one.train_first();
  BOOST_TEST(one.store->on_record().contains(3));
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

BOOST_AUTO_TEST_SUITE_END()
