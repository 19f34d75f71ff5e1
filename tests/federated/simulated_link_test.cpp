#include <boost/test/unit_test.hpp>
#include <vector>

#include "federated/simulation/network/link.hpp"

// What is drawn between two hosts does not depend on what happens between others.
BOOST_AUTO_TEST_SUITE(simulated_links)

namespace network = furlong::federated::network;
using furlong::federated::virtual_time;
using network::host;
using network::millisecond;

namespace {

constexpr std::size_t draw_count = 32;

network::fabric make_fabric() { return {7, network::second, millisecond, 40 * millisecond}; }

std::vector<virtual_time> latencies(network::fabric& net, host sender, host receiver) {
  std::vector<virtual_time> drawn;
  for (std::size_t i = 0; i < draw_count; ++i) drawn.push_back(net.latency(sender, receiver));
  return drawn;
}

std::vector<virtual_time> pauses(network::fabric& net, host sleeper) {
  std::vector<virtual_time> drawn;
  for (std::size_t i = 0; i < draw_count; ++i) drawn.push_back(net.pause(sleeper, 0, network::second));
  return drawn;
}

/// How many of 1000 messages from host 1 arrive at host 3 when host 1 is killed.
std::size_t survivors(bool others_are_lost) {
  constexpr int sent = 1000;
  auto net = make_fabric();
  std::size_t received = 0;
  std::vector<network::link_ptr> links;
  for (const host receiver : {2U, 3U}) {
    net.listeners[receiver] = [&received, receiver](const network::link_ptr& through) {
      through->side(1).on_message = [&received, receiver](network::message&&) {
        if (receiver == 3) ++received;
      };
    };
    net.connect(
        1, receiver, [&](const network::link_ptr& made) { links.push_back(made); }, [] {});
    while (net.clock.step()) {
    }
  }
  for (const auto& through : links)
    for (int i = 0; i < sent; ++i) through->send(0, furlong::federated::protocol::close_notice{"a message", false});
  if (others_are_lost) links.front()->kill(0);
  links.back()->kill(0);
  while (net.clock.step()) {
  }
  return received;
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_between_two_hosts_leave_the_latencies_of_others) {
  auto quiet = make_fabric();
  auto busy = make_fabric();
  const auto others = latencies(busy, 1, 2);
  const auto drawn = latencies(quiet, 1, 3);
  BOOST_TEST(latencies(busy, 1, 3) == drawn);
  BOOST_TEST(others != drawn);
  BOOST_TEST(latencies(busy, 3, 1) != drawn);
}

BOOST_AUTO_TEST_CASE(pauses_are_those_of_a_host) {
  auto quiet = make_fabric();
  auto busy = make_fabric();
  const auto others = pauses(busy, 1);
  static_cast<void>(latencies(busy, 2, 1));
  const auto drawn = pauses(quiet, 2);
  BOOST_TEST(pauses(busy, 2) == drawn);
  BOOST_TEST(others != drawn);
}

BOOST_AUTO_TEST_CASE(what_one_link_loses_does_not_depend_on_another) {
  BOOST_TEST(survivors(true) == survivors(false));
  BOOST_TEST(survivors(true) < 1000U);
}

BOOST_AUTO_TEST_SUITE_END()
