// The other process of the tests: one end of an operator link that sends every frame back.
//
//   operator_peer connect|listen PORT HEARTBEAT_MS TIMEOUT_MS [CERTIFICATE KEY AUTHORITY]
//
// Says on stdout, a line each: "port N" when it listens, "open", "closed WHY", "failed WHY". Ends when stdin does, or
// when the link that it opened is closed or not opened.
#include <future>
#include <iostream>
#include <string>
#include <unistd.h>

#include "tests/aggregator_transport/raw_frames.hpp"
#include "tests/aggregator_transport/sites.hpp"

using namespace furlong;
using namespace furlong::tests;

namespace {

void say(const std::string& line) {
  static std::mutex printing;
  const std::scoped_lock lock(printing);
  std::cout << line << std::endl;
}

/// @param closed called after the link was closed
aggregator_transport::link_opened_callback echoing(std::function<void()> closed) {
  return [closed = std::move(closed)](const net::channel_ptr& channel) -> net::channel_events {
    say("open");
    // The link holds the channel until it is closed by the other side.
    return {[channel](const net::received& frame) { channel->send(raw_frame(frame.bytes())); },
            [closed](const error& why) {
              say("closed " + why.text());
              closed();
            }};
  };
}

int connect_to(site& here, std::uint16_t number) {
  std::promise<int> ended;
  aggregator_transport::operator_connect(here.system(), {"127.0.0.1", number, 10s}, {},
                                         echoing([&] { ended.set_value(0); }), [&](const error& why) {
                                           say("failed " + why.text());
                                           ended.set_value(1);
                                         });
  return ended.get_future().get();
}

int listen_at(site& here, std::uint16_t number) {
  const auto listening =
      aggregator_transport::operator_listener::open(here.system(), "127.0.0.1", number, {}, echoing([] {}));
  if (!listening) {
    say("failed " + listening.error().text());
    return 1;
  }
  say("port " + std::to_string((*listening)->port()));
  while (std::cin.get() != std::char_traits<char>::eof()) {
  }
  // Links may be open still: their actors, and so the system, would not end.
  ::_exit(0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (arguments.size() != 4 && arguments.size() != 7) return 2;
  aggregator_transport::operator_network network{
      {}, std::chrono::milliseconds(std::stoi(arguments[2])), std::chrono::milliseconds(std::stoi(arguments[3]))};
  if (arguments.size() == 7)
    network.tls = aggregator_transport::operator_files{arguments[4], arguments[5], arguments[6]};
  const auto number = static_cast<std::uint16_t>(std::stoi(arguments[1]));
  site here(network);
  return arguments[0] == "connect" ? connect_to(here, number) : listen_at(here, number);
}
