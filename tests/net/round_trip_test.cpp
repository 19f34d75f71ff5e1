// Frames of all lengths there and back, with TLS and without, on one thread and on several.
#include <array>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/net/ends.hpp"

BOOST_AUTO_TEST_SUITE(round_trips)

using namespace furlong;
using namespace furlong::tests;

namespace {

struct pair_of_ends {
  std::shared_ptr<witness> node;
  std::shared_ptr<witness> at_gateway;
};

pair_of_ends connect_pair(gateway& to, net::transport& on, std::optional<net::tls_context> tls, std::size_t n = 0) {
  pair_of_ends both{connect_to(on, to.address(), std::move(tls)), nullptr};
  BOOST_REQUIRE(both.node->wait_open());
  both.at_gateway = to.wait_channel(n);
  BOOST_REQUIRE(both.at_gateway != nullptr);
  return both;
}

void check_both_ways(bool secured, std::size_t threads) {
  test_pki pki;
  gateway_options options;
  options.secured = secured;
  options.threads = threads;
  gateway to(pki, options);
  net::transport on(threads);
  std::optional<net::tls_context> tls;
  if (secured) tls = client_context(pki.node("phones/10-19/7"));
  const auto both = connect_pair(to, on, tls);
  BOOST_TEST(both.at_gateway->channel->other().name == (secured ? "phones/10-19/7" : ""));
  BOOST_TEST(both.node->channel->other().name == (secured ? "gateway" : ""));
  BOOST_TEST(both.node->channel->other().address == to.address().text());
  const std::size_t mib = 1 << 20;
  std::vector<wire::encoded> frames;
  for (const std::size_t bytes :
       {std::size_t{1}, std::size_t{100}, std::size_t{5000}, std::size_t{16'384}, std::size_t{65'536},
        std::size_t{70'000}, mib - 64, mib, mib + 8, 3 * mib, 40 * mib, std::size_t{8}})
    frames.push_back(make_frame(bytes, static_cast<std::uint32_t>(frames.size())));
  for (const auto& frame : frames) {
    both.node->channel->send(frame);
    both.at_gateway->channel->send(frame);
  }
  BOOST_REQUIRE(both.node->wait_frames(frames.size()));
  BOOST_REQUIRE(both.at_gateway->wait_frames(frames.size()));
  for (const auto& end : {both.node, both.at_gateway}) {
    const auto came = end->take_frames();
    for (std::size_t i = 0; i < frames.size(); ++i) {
      BOOST_TEST(same_bytes(came[i].bytes(), frames[i].bytes()), "frame " << i);
      BOOST_TEST(reinterpret_cast<std::uintptr_t>(came[i].bytes().data()) % 8 == 0U);
    }
    BOOST_TEST(eventually([&] { return end->channel->queued() == 0; }));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(both_ways_over_tls) { check_both_ways(true, 1); }
BOOST_AUTO_TEST_CASE(both_ways_over_plain_tcp) { check_both_ways(false, 1); }
BOOST_AUTO_TEST_CASE(both_ways_on_several_threads) { check_both_ways(true, 3); }

BOOST_AUTO_TEST_CASE(frames_of_many_threads_arrive_in_the_order_of_each) {
  test_pki pki;
  gateway_options options;
  options.settings.channel.max_unread = 64 << 20;  // the witness keeps them all
  gateway to(pki, options);
  net::transport on;
  const auto both = connect_pair(to, on, client_context(pki.node()));
  constexpr std::size_t senders = 4;
  constexpr std::size_t each = 500;
  // The length tells the sender, the seed (the version in the frame) the number.
  std::array<std::vector<wire::encoded>, senders> frames;
  for (std::size_t s = 0; s < senders; ++s)
    for (std::uint32_t i = 0; i < each; ++i) frames[s].push_back(make_frame(1000 + 80 * s, i));
  std::vector<std::thread> threads;
  for (std::size_t s = 0; s < senders; ++s)
    threads.emplace_back([&, s] {
      for (const auto& frame : frames[s]) both.node->channel->send(frame);
    });
  for (auto& thread : threads) thread.join();
  BOOST_REQUIRE(both.at_gateway->wait_frames(senders * each));
  std::array<std::size_t, senders> next{};
  for (const auto& frame : both.at_gateway->take_frames()) {
    std::size_t s = 0;
    while (s < senders && frames[s][0].size() != frame.bytes().size()) ++s;
    BOOST_REQUIRE(s < senders);
    BOOST_REQUIRE(next[s] < each);
    BOOST_REQUIRE(same_bytes(frame.bytes(), frames[s][next[s]++].bytes()));
  }
}

BOOST_AUTO_TEST_CASE(many_channels_at_once) {
  test_pki pki;
  gateway_options options;
  options.threads = 2;
  options.settings.limits.handshakes_per_address = 100;
  gateway to(pki, options);
  net::transport on;
  const auto tls = client_context(pki.node());
  constexpr std::size_t many = 100;
  std::vector<std::shared_ptr<witness>> nodes;
  for (std::size_t i = 0; i < many; ++i) nodes.push_back(connect_to(on, to.address(), tls));
  for (const auto& node : nodes) BOOST_REQUIRE(node->wait_open());
  const auto shared = make_frame(200'000);  // one copy for all of them
  for (std::size_t i = 0; i < many; ++i) {
    const auto there = to.wait_channel(i);
    BOOST_REQUIRE(there != nullptr);
    there->channel->send(shared);
    nodes[i]->channel->send(shared);
  }
  for (std::size_t i = 0; i < many; ++i) {
    BOOST_REQUIRE(nodes[i]->wait_frames(1));
    BOOST_REQUIRE(to.wait_channel(i)->wait_frames(1));
    BOOST_TEST(same_bytes(nodes[i]->take_frames()[0].bytes(), shared.bytes()));
    BOOST_TEST(same_bytes(to.wait_channel(i)->take_frames()[0].bytes(), shared.bytes()));
  }
  BOOST_TEST(to.listening().connections() == many);
}

BOOST_AUTO_TEST_CASE(listens_on_both_protocols_and_answers_to_names) {
  test_pki pki;
  gateway_options options;
  options.at = "[::]:0";
  gateway to(pki, options);
  net::transport on;
  const auto tls = client_context(pki.node());
  BOOST_TEST(connect_to(on, to.address("127.0.0.1"), tls)->wait_open());
  BOOST_TEST(connect_to(on, to.address("localhost"), tls)->wait_open());
}

BOOST_AUTO_TEST_CASE(close_sends_what_is_queued) {
  test_pki pki;
  gateway to(pki);
  net::transport on;
  const auto both = connect_pair(to, on, client_context(pki.node()));
  const auto frame = make_frame(3 << 20);
  both.node->channel->send(frame);
  both.node->channel->close();
  both.node->channel->send(frame);  // dropped
  BOOST_TEST(both.node->wait_closed().value_or("") == "closed by this side");
  BOOST_TEST(both.at_gateway->wait_closed().value_or("") == "the other side closed");
  BOOST_TEST(both.at_gateway->frame_count == 1U);
  BOOST_TEST(same_bytes(both.at_gateway->take_frames().at(0).bytes(), frame.bytes()));
  both.node->channel->close();
  BOOST_TEST(both.node->closings == 1);
  BOOST_TEST(both.at_gateway->closings == 1);
}

BOOST_AUTO_TEST_CASE(the_end_of_a_transport_closes_its_channels) {
  test_pki pki;
  gateway to(pki);
  auto on = std::make_unique<net::transport>();
  const auto both = connect_pair(to, *on, client_context(pki.node()));
  const auto kept = both.node->channel;
  on.reset();
  BOOST_TEST(both.node->closings == 1);
  BOOST_TEST(both.node->closed->reason == "the transport ended");
  kept->send(make_frame(100));  // to nobody
  kept->close();
  BOOST_TEST(both.at_gateway->wait_closed().value_or("").starts_with("the other side closed"));
}

BOOST_AUTO_TEST_SUITE_END()
