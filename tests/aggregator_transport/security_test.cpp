// Who is not of the operator is turned away by name, while those who are go on; and what is wrong is named.
#include <boost/test/unit_test.hpp>

#include "actors/aggregator_transport/link_messages.hpp"
#include "tests/aggregator_transport/raw_frames.hpp"
#include "tests/aggregator_transport/sites.hpp"
#include "tests/aggregator_transport/test_authority.hpp"
#include "tests/net/raw_peer.hpp"

BOOST_AUTO_TEST_SUITE(operator_security)

using namespace furlong;
using namespace furlong::tests;

namespace {

constexpr auto beat = 300ms, silence = 1500ms;

/// A port with TLS and a link to it, which must go on whatever strangers do.
struct guarded {
  guarded()
      : upper({authority.issue("upper"), beat, silence}),
        friendly({authority.issue("friend"), beat, silence}),
        listening(upper),
        below(connect(friendly, listening.number())) {
    BOOST_REQUIRE(below->wait_open());
    above = listening.link(0);
    BOOST_REQUIRE(above);
  }

  void check_that_it_goes_on() {
    const auto before = above->frames().size();
    const auto channel = below->channel();
    BOOST_REQUIRE(channel);
    channel->send(raw_frame(200'000));
    BOOST_TEST(above->wait_frames(before + 1));
    for (const auto& why : above->closed()) BOOST_ERROR(why.text());
    // Nobody else has a link.
    BOOST_TEST(listening.link(1, 0ms) == nullptr);
  }

  test_authority authority;
  site upper, friendly;
  port listening;
  witness_ptr below, above;
};

/// Why a site so configured has no link.
error refusal(guarded& to, const aggregator_transport::operator_network& network) {
  site stranger(network);
  const auto who = connect(stranger, to.listening.number(), {}, 2000ms);
  BOOST_REQUIRE(who->wait_failed());
  BOOST_TEST(who->channel() == nullptr);
  return *who->failure();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_certificate_of_another_authority_is_refused) {
  guarded all;
  test_authority foreign;
  const auto why = refusal(all, {foreign.issue("stranger"), beat, silence});
  BOOST_TEST(why.reason == "the connection ended in the handshake: its certificate: certificate signature failure");
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(a_foreign_certificate_that_trusts_our_authority_is_refused) {
  guarded all;
  test_authority foreign;
  auto files = foreign.issue("stranger");
  files.authority = all.authority.issue("unused").authority;
  const auto why = refusal(all, {files, beat, silence});
  BOOST_TEST(why.reason == "the connection ended in the handshake: refused by the other side: decrypt error");
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(an_expired_certificate_is_refused) {
  guarded all;
  const auto why = refusal(all, {all.authority.issue("late", -60), beat, silence});
  BOOST_TEST(why.reason == "the connection ended in the handshake: refused by the other side: certificate expired");
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(no_certificate_is_refused) {
  guarded all;
  struct anonymous : caf::actor_system_config {
    anonymous() {
      load<caf::io::middleman>();
      load<caf::openssl::manager>();
      add_message_types<caf::id_block::furlong_links>();
      set("middleman.app-identifiers", std::vector<std::string>{"furlong-operator"});
      set("middleman.heartbeat-interval", caf::timespan(beat));
      set("middleman.connection-timeout", caf::timespan(silence));
    }
  } config;
  caf::actor_system system(config);
  const auto who = std::make_shared<witness>();
  aggregator_transport::operator_connect(system, {"127.0.0.1", all.listening.number(), 2000ms}, {}, watched_by(who),
                                         [who](const error& why) { who->failed(why); });
  BOOST_REQUIRE(who->wait_failed());
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(without_tls_nobody_gets_in) {
  guarded all;
  const auto why = refusal(all, {std::nullopt, beat, silence});
  BOOST_TEST(why.text().find("TLS") != std::string::npos);
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(with_tls_nobody_enters_a_port_without) {
  site upper({std::nullopt, beat, silence});
  port listening(upper);
  test_authority authority;
  site lower({authority.issue("lower"), beat, silence});
  const auto who = connect(lower, listening.number(), {}, 4000ms);
  BOOST_REQUIRE(who->wait_failed());
  BOOST_TEST(who->failure()->text().find("TLS") != std::string::npos);
  // The port lives.
  site plain({std::nullopt, beat, silence});
  BOOST_TEST(connect(plain, listening.number())->wait_open());
}

BOOST_AUTO_TEST_CASE(noise_before_the_handshake_harms_nobody) {
  guarded all;
  random_stream random(8, purpose::test);
  const bytes record{std::byte{22}, std::byte{3}, std::byte{1}, std::byte{0x0b}, std::byte{0xb3}};
  for (int i = 0; i < 200; ++i) {
    auto sent = noise(random, 2600);
    // As a TLS record with a handshake, every other time.
    if (i % 2 == 0) sent = record + sent;
    raw_peer(all.listening.number()).send(sent);
  }
  all.check_that_it_goes_on();
}

BOOST_AUTO_TEST_CASE(silent_connections_harm_nobody_and_a_valid_one_gets_in) {
  guarded all;
  std::vector<raw_peer> silent;
  for (int i = 0; i < 150; ++i) silent.emplace_back(all.listening.number());
  all.check_that_it_goes_on();
  site another({all.authority.issue("another"), beat, silence});
  // Among so many it may have to try again.
  bool in = false;
  for (int attempt = 0; attempt < 5 && !in; ++attempt) {
    const auto who = connect(another, all.listening.number(), {}, 4000ms);
    in = who->wait_settled() && who->channel() != nullptr;
  }
  BOOST_TEST(in);
}

BOOST_AUTO_TEST_CASE(a_raw_listener_is_given_up_in_time) {
  raw_listener mute;
  test_authority authority;
  site lower({authority.issue("lower"), 200ms, 600ms});
  for (int i = 0; i < 2; ++i) {
    const auto began = std::chrono::steady_clock::now();
    const auto who = connect(lower, mute.port(), {}, 1500ms);
    BOOST_REQUIRE(who->wait_failed());
    BOOST_TEST((std::chrono::steady_clock::now() - began < 1800ms));
    BOOST_TEST(who->failure()->place == "127.0.0.1:" + std::to_string(mute.port()));
  }
}

BOOST_AUTO_TEST_CASE(another_program_on_caf_is_named) {
  struct other : caf::actor_system_config {
    other() { load<caf::io::middleman>(); }
  } config;
  caf::actor_system system(config);
  auto nobody = system.spawn([](caf::event_based_actor*) -> caf::behavior { return {[](int) {}}; });
  const auto number = system.middleman().publish(nobody, 0, "127.0.0.1");
  BOOST_REQUIRE(number);
  {
    site lower({std::nullopt, beat, silence});
    const auto who = connect(lower, *number, {}, 4000ms);
    BOOST_REQUIRE(who->wait_failed());
    BOOST_TEST(who->failure()->reason == "it is the port of another program");
  }
  caf::anon_send_exit(nobody, caf::exit_reason::user_shutdown);
}

BOOST_AUTO_TEST_CASE(addresses_that_lead_nowhere_are_named) {
  site lower({std::nullopt, beat, silence});
  const auto who = std::make_shared<witness>();
  aggregator_transport::operator_connect(lower.system(), {"no-such-host.invalid", 1, 10s}, {}, watched_by(who),
                                         [who](const error& why) { who->failed(why); });
  BOOST_REQUIRE(who->wait_failed());
  BOOST_TEST(who->failure()->reason.starts_with("its name does not resolve"));

  std::uint16_t closed = 0;
  {
    raw_listener once;
    closed = once.port();
  }
  const auto refused = connect(lower, closed);
  BOOST_REQUIRE(refused->wait_failed());
  BOOST_TEST(refused->failure()->reason == "Connection refused");
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_named) {
  raw_listener taken;
  site upper({std::nullopt, beat, silence});
  const auto opened =
      aggregator_transport::operator_listener::open(upper.system(), "127.0.0.1", taken.port(), {}, nullptr);
  BOOST_REQUIRE(!opened);
  BOOST_TEST(opened.error().text() == "127.0.0.1:" + std::to_string(taken.port()) +
                                          ": cannot listen there: Address already in use; choose an address of this "
                                          "machine and a free port");
  const auto nowhere =
      aggregator_transport::operator_listener::open(upper.system(), "no-such-host.invalid", 0, {}, nullptr);
  BOOST_REQUIRE(!nowhere);
  BOOST_TEST((nowhere.error().what == error::kind::usage));
}

BOOST_AUTO_TEST_CASE(a_configuration_without_its_files_is_refused) {
  test_authority authority;
  const auto good = authority.issue("good");
  const auto attempt = [](aggregator_transport::operator_network network) {
    caf::actor_system_config config;
    const auto done = aggregator_transport::configure_operator(config, network);
    return done ? std::string() : done.error().reason;
  };
  BOOST_TEST(attempt({good, 2s, 3s}) == "");
  BOOST_TEST(attempt({aggregator_transport::operator_files{"", good.key, good.authority}, 2s, 3s}) ==
             "the operator certificate is no file");
  BOOST_TEST(attempt({aggregator_transport::operator_files{good.certificate, "/nowhere", good.authority}, 2s, 3s}) ==
             "the operator key is no file");
  BOOST_TEST(attempt({aggregator_transport::operator_files{good.certificate, good.key, "/tmp"}, 2s, 3s}) ==
             "the operator authority is no file");
  BOOST_TEST(attempt({std::nullopt, 0s, 3s}) != "");
  BOOST_TEST(attempt({std::nullopt, 4s, 3s}) != "");
}

BOOST_AUTO_TEST_SUITE_END()
