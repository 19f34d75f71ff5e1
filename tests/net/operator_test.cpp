// Links between the processes of an operator: the same transport, with certificates that are valid for both sides.
#include <boost/test/unit_test.hpp>
#include <utility>

#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"

BOOST_AUTO_TEST_SUITE(operator_links)

using namespace furlong;
using namespace furlong::tests;
using net::failure_cause;

namespace {

certificate_request operator_request(const std::string& name) {
  certificate_request request;
  request.common_name = name;
  request.use = "serverAuth,clientAuth";
  request.authority = request.trusts = "operator";
  return request;
}

gateway_options with_certificate(gateway_options options, const net::tls_paths& paths) {
  options.certificate = paths;
  return options;
}

/// An operator port and what connects to it.
struct operator_port {
  explicit operator_port(const gateway_options& options = {})
      : to(pki, with_certificate(options, pki.issue(operator_request("head")))) {}

  [[nodiscard]] net::tls_context context(const certificate_request& request) {
    return net::tls_context::for_operator_client(pki.issue(request)).value();
  }
  [[nodiscard]] std::shared_ptr<witness> connect(const std::string& name, const net::channel_settings& settings = {}) {
    return connect_to(on, to.address(), context(operator_request(name)), settings);
  }

  test_pki pki;
  gateway to;
  net::transport on;
};

/// One link that is open.
struct linked : operator_port {
  explicit linked(const gateway_options& options = {}) : operator_port(options), below(connect("west")) {
    BOOST_REQUIRE(below->wait_open());
    above = to.wait_channel(0);
    BOOST_REQUIRE(above != nullptr);
  }

  /// It must, whatever strangers do.
  void check_that_it_goes_on() {
    below->channel->send(make_frame(200'000));
    BOOST_TEST(above->wait_frames(++sent_));
    BOOST_TEST(!above->closed.has_value());
  }

  std::shared_ptr<witness> below;
  std::shared_ptr<witness> above;

 private:
  std::size_t sent_ = 0;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(frames_of_all_sizes_arrive_both_ways_in_order, linked) {
  const std::vector<std::size_t> sizes{1, 100, 1 << 16, (1 << 20) - 64, 1 << 20, 8, 20'000'000, 7, 3'200'000};
  std::vector<wire::encoded> frames;
  for (const auto size : sizes) frames.push_back(make_frame(size, static_cast<std::uint32_t>(frames.size())));
  for (const auto& frame : frames) {
    below->channel->send(frame);
    above->channel->send(frame);
  }
  for (const auto& end : {below, above}) {
    BOOST_REQUIRE(end->wait_frames(frames.size()));
    const auto came = end->take_frames();
    for (std::size_t i = 0; i < frames.size(); ++i)
      BOOST_TEST(same_bytes(came[i].bytes(), frames[i].bytes()), "frame " << i);
  }
}

BOOST_FIXTURE_TEST_CASE(both_sides_know_who_is_at_the_other_end, linked) {
  BOOST_TEST(above->channel->other().name == "west");
  BOOST_TEST(below->channel->other().name == "head");
  BOOST_TEST(above->channel->other().address.starts_with("127.0.0.1:"));
  BOOST_TEST(below->channel->other().address == to.address().text());
}

BOOST_FIXTURE_TEST_CASE(closing_one_link_leaves_the_others, operator_port) {
  constexpr std::size_t many = 12;
  std::vector<std::shared_ptr<witness>> links;
  for (std::size_t i = 0; i < many; ++i) {
    links.push_back(connect("aggregator" + std::to_string(i)));
    BOOST_REQUIRE(links[i]->wait_open());
    BOOST_REQUIRE(to.wait_channel(i) != nullptr);
  }
  links[7]->channel->close();
  BOOST_TEST(links[7]->wait_closed().has_value());
  for (std::size_t i = 0; i < many; ++i) {
    if (i == 7) continue;
    links[i]->channel->send(make_frame(1000, static_cast<std::uint32_t>(i)));
    BOOST_TEST(to.wait_channel(i)->wait_frames(1));
    BOOST_TEST(to.wait_channel(i)->channel->other().name == "aggregator" + std::to_string(i));
  }
}

BOOST_AUTO_TEST_CASE(closing_sends_what_is_queued_and_tells_both_sides_once) {
  for (const bool from_above : {false, true}) {
    gateway_options options;
    options.settings.channel.linger = long_time;
    linked pair(options);
    const auto& closing = from_above ? pair.above : pair.below;
    const auto& other = from_above ? pair.below : pair.above;
    for (std::uint32_t i = 0; i < 10; ++i) closing->channel->send(make_frame(100'000, i));
    closing->channel->close();
    closing->channel->close();
    closing->channel->send(make_frame(100));  // dropped
    BOOST_TEST(closing->wait_closed().value_or("") == "closed by this side");
    BOOST_TEST(other->wait_closed().value_or("") == "the other side closed");
    BOOST_TEST(other->frame_count == 10U);
    BOOST_TEST(closing->closings == 1);
    BOOST_TEST(other->closings == 1);
  }
}

// Its owner, an actor, may have ended by an exception: its peer must not wait.
BOOST_FIXTURE_TEST_CASE(a_link_ends_with_the_last_pointer_of_its_owner, linked) {
  auto mine = net::owned(std::exchange(below->channel, nullptr));
  auto copy = mine;
  mine.reset();
  copy->send(make_frame(100));
  BOOST_TEST(above->wait_frames(1));
  BOOST_TEST(!above->closed.has_value());
  copy.reset();
  BOOST_TEST(above->wait_closed().value_or("") == "the other side closed");
}

BOOST_AUTO_TEST_CASE(a_frame_that_is_too_long_ends_the_link_and_both_sides_know_why) {
  gateway_options options;
  options.settings.channel.max_message = 100'000;
  linked pair(options);
  pair.below->channel->send(make_frame(90'000));
  pair.below->channel->send(make_frame(110'000));
  const auto why = pair.above->wait_closed().value_or("");
  BOOST_TEST(why.starts_with("a frame of "), why);
  BOOST_TEST(why.ends_with(" bytes is announced, and 100000 are allowed"), why);
  BOOST_TEST(pair.below->wait_closed().value_or("") == "the other side closed: " + why);
  BOOST_TEST(pair.above->frame_count == 1U);
}

BOOST_AUTO_TEST_CASE(what_closed_links_have_queued_is_sent_before_their_transport_ends) {
  operator_port port;
  auto on = std::make_unique<net::transport>();
  net::channel_settings settings;
  settings.linger = long_time;
  const auto below = connect_to(*on, port.to.address(), port.context(operator_request("west")), settings);
  BOOST_REQUIRE(below->wait_open());
  const auto above = port.to.wait_channel(0);
  BOOST_REQUIRE(above != nullptr);
  above->let_go(false);
  for (std::uint32_t i = 0; i < 4; ++i) below->channel->send(make_frame(8 << 20, i));
  below->channel->close();
  on->wait_ended(long_time);
  on.reset();
  BOOST_TEST(above->wait_closed().value_or("") == "the other side closed");
  BOOST_TEST(above->frame_count == 4U);
}

BOOST_AUTO_TEST_CASE(a_port_that_ended_is_found_again) {
  test_pki pki;
  net::transport on;
  const auto tls = net::tls_context::for_operator_client(pki.issue(operator_request("west"))).value();
  gateway_options options;
  options.certificate = pki.issue(operator_request("head"));
  for (int i = 0; i < 3; ++i) {
    gateway to(pki, options);
    options.at = to.address().text();
    const auto below = connect_to(on, to.address(), tls);
    BOOST_REQUIRE(below->wait_open());
    below->channel->send(make_frame(100'000));
    const auto above = to.wait_channel(0);
    BOOST_REQUIRE(above != nullptr);
    BOOST_TEST(above->wait_frames(1));
    if (i != 1) continue;  // else connect again before its end was noticed
    above->channel->close();
    BOOST_TEST(below->wait_closed().has_value());
  }
}

BOOST_FIXTURE_TEST_CASE(a_closed_port_opens_no_links_and_keeps_those_it_has, linked) {
  const auto closed = to.address();
  to.stop();
  check_that_it_goes_on();
  const auto another = connect_to(on, closed, context(operator_request("east")));
  const auto failed = another->wait_failed();
  BOOST_REQUIRE(failed.has_value());
  BOOST_TEST((failed->cause == failure_cause::refused));
  check_that_it_goes_on();
}

BOOST_FIXTURE_TEST_CASE(certificates_that_are_not_of_the_operator_are_refused, linked) {
  const auto cause_of = [&](const certificate_request& request) {
    const auto stranger = connect_to(on, to.address(), context(request));
    const auto failed = stranger->wait_failed();
    BOOST_TEST(to.channels() == 1U);
    check_that_it_goes_on();
    return failed ? failed->cause : failure_cause::stopped;
  };
  auto request = operator_request("stranger");
  request.authority = request.trusts = "others";
  BOOST_TEST((cause_of(request) == failure_cause::untrusted));
  request.trusts = "operator";  // so it is the port that refuses
  BOOST_TEST((cause_of(request) == failure_cause::rejected));
  request = operator_request("late");
  request.ends = -60;
  BOOST_TEST((cause_of(request) == failure_cause::rejected));
  request = certificate_request{};  // of a node, by the authority of the clients
  request.trusts = "operator";
  BOOST_TEST((cause_of(request) == failure_cause::rejected));
  request = operator_request("gateway");
  request.use = "serverAuth";
  BOOST_TEST((cause_of(request) == failure_cause::rejected));
  BOOST_TEST(connect_to(on, to.address(), std::nullopt)->wait_failed().has_value());
  check_that_it_goes_on();
}

// Those that were issued before name none, and would not be accepted by a node.
BOOST_AUTO_TEST_CASE(a_certificate_is_held_against_its_hosts_if_it_names_any) {
  test_pki pki;
  net::transport on;
  const auto own = pki.issue(operator_request("west"));
  const auto cause_at = [&](const std::vector<std::string>& names, const char* host, bool as_node) {
    auto request = operator_request("head");
    request.names = names;
    gateway_options options;
    options.certificate = pki.issue(request);
    gateway to(pki, options);
    const auto tls = as_node ? net::tls_context::for_client(own) : net::tls_context::for_operator_client(own);
    const auto failed = connect_to(on, to.address(host), tls.value())->wait_failed();
    return failed ? std::optional(failed->cause) : std::nullopt;
  };
  for (const char* host : {"127.0.0.1", "localhost"}) {
    BOOST_TEST(!cause_at({}, host, false).has_value());
    BOOST_TEST((cause_at({}, host, true) == failure_cause::wrong_host));
    BOOST_TEST(!cause_at({"DNS:localhost", "IP:127.0.0.1"}, host, false).has_value());
    BOOST_TEST((cause_at({"DNS:head.example.org", "IP:192.0.2.7"}, host, false) == failure_cause::wrong_host));
    BOOST_TEST((cause_at({"email:operator@example.org"}, host, false) == failure_cause::wrong_host));
  }
}

// With a certificate of the operator and without one.
BOOST_FIXTURE_TEST_CASE(noise_before_and_after_the_handshake_harms_nobody, linked) {
  random_stream random(8, purpose::test);
  const bytes record{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0x0b}, std::byte{0xb3}};
  for (int i = 0; i < 100; ++i) {
    auto sent = noise(random, 2600);
    if (i % 2 == 0) sent = record + sent;  // as a handshake
    raw_peer(to.port()).send(sent);
  }
  BOOST_REQUIRE(eventually([&] { return to.listening().connections() == 1; }));  // the link
  const auto tls = context(operator_request("rogue"));
  for (std::size_t i = 1; i <= 30; ++i) {
    raw_peer rogue(to.port());
    BOOST_REQUIRE(rogue.secure(tls));
    const auto there = to.wait_channel(i);
    BOOST_REQUIRE(there != nullptr);
    rogue.send(i % 3 == 0 ? heartbeat() + announcement(~std::uint64_t{0} - i) : heartbeat() + noise(random, 2000));
    rogue.close();
    BOOST_TEST(there->wait_closed().has_value());
  }
  check_that_it_goes_on();
}

BOOST_FIXTURE_TEST_CASE(silent_connections_harm_nobody_and_a_valid_one_gets_in, linked) {
  std::vector<raw_peer> silent;
  for (int i = 0; i < 60; ++i) silent.push_back(raw_peer::from_host(2, to.port()));
  check_that_it_goes_on();
  BOOST_TEST(connect("east")->wait_open());
}

BOOST_AUTO_TEST_SUITE_END()
