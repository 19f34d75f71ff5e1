// Peers that fall silent, crawl, or do not read; and those that only wait for us.
#include <boost/test/unit_test.hpp>

#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"

BOOST_AUTO_TEST_SUITE(liveness)

using namespace furlong;
using namespace furlong::tests;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr std::size_t mib = 1 << 20;

gateway_options plain_gateway(const net::channel_settings& channel = unhurried()) {
  gateway_options options;
  options.secured = false;
  options.settings.channel = channel;
  return options;
}

/// Of one frame as large as its room.
gateway_options gateway_with(const net::budget_ptr& room) {
  auto options = plain_gateway();
  options.settings.channel.max_message = room->capacity();
  options.settings.room = room;
  return options;
}

double seconds_since(clock_type::time_point begun) {
  return std::chrono::duration<double>(clock_type::now() - begun).count();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_silent_peer_is_noticed_in_time) {
  test_pki pki;
  for (const bool secured : {false, true}) {
    auto options = plain_gateway(impatient());
    options.secured = secured;
    gateway to(pki, options);
    raw_peer silent(to.port());
    if (secured) BOOST_REQUIRE(silent.secure(client_context(pki.node())));
    silent.send(heartbeat());
    const auto there = to.wait_channel(0);
    BOOST_REQUIRE(there != nullptr);
    const auto begun = clock_type::now();
    const auto why = there->wait_closed();
    const auto taken = seconds_since(begun);
    BOOST_REQUIRE(why);
    BOOST_TEST(why->starts_with("silent for "), *why);
    BOOST_TEST(taken > 0.2);
    BOOST_TEST(taken < 1.5);
    // It got heartbeats all the while, and at the end why it was left.
    bytes all;
    BOOST_TEST(silent.receive_to_end(all));
    const std::string text(reinterpret_cast<const char*>(all.data()), all.size());
    BOOST_TEST(all.size() > 3 * heartbeat().size());
    BOOST_TEST(text.find("silent for") != std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(heartbeats_keep_an_idle_channel_open) {
  test_pki pki;
  auto options = plain_gateway();
  options.secured = true;
  gateway to(pki, options);
  net::transport on;
  const auto node = connect_to(on, to.address(), client_context(pki.node()), unhurried());
  BOOST_REQUIRE(node->wait_open());
  const auto there = to.wait_channel(0);
  std::this_thread::sleep_for(milliseconds(1500));
  BOOST_TEST(!node->closed.has_value());
  BOOST_TEST(!there->closed.has_value());
  node->channel->send(make_frame(1000));
  BOOST_TEST(there->wait_frames(1));
}

BOOST_AUTO_TEST_CASE(a_peer_that_dies_is_noticed_at_once) {
  test_pki pki;
  gateway to(pki);  // with the patience of a real one
  raw_peer peer(to.port());
  BOOST_REQUIRE(peer.secure(client_context(pki.node())));
  peer.send(heartbeat());
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  const auto begun = clock_type::now();
  peer.close();
  BOOST_TEST(there->wait_closed().has_value());
  BOOST_TEST(seconds_since(begun) < 0.5);
}

BOOST_AUTO_TEST_CASE(a_frame_that_stops_half_way_gives_its_room_back) {
  test_pki pki;
  const auto room = net::budget::make(8 * mib);
  gateway to(pki, gateway_with(room));
  raw_peer stuck(to.port());
  stuck.send(announcement(8 * mib) + bytes(1000));
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  BOOST_TEST(eventually([&] { return room->reserved() == 8 * mib; }));
  // Signs of life do not move a frame.
  std::optional<std::string> why;
  for (int i = 0; i < 100 && !why; ++i) {
    stuck.send(bytes(1));
    why = there->wait_closed(milliseconds(50));
  }
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("a frame comes too slowly"), *why);
  BOOST_TEST(eventually([&] { return room->reserved() == 0; }));

  raw_peer mute(to.port());
  mute.send(announcement(8 * mib, 1000) + bytes(1000));
  const auto second = to.wait_channel(1);
  why.reset();
  for (int i = 0; i < 100 && !why; ++i) {
    mute.send(heartbeat());
    why = second->wait_closed(milliseconds(50));
  }
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("a frame has made no progress"), *why);
  BOOST_TEST(eventually([&] { return room->reserved() == 0; }));
}

BOOST_AUTO_TEST_CASE(a_frame_that_drips_gives_its_room_to_those_who_wait) {
  test_pki pki;
  const auto room = net::budget::make(8 * mib);
  gateway to(pki, gateway_with(room));
  raw_peer slow(to.port());
  slow.send(announcement(8 * mib));
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  // Some 40 KiB a second: enough as long as nobody else wants the room.
  const auto drip = [&] {
    slow.send(bytes(2048));
    return there->wait_closed(milliseconds(50));
  };
  std::optional<std::string> why;
  for (int i = 0; i < 40 && !why; ++i) why = drip();
  BOOST_REQUIRE(!why);
  net::transport on;
  const auto node = connect_to(on, to.address(), std::nullopt, unhurried());
  BOOST_REQUIRE(node->wait_open());
  node->channel->send(make_frame(4 * mib));
  const auto begun = clock_type::now();
  for (int i = 0; i < 200 && !why; ++i) why = drip();
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("a frame comes too slowly"), *why);
  BOOST_TEST(to.wait_channel(1)->wait_frames(1));
  BOOST_TEST(seconds_since(begun) < 5.0);
}

BOOST_AUTO_TEST_CASE(a_peer_that_does_not_read_is_left) {
  test_pki pki;
  gateway to(pki, plain_gateway());
  const auto frame = make_frame(mib);
  raw_peer deaf(to.port(), 4096);
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  for (int i = 0; i < 20; ++i) there->channel->send(frame);
  BOOST_TEST(there->channel->queued() > 0U);
  const auto begun = clock_type::now();
  std::optional<std::string> why;
  for (int i = 0; i < 100 && !why; ++i) {
    deaf.send(heartbeat());  // it lives
    why = there->wait_closed(milliseconds(50));
  }
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("it has read nothing for"), *why);
  BOOST_TEST(seconds_since(begun) < 5.0);
  BOOST_TEST(there->channel->queued() == 0U);
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_it_is_busy_is_waited_for_as_long_as_patience_lasts) {
  test_pki pki;
  auto options = plain_gateway();
  options.settings.channel.patience = std::chrono::seconds(4);
  gateway to(pki, options);
  const auto frame = make_frame(mib);
  raw_peer busy(to.port(), 4096);
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  for (int i = 0; i < 20; ++i) there->channel->send(frame);
  const auto begun = clock_type::now();
  std::optional<std::string> why;
  for (int i = 0; i < 200 && !why; ++i) {
    busy.send(piece({0, true, net::detail::piece_kind::busy}));
    why = there->wait_closed(milliseconds(50));
  }
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("it has read nothing for 4."), *why);
  BOOST_TEST(seconds_since(begun) > 3.0);
}

BOOST_AUTO_TEST_CASE(more_than_may_wait_closes_the_channel) {
  test_pki pki;
  gateway_options options;
  options.secured = false;
  options.settings.channel.max_queued = 10 * mib;
  gateway to(pki, options);
  raw_peer deaf(to.port(), 4096);
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there != nullptr);
  const auto frame = make_frame(mib);
  for (int i = 0; i < 30 && !there->closed; ++i) there->channel->send(frame);
  const auto why = there->wait_closed(milliseconds(1000));
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("it reads too slowly"), *why);
}

BOOST_AUTO_TEST_CASE(fifty_nodes_share_a_budget_of_two_frames) {
  test_pki pki;
  gateway_options options;
  options.settings.channel = unhurried();
  options.settings.channel.max_message = 8 * mib;
  const auto room = net::budget::make(8 * mib + 8192);
  options.settings.room = room;
  options.settings.limits.handshakes_per_address = 50;
  options.keep = false;
  gateway to(pki, options);
  net::transport on;
  const auto tls = client_context(pki.node());
  const auto frame = make_frame(4 * mib);
  constexpr std::size_t many = 50;
  std::vector<std::shared_ptr<witness>> nodes;
  for (std::size_t i = 0; i < many; ++i) nodes.push_back(connect_to(on, to.address(), tls, unhurried()));
  for (const auto& node : nodes) BOOST_REQUIRE(node->wait_open());
  for (const auto& node : nodes) node->channel->send(frame);
  for (std::size_t i = 0; i < many; ++i) {
    const auto there = to.wait_channel(i);
    BOOST_REQUIRE(there != nullptr);
    BOOST_TEST(there->wait([&] { return there->frame_count == 1 || there->closed; }));
    BOOST_TEST(there->closed.value_or(error{}).reason == "");
    BOOST_TEST(there->byte_count == frame.size());
  }
  BOOST_TEST(room->peak() <= room->capacity());
  BOOST_TEST(room->peak() >= 4 * mib);
  BOOST_TEST(room->waiting() == 0U);
  BOOST_TEST(eventually([&] { return room->reserved() == 0; }));
  for (const auto& node : nodes) BOOST_TEST(!node->closed.has_value());
}

BOOST_AUTO_TEST_CASE(who_waits_for_room_is_neither_dead_nor_taken_for_dead) {
  test_pki pki;
  gateway_options options;
  options.settings.channel = unhurried();
  options.settings.channel.max_message = 8 * mib;
  const auto room = net::budget::make(8 * mib);
  options.settings.room = room;
  gateway to(pki, options);
  net::transport on;
  auto held = room->try_reserve(8 * mib);
  auto patient = unhurried();
  patient.patience = std::chrono::seconds(1);  // of servers
  const auto node = connect_to(on, to.address(), client_context(pki.node()), patient);
  BOOST_REQUIRE(node->wait_open());
  const auto frame = make_frame(8 * mib - 4096);
  node->channel->send(frame);
  const auto there = to.wait_channel(0);
  // More than twice as long as silence may last. The node's bytes stay in its queue.
  std::this_thread::sleep_for(milliseconds(2500));
  BOOST_TEST(!node->closed.has_value());
  BOOST_TEST(!there->closed.has_value());
  BOOST_TEST(there->frame_count == 0U);
  BOOST_TEST(node->channel->queued() > 0U);
  held.reset();
  BOOST_REQUIRE(there->wait_frames(1));
  BOOST_TEST(room->reserved() == frame.size());
  BOOST_TEST(same_bytes(there->take_frames().at(0).bytes(), frame.bytes()));
  BOOST_TEST(room->reserved() == 0U);
}

BOOST_AUTO_TEST_CASE(who_waits_for_room_does_not_wait_for_ever) {
  test_pki pki;
  auto options = plain_gateway();
  options.settings.channel.max_message = 32 * mib;
  const auto room = net::budget::make(32 * mib);
  options.settings.room = room;
  gateway to(pki, options);
  net::transport on;
  const auto held = room->try_reserve(32 * mib);
  auto hurried = unhurried();
  hurried.server_patience = std::chrono::seconds(2);
  const auto node = connect_to(on, to.address(), std::nullopt, hurried);
  BOOST_REQUIRE(node->wait_open());
  node->channel->send(make_frame(32 * mib - 4096));
  const auto why = node->wait_closed();
  BOOST_REQUIRE(why);
  BOOST_TEST(why->starts_with("it has read nothing for 2."), *why);
}

BOOST_AUTO_TEST_CASE(who_ends_while_it_waits_for_room_leaves_the_queue) {
  test_pki pki;
  gateway_options options;
  options.secured = false;
  options.settings.channel.max_message = 8 * mib;
  const auto room = net::budget::make(8 * mib);
  options.settings.room = room;
  gateway to(pki, options);
  const auto held = room->try_reserve(8 * mib);
  raw_peer peer(to.port());
  peer.send(announcement(8 * mib));
  const auto there = to.wait_channel(0);
  BOOST_TEST(eventually([&] { return room->waiting() == 1; }));
  there->channel->close();
  BOOST_TEST(there->wait_closed().has_value());
  BOOST_TEST(eventually([&] { return room->waiting() == 0; }));
}

BOOST_AUTO_TEST_CASE(small_frames_wait_for_their_consumer) {
  test_pki pki;
  gateway_options options;
  options.settings.channel = unhurried();
  options.settings.channel.max_unread = 256 << 10;
  gateway to(pki, options);
  net::transport on;
  const auto node = connect_to(on, to.address(), client_context(pki.node()), unhurried());
  BOOST_REQUIRE(node->wait_open());
  constexpr std::size_t many = 1000;
  const auto frame = make_frame(10'000);
  for (std::size_t i = 0; i < many; ++i) node->channel->send(frame);
  const auto there = to.wait_channel(0);
  BOOST_REQUIRE(there->wait_frames(20));
  std::this_thread::sleep_for(milliseconds(1500));
  BOOST_TEST(there->byte_count <= (256 << 10) + 2 * frame.size());
  BOOST_TEST(!node->closed.has_value());
  there->let_go(false);
  BOOST_TEST(there->wait_frames(many));
}

BOOST_AUTO_TEST_SUITE_END()
