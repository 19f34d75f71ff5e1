// Peers that do not keep to the protocol, inside TLS and outside.
#include <atomic>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <sys/socket.h>

#include "federated/processes/backoff.hpp"
#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"
#include "tests/support/few_files.hpp"

BOOST_AUTO_TEST_SUITE(hostile)

using namespace furlong;
using namespace furlong::tests;

namespace {

/// A gateway that strangers attack, and what makes a peer one of its nodes.
struct besieged {
  explicit besieged(const gateway_options& options = {}) : to(pki, options) {}

  /// The channel of `peer`, the gateway's `number`th, after the handshake.
  [[nodiscard]] std::shared_ptr<witness> let_in(raw_peer& peer, std::size_t number) {
    BOOST_REQUIRE(peer.secure(tls));
    const auto there = to.wait_channel(number);
    BOOST_REQUIRE(there != nullptr);
    return there;
  }

  void check_serves() {
    net::transport on;
    const auto node = connect_to(on, to.address(), tls);
    BOOST_REQUIRE(node->wait_open());
    node->channel->send(make_frame(100'000));
    BOOST_REQUIRE(eventually([&] {
      for (std::size_t i = 0; i < to.channels(); ++i)
        if (to.wait_channel(i)->byte_count >= 100'000) return true;
      return false;
    }));
  }

  test_pki pki;
  gateway to;
  net::tls_context tls = client_context(pki.node());
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(random_bytes_instead_of_a_handshake, besieged) {
  random_stream random(5, purpose::test);
  constexpr std::size_t many = 200;
  for (std::size_t i = 0; i < many; ++i) {
    raw_peer stranger(to.port());
    auto sent = noise(random, 4000);
    // Half of them begin as TLS does.
    if (i % 2 == 0 && sent.size() > 5)
      std::copy_n(bytes{std::byte{22}, std::byte{3}, std::byte{1}}.begin(), 3, sent.begin());
    stranger.send(sent);
  }
  BOOST_TEST(to.wait_refusal(many - 1).has_value());
  BOOST_TEST(eventually([&] { return to.listening().connections() == 0; }));
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(random_bytes_after_the_handshake, besieged) {
  random_stream random(6, purpose::test);
  for (std::size_t i = 0; i < 50; ++i) {
    raw_peer peer(to.port());
    const auto there = let_in(peer, i);
    peer.send(heartbeat() + noise(random, 2000));
    peer.close();
    BOOST_TEST(there->wait_closed().has_value());
    BOOST_TEST(there->closings == 1);
  }
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(random_bytes_inside_the_records_of_tls, besieged) {
  random_stream random(7, purpose::test);
  for (std::size_t i = 0; i < 20; ++i) {
    raw_peer peer(to.port());
    const auto there = let_in(peer, i);
    // Past OpenSSL, right into the socket.
    const bytes record{std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0}, std::byte{64}};
    const auto forged = record + bytes(64, static_cast<std::byte>(random()));
    ::send(peer.socket(), forged.data(), forged.size(), MSG_NOSIGNAL);
    BOOST_TEST(there->wait_closed().has_value());
  }
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(giant_lengths, besieged) {
  std::size_t n = 0;
  for (const std::uint64_t total : {std::uint64_t{(64 << 20) + 1}, std::uint64_t{1} << 32, ~std::uint64_t{0}}) {
    raw_peer peer(to.port());
    const auto there = let_in(peer, n++);
    peer.send(announcement(total));
    const auto why = there->wait_closed();
    BOOST_REQUIRE(why);
    BOOST_TEST(why->find(std::to_string(total)) != std::string::npos, *why);
    // The peer hears it too: the gateway's greeting, then its last words.
    bytes all;
    BOOST_TEST(peer.receive_to_end(all));
    const std::string text(reinterpret_cast<const char*>(all.data()), all.size());
    BOOST_TEST(text.find(std::to_string(total)) != std::string::npos);
  }
  check_serves();
}

BOOST_AUTO_TEST_CASE(a_large_frame_of_somebody_who_was_not_let_in) {
  gateway_options options;
  options.settings.channel.max_first = 100'000;
  options.settings.room = net::budget::make(64 << 20);
  besieged all(options);
  raw_peer stranger(all.to.port());
  const auto there = all.let_in(stranger, 0);
  stranger.send(frame_of_zeros(100'000));
  BOOST_TEST(there->wait_frames(1));
  there->let_go(false);
  stranger.send(announcement(64 << 20));
  const auto why = there->wait_closed();
  BOOST_REQUIRE(why);
  BOOST_TEST(*why == "a frame of 67108864 bytes is announced, and 100000 are allowed");
  BOOST_TEST(options.settings.room->peak() < 200'000U);

  raw_peer node(all.to.port());
  const auto wanted = all.let_in(node, 1);
  wanted->channel->limit(64 << 20);
  node.send(frame_of_zeros(3 << 20));
  BOOST_TEST(wanted->wait_frames(1));
}

BOOST_AUTO_TEST_CASE(a_slow_loris_in_the_handshake) {
  gateway_options options;
  options.settings.channel.opening = milliseconds(400);
  options.settings.limits.handshakes = 4;
  besieged all(options);
  std::vector<raw_peer> slow;
  for (int i = 0; i < 12; ++i) {
    slow.emplace_back(all.to.port());
    slow.back().send(bytes{std::byte{22}, std::byte{3}});
  }
  // Three batches of four: each gives its place up after its time.
  all.check_serves();
  const auto refused = all.to.wait_refusal(11);
  BOOST_REQUIRE(refused);
  BOOST_TEST(refused->what.reason == "no answer within 0.4 s");
  BOOST_TEST((refused->cause == net::failure_cause::timed_out));
}

/// From one address, in greater numbers than there may be handshakes, and never fewer.
BOOST_AUTO_TEST_CASE(silent_connections_do_not_keep_others_out) {
  besieged all;
  std::atomic<std::size_t> opened{0};
  const std::jthread loris([&](const std::stop_token& over) {
    std::deque<raw_peer> silent;
    while (!over.stop_requested()) {
      silent.push_back(raw_peer::from_host(2, all.to.port()));
      if (silent.size() > 300) silent.pop_front();
      if (++opened > 300) std::this_thread::sleep_for(milliseconds(5));
    }
  });
  const bool many = eventually([&] { return opened > 300; });
  const auto begun = std::chrono::steady_clock::now();
  all.check_serves();
  const auto taken = std::chrono::steady_clock::now() - begun;
  BOOST_TEST(many);
  BOOST_TEST((taken < std::chrono::seconds(5)));
  // The first refusal can be of a connection that the flood itself had closed by then.
  const auto turned_away = [&, seen = std::size_t{0}]() mutable {
    while (seen < all.to.refusals())
      if (all.to.wait_refusal(seen++)->what.reason == "too many handshakes at once from 127.0.0.2") return true;
    return false;
  };
  BOOST_TEST(eventually(turned_away));
}

/// As nodes behind one address do that start together: those that are turned away try again.
BOOST_AUTO_TEST_CASE(a_hundred_nodes_of_one_address_get_in) {
  besieged all;
  net::transport on;
  struct one {
    std::shared_ptr<witness> session;
    federated::processes::backoff pause;
    std::chrono::steady_clock::time_point next;
  };
  std::vector<one> nodes;
  for (std::uint32_t i = 0; i < 100; ++i)
    nodes.push_back({connect_to(on, all.to.address(), all.tls),
                     federated::processes::backoff(random_stream(i, purpose::reconnect, 0, i)),
                     {}});
  const auto begun = std::chrono::steady_clock::now();
  const auto open = [](const one& node) {
    return node.session->wait([&] { return node.session->channel != nullptr; }, {});
  };
  const auto all_in = [&] {
    const auto now = std::chrono::steady_clock::now();
    for (auto& node : nodes) {
      const bool failed = node.session->wait([&] { return node.session->failure.has_value(); }, {});
      if (!failed) continue;
      if (node.next == std::chrono::steady_clock::time_point{})
        node.next = now + std::chrono::microseconds(node.pause.next());
      if (now < node.next) continue;
      node.next = {};
      node.session = connect_to(on, all.to.address(), all.tls);
    }
    return std::ranges::all_of(nodes, open);
  };
  BOOST_TEST(eventually(all_in));
  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::seconds(15)));
  BOOST_TEST(all.to.refusals() > 0U);
}

BOOST_AUTO_TEST_CASE(too_many_connections) {
  test_pki pki;
  gateway_options options;
  options.settings.limits.per_address = 3;
  gateway by_address(pki, options);
  options.settings.limits = {};
  options.settings.limits.connections = 3;
  gateway in_all(pki, options);
  const auto tls = client_context(pki.node());
  for (auto* to : {&by_address, &in_all}) {
    net::transport on;
    std::vector<std::shared_ptr<witness>> nodes;
    for (int i = 0; i < 3; ++i) {
      nodes.push_back(connect_to(on, to->address(), tls));
      BOOST_REQUIRE(nodes.back()->wait_open());
    }
    BOOST_TEST(connect_to(on, to->address(), tls)->wait_failed().has_value());
    BOOST_TEST(to->wait_refusal()->what.reason.starts_with("too many connections"));
    nodes[0]->channel->close();
    BOOST_TEST(eventually([&] { return to->listening().connections() < 3; }));
    BOOST_TEST(connect_to(on, to->address(), tls)->wait_open());
  }
}

BOOST_AUTO_TEST_CASE(no_file_descriptors_left) {
  test_pki pki;
  gateway_options options;
  options.secured = false;
  gateway to(pki, options);
  net::transport on;
  std::unique_ptr<raw_peer> waiting;
  {
    // The peer's own socket gets the last number; the gateway's accept() finds none.
    const int next = ::dup(0);
    const few_files limit(static_cast<rlim_t>(next) + 1);
    std::vector<int> between;  // numbers that others gave back
    for (int one = ::dup(0); one >= 0; one = ::dup(0)) between.push_back(one);
    ::close(next);
    waiting = std::make_unique<raw_peer>(to.port());
    std::this_thread::sleep_for(milliseconds(250));
    BOOST_TEST(to.channels() == 0U);
    for (const int one : between) ::close(one);
  }
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  waiting->send(frame_of_zeros(1000));
  BOOST_TEST(there->wait_frames(1));
}

BOOST_AUTO_TEST_CASE(a_consumer_that_throws_loses_its_channel_only) {
  net::transport on;
  net::listener_events events;
  std::atomic<int> closings{0};
  events.on_open = [&](net::channel_ptr) {
    return net::channel_events{[](net::received) { throw std::runtime_error("a bad frame"); },
                               [&](const error&) {
                                 ++closings;
                                 throw std::runtime_error("and again");
                               }};
  };
  const auto listening = net::listener::open(on, {"127.0.0.1", 0}, std::nullopt, {}, std::move(events));
  for (int i = 1; i <= 2; ++i) {
    raw_peer peer((*listening)->port());
    peer.send(frame_of_zeros(10));
    bytes all;
    BOOST_TEST(peer.receive_to_end(all));
    BOOST_TEST(eventually([&] { return closings == i; }));
  }
}

BOOST_AUTO_TEST_SUITE_END()
