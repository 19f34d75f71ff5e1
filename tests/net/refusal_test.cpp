// Who may not come in, and what either side learns of it.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>

#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"

BOOST_AUTO_TEST_SUITE(refusals)

using namespace furlong;
using namespace furlong::tests;
using net::failure_cause;

namespace {

std::string_view name_of(failure_cause cause) {
  switch (cause) {
    case failure_cause::unknown_host: return "unknown-host";
    case failure_cause::refused: return "refused";
    case failure_cause::unreachable: return "unreachable";
    case failure_cause::timed_out: return "timed-out";
    case failure_cause::protocol: return "protocol";
    case failure_cause::untrusted: return "untrusted";
    case failure_cause::expired: return "expired";
    case failure_cause::wrong_host: return "wrong-host";
    case failure_cause::rejected: return "rejected";
    case failure_cause::lost: return "lost";
    case failure_cause::stopped: break;
  }
  return "stopped";
}

std::string word(const std::optional<net::connect_failure>& failed) {
  return failed ? std::string(name_of(failed->cause)) : "none";
}

/// A gateway takes a good node in, whatever happened before.
void check_serves(gateway& to, test_pki& pki) {
  net::transport on;
  const auto before = to.channels();
  const auto node = connect_to(on, to.address(), client_context(pki.node()));
  BOOST_REQUIRE(node->wait_open());
  node->channel->send(make_frame(100));
  const auto there = to.wait_channel(before);
  BOOST_REQUIRE(there != nullptr);
  BOOST_TEST(there->wait_frames(1));
}

struct outcome {
  std::string node;
  std::string gateway;
  std::string reason;  ///< at the node
};

/// What both sides say when a node with these files tries to come in.
outcome try_node(gateway& to, const net::tls_paths& paths, const std::string& host = "127.0.0.1") {
  net::transport on;
  const auto refusals = to.refusals();
  const auto node = connect_to(on, to.address(host), client_context(paths));
  const auto failed = node->wait_failed();
  return {word(failed), word(to.wait_refusal(refusals)), failed ? failed->what.text() : ""};
}

}  // namespace

BOOST_AUTO_TEST_CASE(certificates_of_nodes) {
  test_pki pki;
  gateway to(pki);
  certificate_request request;
  request.authority = "stranger";
  const auto wrong_authority = try_node(to, pki.issue(request));
  BOOST_TEST(wrong_authority.gateway == "untrusted");
  BOOST_TEST(wrong_authority.node == "rejected");
  BOOST_TEST(wrong_authority.reason.find("unknown ca") != std::string::npos, wrong_authority.reason);

  request = {};
  request.begins = -100;
  request.ends = -10;
  const auto expired = try_node(to, pki.issue(request));
  BOOST_TEST(expired.gateway == "expired");
  BOOST_TEST(expired.node == "rejected");
  BOOST_TEST(expired.reason.find("expired") != std::string::npos, expired.reason);

  request = {};
  request.begins = 1000;
  BOOST_TEST(try_node(to, pki.issue(request)).gateway == "expired");

  request = {};
  request.use = "serverAuth";  // a gateway's, which is not for nodes
  BOOST_TEST(try_node(to, pki.issue(request)).gateway == "untrusted");

  request = {};
  request.common_name = "";
  const auto nameless = try_node(to, pki.issue(request));
  BOOST_TEST(nameless.gateway == "rejected");
  BOOST_TEST(nameless.reason.find("no common name") != std::string::npos, nameless.reason);
  BOOST_TEST(to.channels() == 0U);
  check_serves(to, pki);
}

BOOST_AUTO_TEST_CASE(no_certificate_at_all) {
  test_pki pki;
  gateway to(pki);
  raw_peer stranger(to.port());
  const std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> bare(SSL_CTX_new(TLS_client_method()), SSL_CTX_free);
  const std::unique_ptr<SSL, decltype(&SSL_free)> ssl(SSL_new(bare.get()), SSL_free);
  SSL_set_fd(ssl.get(), stranger.socket());
  (void)SSL_connect(ssl.get());
  const auto refused = to.wait_refusal();
  BOOST_TEST(word(refused) == "untrusted");
  BOOST_TEST(refused->what.reason == "it has no certificate");
  check_serves(to, pki);
}

BOOST_AUTO_TEST_CASE(older_tls) {
  test_pki pki;
  gateway to(pki);
  raw_peer stranger(to.port());
  const auto context = client_context(pki.node());
  SSL_CTX_set_min_proto_version(context.native(), TLS1_2_VERSION);
  SSL_CTX_set_max_proto_version(context.native(), TLS1_2_VERSION);
  BOOST_TEST(!stranger.secure(context));
  BOOST_TEST(word(to.wait_refusal()) == "protocol");
}

BOOST_AUTO_TEST_CASE(denied_before_a_frame_is_read) {
  test_pki pki;
  gateway_options options;
  options.accept_peer = [](const net::peer& who) -> std::optional<std::string> {
    if (who.name == "lost-phone/0-9/4") return "the certificate lost-phone/0-9/4 is denied";
    return std::nullopt;
  };
  gateway to(pki, options);
  const auto denied = try_node(to, pki.node("lost-phone/0-9/4"));
  BOOST_TEST(denied.gateway == "rejected");
  BOOST_TEST(denied.node == "rejected");
  BOOST_TEST(denied.reason.find("lost-phone/0-9/4 is denied") != std::string::npos, denied.reason);
  // One that sends a giant length without waiting hears of the denial, not of the frame.
  raw_peer eager(to.port());
  BOOST_REQUIRE(eager.secure(client_context(pki.node("lost-phone/0-9/4"))));
  eager.send(announcement(~std::uint64_t{0}));
  const auto refused = to.wait_refusal(1);
  BOOST_REQUIRE(refused);
  BOOST_TEST(refused->what.reason == "the certificate lost-phone/0-9/4 is denied");
  BOOST_TEST(to.channels() == 0U);
  check_serves(to, pki);
}

BOOST_AUTO_TEST_CASE(a_judge_that_throws_lets_nobody_in) {
  test_pki pki;
  gateway_options options;
  options.accept_peer = [](const net::peer&) -> std::optional<std::string> { throw std::runtime_error("no list"); };
  gateway to(pki, options);
  BOOST_TEST(try_node(to, pki.node()).node == "rejected");
}

BOOST_AUTO_TEST_CASE(certificates_of_gateways) {
  test_pki pki;
  net::transport on;
  const auto try_gateway = [&](const certificate_request& request) {
    const auto paths = pki.issue(request);
    net::listener_events events;
    events.on_open = [](net::channel_ptr) { return net::channel_events{}; };
    const auto listening =
        net::listener::open(on, {"127.0.0.1", 0}, net::tls_context::for_server(paths).value(), {}, std::move(events));
    const auto node = connect_to(on, {"127.0.0.1", (*listening)->port()}, client_context(pki.node()));
    return word(node->wait_failed());
  };
  certificate_request request;
  request.use = "serverAuth";
  request.names = {"IP:127.0.0.1"};
  BOOST_TEST(try_gateway(request) == "none");
  auto other = request;
  other.names = {"IP:127.0.0.2", "DNS:127.0.0.1"};
  BOOST_TEST(try_gateway(other) == "wrong-host");
  other = request;
  other.names = {};
  other.common_name = "127.0.0.1";  // the common name does not count
  BOOST_TEST(try_gateway(other) == "wrong-host");
  other = request;
  other.authority = "stranger";
  BOOST_TEST(try_gateway(other) == "untrusted");
  other = request;
  other.ends = -1;
  BOOST_TEST(try_gateway(other) == "expired");
  other = request;
  other.use = "clientAuth";  // a node's
  BOOST_TEST(try_gateway(other) == "untrusted");
}

BOOST_AUTO_TEST_CASE(a_host_name_that_the_certificate_does_not_have) {
  test_pki pki;
  certificate_request request;
  request.use = "serverAuth";
  request.names = {"DNS:gateway.example", "IP:127.0.0.1"};
  net::transport on;
  net::listener_events events;
  events.on_open = [](net::channel_ptr) { return net::channel_events{}; };
  const auto listening = net::listener::open(
      on, {"127.0.0.1", 0}, net::tls_context::for_server(pki.issue(request)).value(), {}, std::move(events));
  const auto node = connect_to(on, {"localhost", (*listening)->port()}, client_context(pki.node()));
  const auto failed = node->wait_failed();
  BOOST_TEST(word(failed) == "wrong-host");
  BOOST_TEST(failed->what.place == "localhost:" + std::to_string((*listening)->port()));
}

BOOST_AUTO_TEST_CASE(one_side_speaks_tls_and_the_other_does_not) {
  test_pki pki;
  gateway secured(pki);
  gateway_options options;
  options.secured = false;
  gateway plain(pki, options);
  net::transport on;
  const auto begun = std::chrono::steady_clock::now();
  const auto to_secured = connect_to(on, secured.address(), std::nullopt)->wait_failed();
  const auto to_plain = connect_to(on, plain.address(), client_context(pki.node()))->wait_failed();
  BOOST_TEST(word(to_secured) != "none");
  BOOST_TEST(word(to_plain) == "protocol");
  BOOST_TEST(word(secured.wait_refusal()) == "protocol");
  BOOST_TEST((std::chrono::steady_clock::now() - begun < std::chrono::seconds(5)), "waited for a timeout");
  check_serves(secured, pki);
}

BOOST_AUTO_TEST_CASE(nobody_listens) {
  net::transport on;
  std::uint16_t port = 0;
  { port = raw_listener().port(); }
  BOOST_TEST(word(connect_to(on, {"127.0.0.1", port}, std::nullopt)->wait_failed()) == "refused");
  BOOST_TEST(word(connect_to(on, {"no-such-host.invalid", 80}, std::nullopt)->wait_failed()) == "unknown-host");
}

BOOST_AUTO_TEST_CASE(a_listener_that_never_answers) {
  const raw_listener mute;
  net::transport on;
  auto settings = impatient();
  settings.opening = milliseconds(300);
  test_pki pki;
  const auto failed = connect_to(on, {"127.0.0.1", mute.port()}, client_context(pki.node()), settings)->wait_failed();
  BOOST_TEST(word(failed) == "timed-out");
  BOOST_TEST(word(connect_to(on, {"127.0.0.1", mute.port()}, std::nullopt, settings)->wait_failed()) == "timed-out");
}

BOOST_AUTO_TEST_CASE(a_transport_that_ends_answers_those_who_connect) {
  const raw_listener mute;
  auto on = std::make_unique<net::transport>();
  const auto node = connect_to(*on, {"127.0.0.1", mute.port()}, std::nullopt);
  on.reset();
  BOOST_REQUIRE(node->failure.has_value());
  BOOST_TEST(word(node->failure) == "stopped");
}

BOOST_AUTO_TEST_CASE(files_that_are_no_good_are_named) {
  test_pki pki;
  const auto good = pki.node();
  const auto check = [&](net::tls_paths paths, const std::filesystem::path& named) {
    const auto made = net::tls_context::for_client(paths);
    BOOST_REQUIRE(!made);
    BOOST_TEST(made.error().place == named.string());
    BOOST_TEST(!made.error().reason.empty());
  };
  const auto missing = pki.folder() / "missing.pem";
  check({missing, good.key, good.authority}, missing);
  check({good.certificate, missing, good.authority}, missing);
  check({good.certificate, good.key, missing}, missing);
  check({good.certificate, pki.node().key, good.authority},
        good.certificate == missing ? missing : pki.folder() / "issued-2-key.pem");
  const auto rubbish = pki.folder() / "rubbish.pem";
  std::ofstream(rubbish) << "-----BEGIN CERTIFICATE-----\nrubbish\n";
  check({rubbish, good.key, good.authority}, rubbish);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_set_later_counts_both_ways) {
  test_pki pki;
  for (const bool sending : {false, true}) {
    gateway to(pki);
    net::transport on;
    const auto node = connect_to(on, to.address(), client_context(pki.node()));
    BOOST_REQUIRE(node->wait_open());
    const auto there = to.wait_channel(0);
    BOOST_REQUIRE(there != nullptr);
    there->channel->send(make_frame(1 << 20));  // longer than what is allowed afterwards
    BOOST_REQUIRE(node->wait_frames(1));
    node->channel->limit(100'000);
    auto& from = sending ? *node : *there;
    from.channel->send(make_frame(90'000));
    BOOST_REQUIRE((sending ? there : node)->wait_frames(sending ? 1 : 2));
    from.channel->send(make_frame(110'000));
    const auto why = node->wait_closed().value_or("");
    BOOST_TEST(why.find(sending ? "a frame is too long" : "and 100000 are allowed") != std::string::npos, why);
    BOOST_TEST(there->wait_closed().has_value());
    BOOST_TEST(node->frame_count + there->frame_count == 2U);
  }
}

BOOST_AUTO_TEST_CASE(a_listener_uses_new_settings_for_whoever_comes_next) {
  test_pki pki;
  gateway to(pki);
  net::transport on;
  const auto before = connect_to(on, to.address(), client_context(pki.node()));
  BOOST_REQUIRE(before->wait_open());
  net::listener_settings tight;
  tight.channel.max_message = 100'000;
  tight.room = net::budget::make(99'999);
  BOOST_TEST(!to.listening().use(tight));
  tight.room = net::budget::make(100'000);
  BOOST_REQUIRE(to.listening().use(tight).has_value());
  const auto after = connect_to(on, to.address(), client_context(pki.node()));
  BOOST_REQUIRE(after->wait_open());
  before->channel->send(make_frame(200'000));
  after->channel->send(make_frame(200'000));
  BOOST_TEST(to.wait_channel(0)->wait_frames(1));
  const auto why = to.wait_channel(1)->wait_closed().value_or("");
  BOOST_TEST(why.find("and 100000 are allowed") != std::string::npos, why);
}

BOOST_AUTO_TEST_CASE(addresses_that_cannot_be_listened_on) {
  net::transport on;
  const auto open = [&](const net::host_port& at, net::listener_settings settings = {}) {
    net::listener_events events;
    events.on_open = [](net::channel_ptr) { return net::channel_events{}; };
    return net::listener::open(on, at, std::nullopt, settings, std::move(events));
  };
  const auto first = open({"127.0.0.1", 0});
  BOOST_REQUIRE(first.has_value());
  const auto second = open({"127.0.0.1", (*first)->port()});
  BOOST_REQUIRE(!second);
  BOOST_TEST((second.error().what == error::kind::runtime));
  BOOST_TEST(second.error().text().find("in use") != std::string::npos, second.error().text());
  const auto nowhere = open({"no-such-host.invalid", 0});
  BOOST_REQUIRE(!nowhere);
  BOOST_TEST((nowhere.error().what == error::kind::usage));
  const auto foreign = open({"192.0.2.1", 0});
  BOOST_REQUIRE_MESSAGE(!foreign, "an address of documentation, not of this machine");
  BOOST_TEST((foreign.error().what == error::kind::runtime));
  net::listener_settings tight;
  tight.room = net::budget::make(tight.channel.max_message - 1);
  BOOST_TEST(!open({"127.0.0.1", 0}, tight));
}

BOOST_AUTO_TEST_SUITE_END()
