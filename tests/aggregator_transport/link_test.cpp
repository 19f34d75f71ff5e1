// Links between two actor systems of one process, with TLS and without.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <thread>
#include <tuple>
#include <type_traits>

#include "tests/aggregator_transport/raw_frames.hpp"
#include "tests/aggregator_transport/sites.hpp"
#include "tests/aggregator_transport/test_authority.hpp"

BOOST_AUTO_TEST_SUITE(operator_links)

using namespace furlong;
using namespace furlong::tests;

/// CAF 0.17 loses its broker, once per actor system, when it gave up a connection that was still in its handshake; with
/// TLS the connection too.
/// Called by AddressSanitizer, where that is on.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:caf::io::\nleak:libcaf_io\nleak:libcaf_openssl\n"
         "leak:caf::make_node_id\nleak:std::vector<caf::behavior\n";
}

namespace {

/// Two sites of one operator.
struct two_sites {
  explicit two_sites(bool with_tls, std::chrono::milliseconds heartbeat = 500ms,
                     std::chrono::milliseconds timeout = 4000ms)
      : upper({with_tls ? std::optional(authority.issue("upper")) : std::nullopt, heartbeat, timeout}),
        lower({with_tls ? std::optional(authority.issue("lower")) : std::nullopt, heartbeat, timeout}) {}
  test_authority authority;
  site upper, lower;
};

/// One link that is open.
struct linked : two_sites {
  explicit linked(bool with_tls, const aggregator_transport::link_options& options = {},
                  const aggregator_transport::link_options& below_options = {})
      : two_sites(with_tls), listening(upper, options), below(connect(lower, listening.number(), below_options)) {
    BOOST_REQUIRE(below->wait_open());
    above = listening.link(0);
    BOOST_REQUIRE(above);
  }
  port listening;
  witness_ptr below, above;
};

void check_frames(const std::vector<net::received>& got, const std::vector<std::size_t>& words) {
  BOOST_REQUIRE(got.size() == words.size());
  for (std::size_t i = 0; i < words.size(); ++i)
    BOOST_TEST(std::ranges::equal(got[i].bytes(), raw_frame(words[i], i).bytes()));
}

using both = std::tuple<std::false_type, std::true_type>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(frames_of_all_sizes_arrive_both_ways_in_order, with_tls, both) {
  linked pair(with_tls::value);
  const std::vector<std::size_t> words{0, 1, 100, 131'072, 131'073, 0, 2'500'000, 7, 400'000};
  for (std::size_t i = 0; i < words.size(); ++i) {
    pair.below->channel()->send(raw_frame(words[i], i));
    pair.above->channel()->send(raw_frame(words[i], i));
  }
  BOOST_REQUIRE(pair.above->wait_frames(words.size()));
  BOOST_REQUIRE(pair.below->wait_frames(words.size()));
  check_frames(pair.above->frames(), words);
  check_frames(pair.below->frames(), words);
  BOOST_TEST(pair.above->closed().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(both_sides_know_who_is_at_the_other_end, with_tls, both) {
  linked pair(with_tls::value);
  BOOST_TEST(pair.below->channel()->other().address == "127.0.0.1:" + std::to_string(pair.listening.number()));
  BOOST_TEST(pair.above->channel()->other().address.starts_with("127.0.0.1:"));
  BOOST_TEST(pair.above->channel()->other().name == (with_tls::value ? "lower" : ""));
  BOOST_TEST(pair.below->channel()->other().name == (with_tls::value ? "upper" : ""));
}

BOOST_AUTO_TEST_CASE(frames_sent_by_many_threads_all_arrive) {
  linked pair(true);
  constexpr std::size_t threads = 4, each = 2000;
  {
    std::vector<std::jthread> senders;
    for (std::size_t t = 0; t < threads; ++t)
      senders.emplace_back([&, t] {
        for (std::size_t i = 0; i < each; ++i) pair.below->channel()->send(raw_frame(1 + i % 5, t * each + i));
      });
  }
  BOOST_REQUIRE(pair.above->wait_frames(threads * each));
  // Of each thread in the order in which it sent them.
  std::vector<std::size_t> next(threads);
  for (const auto& frame : pair.above->frames()) {
    bool known = false;
    for (std::size_t t = 0; t < threads && !known; ++t) {
      if (next[t] == each) continue;
      known = std::ranges::equal(frame.bytes(), raw_frame(1 + next[t] % 5, t * each + next[t]).bytes());
      if (known) ++next[t];
    }
    BOOST_REQUIRE(known);
  }
}

BOOST_AUTO_TEST_CASE(many_links_to_one_port) {
  two_sites sites(true);
  port listening(sites.upper);
  std::vector<witness_ptr> below;
  for (int i = 0; i < 20; ++i) below.push_back(connect(sites.lower, listening.number()));
  for (std::size_t i = 0; i < below.size(); ++i) {
    BOOST_REQUIRE(below[i]->wait_open());
    below[i]->channel()->send(raw_frame(1000 + i, i));
  }
  std::vector<bool> seen(below.size());
  for (std::size_t i = 0; i < below.size(); ++i) {
    const auto above = listening.link(i);
    BOOST_REQUIRE(above);
    BOOST_REQUIRE(above->wait_frames(1));
    const auto frame = above->frames()[0];
    const std::size_t which = frame.bytes().size() / 8 - 1000;
    BOOST_REQUIRE(which < below.size());
    BOOST_TEST(std::ranges::equal(frame.bytes(), raw_frame(1000 + which, which).bytes()));
    BOOST_TEST(!seen[which]);
    seen[which] = true;
    above->channel()->send(raw_frame(3, which));
  }
  for (const auto& one : below) BOOST_TEST(one->wait_frames(1));
  // Closing one leaves the others alone.
  below[7]->channel()->close();
  BOOST_TEST(below[7]->wait_closed());
  below[8]->channel()->send(raw_frame(1));
  BOOST_TEST(below[8]->closed().empty());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(closing_sends_what_is_queued_and_tells_both_sides_once, from_above, both) {
  linked pair(true);
  const auto& closing = from_above::value ? pair.above : pair.below;
  const auto& other = from_above::value ? pair.below : pair.above;
  const auto channel = closing->channel();
  for (std::size_t i = 0; i < 30; ++i) channel->send(raw_frame(100'000, i));
  channel->close();
  channel->close();
  channel->send(raw_frame(1));
  BOOST_REQUIRE(closing->wait_closed());
  BOOST_REQUIRE(other->wait_closed());
  BOOST_TEST(other->frames().size() == 30U);
  BOOST_TEST(closing->closed()[0].reason == "closed by this side");
  BOOST_TEST(other->closed()[0].reason == "closed by the other side");
  std::this_thread::sleep_for(50ms);
  BOOST_TEST(closing->closed().size() == 1U);
  BOOST_TEST(other->closed().size() == 1U);
  BOOST_TEST(channel->queued() == 0U);
}

BOOST_AUTO_TEST_CASE(letting_go_of_the_channel_closes_it) {
  linked pair(true);
  pair.below->drop();
  BOOST_REQUIRE(pair.above->wait_closed());
  BOOST_TEST(pair.above->closed()[0].reason == "closed by the other side");
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_too_large_ends_the_link_and_both_sides_know_why) {
  aggregator_transport::link_options options;
  options.max_message = 1000;
  linked pair(true, options);
  pair.below->channel()->send(raw_frame(125));
  pair.below->channel()->send(raw_frame(126));
  BOOST_REQUIRE(pair.above->wait_closed());
  BOOST_REQUIRE(pair.below->wait_closed());
  BOOST_TEST(pair.above->frames().size() == 1U);
  BOOST_TEST(pair.above->closed()[0].reason == "a frame of 1008 bytes was announced; network.max_message is 1000");
  BOOST_TEST(pair.below->closed()[0].reason ==
             "the other side closed: a frame of 1008 bytes was announced; network.max_message is 1000");
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_set_later_counts_both_ways) {
  for (const bool sending : {false, true}) {
    linked pair(true);
    pair.above->channel()->send(raw_frame(200'000));  // longer than what is allowed afterwards
    BOOST_REQUIRE(pair.below->wait_frames(1));
    pair.below->channel()->limit(1000);
    const auto& from = sending ? pair.below : pair.above;
    from->channel()->send(raw_frame(125));
    from->channel()->send(raw_frame(126));
    BOOST_REQUIRE(pair.below->wait_closed());
    BOOST_REQUIRE(pair.above->wait_closed());
    const std::string why = sending ? "a frame of 1008 bytes was to be sent" : "a frame of 1008 bytes was announced";
    BOOST_TEST(pair.below->closed()[0].reason == why + "; network.max_message is 1000");
    BOOST_TEST(pair.below->frames().size() == (sending ? 1U : 2U));
    BOOST_TEST(pair.above->frames().size() <= 1U);
  }
}

BOOST_AUTO_TEST_CASE(a_receiver_that_does_not_keep_up_slows_the_sender_down_and_the_queue_is_bounded) {
  std::mutex blocked;
  std::atomic<std::size_t> got{0};
  two_sites sites(true);
  std::unique_lock holding(blocked);
  auto opened = aggregator_transport::operator_listener::open(
      sites.upper.system(), "127.0.0.1", 0, {}, [&](const net::channel_ptr& channel) -> net::channel_events {
        return {[&, channel](net::received) {
                  const std::scoped_lock lock(blocked);
                  ++got;
                },
                nullptr};
      });
  BOOST_REQUIRE(opened);
  aggregator_transport::link_options options;
  options.queue_limit = std::size_t{20} << 20;
  const auto below = connect(sites.lower, (*opened)->port(), options);
  BOOST_REQUIRE(below->wait_open());
  const auto channel = below->channel();
  // 8 MB may be on their way, 20 MB may wait: 40 are too many, and it is not for long enough that anybody is silent.
  for (std::size_t i = 0; i < 40; ++i) channel->send(raw_frame(131'072, i));
  BOOST_REQUIRE(below->wait_closed());
  BOOST_TEST(below->closed()[0].reason == "more than 20971520 bytes wait to be sent");
  BOOST_TEST(got <= 8U);
  holding.unlock();
}

BOOST_AUTO_TEST_CASE(a_user_who_throws_loses_the_link_only) {
  two_sites sites(true);
  auto opened = aggregator_transport::operator_listener::open(
      sites.upper.system(), "127.0.0.1", 0, {}, [&](const net::channel_ptr& channel) -> net::channel_events {
        return {[channel](net::received) { throw std::runtime_error("of the test"); }, nullptr};
      });
  BOOST_REQUIRE(opened);
  const auto below = connect(sites.lower, (*opened)->port());
  BOOST_REQUIRE(below->wait_open());
  below->channel()->send(raw_frame(1));
  BOOST_REQUIRE(below->wait_closed());
  BOOST_TEST(below->closed()[0].reason == "the other side closed: its user failed: of the test");
  BOOST_TEST(connect(sites.lower, (*opened)->port())->wait_open());
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_site_that_ends_is_noticed_and_can_be_replaced, with_tls, both) {
  test_authority authority;
  const auto network = [&](const char* name) {
    return aggregator_transport::operator_network{with_tls::value ? std::optional(authority.issue(name)) : std::nullopt,
                                                  500ms, 4000ms};
  };
  site lower(network("lower"));
  std::uint16_t number = 0;
  for (int i = 0; i < 4; ++i) {
    site upper(network("upper"));
    port listening(upper, {}, number);
    number = listening.number();
    const auto below = connect(lower, number);
    BOOST_REQUIRE(below->wait_open());
    const auto above = listening.link(0);
    BOOST_REQUIRE(above);
    below->channel()->send(raw_frame(1000));
    BOOST_REQUIRE(above->wait_frames(1));
    if (i % 2 == 0) above->drop();  // else all at once, with the port and the system
    if (i % 2 == 0) BOOST_REQUIRE(below->wait_closed());
  }
}

BOOST_AUTO_TEST_CASE(a_closed_listener_opens_no_links_but_keeps_those_it_has) {
  linked pair(true);
  pair.listening.listener().close();
  pair.listening.listener().close();
  pair.below->channel()->send(raw_frame(10));
  BOOST_TEST(pair.above->wait_frames(1));
  const auto another = connect(pair.lower, pair.listening.number(), {}, 2000ms);
  BOOST_REQUIRE(another->wait_failed());
  BOOST_TEST(pair.above->closed().empty());
}

BOOST_AUTO_TEST_SUITE_END()
