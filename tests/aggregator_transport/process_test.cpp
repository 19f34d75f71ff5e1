// Links between processes: one that dies, one that falls silent, one that comes back.
#include <boost/test/unit_test.hpp>
#include <signal.h>
#include <thread>
#include <tuple>
#include <type_traits>

#include "tests/aggregator_transport/peer_process.hpp"
#include "tests/aggregator_transport/raw_frames.hpp"
#include "tests/aggregator_transport/sites.hpp"
#include "tests/aggregator_transport/test_authority.hpp"

BOOST_AUTO_TEST_SUITE(operator_processes)

using namespace furlong;
using namespace furlong::tests;
using clock_type = std::chrono::steady_clock;

namespace {

struct federation {
  explicit federation(bool with_tls, std::chrono::milliseconds heartbeat = 500ms,
                      std::chrono::milliseconds timeout = 4000ms)
      : tls(with_tls), heartbeat_(heartbeat), timeout_(timeout), here(network("here")) {}
  [[nodiscard]] aggregator_transport::operator_network network(const std::string& name) {
    return {tls ? std::optional(authority.issue(name)) : std::nullopt, heartbeat_, timeout_};
  }
  test_authority authority;
  bool tls;
  std::chrono::milliseconds heartbeat_, timeout_;
  site here;
};

void check_echo(witness& link, std::size_t words) {
  const auto before = link.frames().size();
  link.channel()->send(raw_frame(words, words));
  BOOST_REQUIRE(link.wait_frames(before + 1));
  BOOST_TEST(std::ranges::equal(link.frames().back().bytes(), raw_frame(words, words).bytes()));
}

/// The port that a peer says it listens at.
std::uint16_t port_of(peer_process& peer) {
  const auto said = peer.line();
  BOOST_REQUIRE(said.has_value());
  BOOST_REQUIRE(said->starts_with("port "));
  return static_cast<std::uint16_t>(std::stoi(said->substr(5)));
}

void tell(clock_type::duration noticed) {
  const std::chrono::duration<double, std::milli> time = noticed;
  BOOST_TEST_MESSAGE("noticed after " << time.count() << " ms");
}

using both = std::tuple<std::false_type, std::true_type>;

}  // namespace

BOOST_AUTO_TEST_CASE_TEMPLATE(frames_go_to_another_process_and_back, with_tls, both) {
  federation all(with_tls::value);
  port listening(all.here);
  peer_process peer("connect", listening.number(), all.network("peer"));
  const auto link = listening.link(0);
  BOOST_REQUIRE(link);
  for (const std::size_t words : std::vector<std::size_t>{0, 1, 5'000, 131'073, 2'500'000}) check_echo(*link, words);
  link->channel()->close();
  BOOST_TEST(peer.line().value_or("") == "open");
  BOOST_TEST(peer.line().value_or("").ends_with("closed by the other side"));
  BOOST_TEST(peer.exit_code().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_killed_process_is_noticed_at_once, with_tls, both) {
  federation all(with_tls::value);
  port listening(all.here);
  for (std::size_t i = 0; i < 3; ++i) {
    peer_process peer("connect", listening.number(), all.network("peer"));
    const auto link = listening.link(i);
    BOOST_REQUIRE(link);
    check_echo(*link, 1000);
    if (i == 2)  // in the middle of much
      for (std::size_t n = 0; n < 20; ++n) link->channel()->send(raw_frame(500'000, n));
    const auto killed = clock_type::now();
    peer.signal(SIGKILL);
    BOOST_REQUIRE(link->wait_closed());
    const auto noticed = clock_type::now() - killed;
    tell(noticed);
    BOOST_TEST((noticed < 1000ms));  // far below heartbeat + timeout
    BOOST_TEST(link->closed().size() == 1U);
  }
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_stopped_process_is_noticed_within_heartbeat_and_timeout, with_tls, both) {
  federation all(with_tls::value, 200ms, 600ms);
  port listening(all.here);
  peer_process peer("connect", listening.number(), all.network("peer"));
  const auto link = listening.link(0);
  BOOST_REQUIRE(link);
  check_echo(*link, 1000);
  // Idle for longer than the timeout: heartbeats keep it.
  std::this_thread::sleep_for(1500ms);
  BOOST_REQUIRE(link->closed().empty());
  const auto stopped = clock_type::now();
  peer.signal(SIGSTOP);
  BOOST_REQUIRE(link->wait_closed());
  const auto noticed = clock_type::now() - stopped;
  tell(noticed);
  BOOST_TEST((noticed > 300ms));
  BOOST_TEST((noticed < 800ms + 200ms));
  // Going on, the other side finds itself cut off, and ends.
  peer.signal(SIGCONT);
  BOOST_TEST(peer.exit_code().value_or(-1) == 0);
}

BOOST_AUTO_TEST_CASE_TEMPLATE(what_waits_for_a_stopped_process_keeps_nobody_from_ending, with_tls, both) {
  std::optional<peer_process> peer;
  clock_type::time_point begin;
  {
    federation all(with_tls::value, 200ms, 600ms);
    port listening(all.here);
    peer.emplace("connect", listening.number(), all.network("peer"));
    const auto link = listening.link(0);
    BOOST_REQUIRE(link);
    const auto channel = link->channel();
    BOOST_REQUIRE(channel);  // not so late that the link has timed out
    peer->signal(SIGSTOP);
    for (std::size_t n = 0; n < 20; ++n) channel->send(raw_frame(500'000, n));
    BOOST_REQUIRE(link->wait_closed());
    BOOST_TEST(link->closed().size() == 1U);
    begin = clock_type::now();
  }
  BOOST_TEST((clock_type::now() - begin < 3000ms));
}

BOOST_AUTO_TEST_CASE_TEMPLATE(a_server_that_was_killed_is_found_again, with_tls, both) {
  federation all(with_tls::value);
  std::uint16_t number = 0;
  for (int i = 0; i < 3; ++i) {
    peer_process server("listen", number, all.network("server"));
    number = port_of(server);
    const auto link = connect(all.here, number);
    BOOST_REQUIRE_MESSAGE(link->wait_open(), link->failure().value_or(error{}).text());
    check_echo(*link, 300'000);
    server.signal(SIGKILL);
    if (i == 1) continue;  // connect again before its end was noticed
    BOOST_REQUIRE(link->wait_closed());
    (void)server.exit_code();  // its port is closed when it is gone altogether
    const auto none = connect(all.here, number, {}, 2000ms);
    BOOST_REQUIRE(none->wait_failed());
    BOOST_TEST(none->failure()->reason == "Connection refused");
  }
}

BOOST_AUTO_TEST_CASE(a_stopped_server_fails_the_connection_in_time) {
  federation all(true, 200ms, 600ms);
  peer_process server("listen", 0, all.network("server"));
  const auto number = port_of(server);
  server.signal(SIGSTOP);
  // The kernel still takes the connection.
  const auto began = clock_type::now();
  const auto link = connect(all.here, number, {}, 1500ms);
  BOOST_REQUIRE(link->wait_failed());
  BOOST_TEST((clock_type::now() - began < 1800ms));
  server.signal(SIGCONT);
  const auto again = connect(all.here, number);
  BOOST_REQUIRE_MESSAGE(again->wait_open(), again->failure().value_or(error{}).text());
  check_echo(*again, 1000);
}

BOOST_AUTO_TEST_SUITE_END()
