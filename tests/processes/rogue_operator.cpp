// rogue_operator: a process with a valid operator certificate that sends what no aggregator sends.
//
//   rogue_operator --server HOST:PORT --tls DIR
//
// Opens one link after another at an operator port, and sends noise, cut frames, messages of others, and reports about
// clients, tasks and versions that there are not: before it is welcome, and after. Waits each time until the other side
// has ended the link. Exit code 1: it has not, or did not let this process in.
#include <cstdio>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

#include "actors/tls/credentials.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/processes/frame_session.hpp"
#include "tests/support/raw_frames.hpp"
#include "wire/control.hpp"
#include "wire/decode.hpp"

namespace {

using namespace furlong;
namespace net = actors::net;
namespace protocol = federated::protocol;
using tests::must;

protocol::branch_hello aggregator_hello() {
  protocol::branch_hello hello;
  hello.software = "furlong";
  hello.name = "rogue";
  hello.gateway = "127.0.0.1:1";
  hello.kernel_level = models::kernels().level;
  return hello;
}

/// What an aggregator would report about what is not there, and what others send.
std::vector<wire::control> messages() {
  constexpr std::uint32_t far = 4'000'000'000U;
  constexpr std::uint64_t late = ~std::uint64_t{0};
  const federated::task_id unknown{1, late, far, 7};
  const auto level = models::kernels().level;
  federated::settlement folded;
  folded.id = unknown;
  return {protocol::attached{{0, far}, {unknown}, "node", 1, level, {}, {}},
          protocol::attached{{far, far}, {}, "node", 2, level, {}, {protocol::client_sizes{}}},
          protocol::detached{{0, far}, true},
          protocol::settled{{folded, folded}},
          protocol::withdrawn{{unknown}},
          protocol::tasks_lost{{unknown}, {unknown}},
          protocol::evaluation_scores{late, {{federated::group::seen, far, {}}}, true},
          protocol::letters{},
          protocol::close_notice{"the run is over", true, true},
          protocol::redirect{"127.0.0.1:1"},
          protocol::assignment{1, late, true, {{far, 7}}},
          protocol::verdicts{{{unknown, protocol::verdict_kind::taken, {}}}, late},
          protocol::checkpointed{late},
          protocol::evaluation_request{late, {{federated::group::unseen, far}}},
          protocol::close_request{late, true},
          protocol::withdrawal{{unknown}},
          protocol::displaced{1},
          protocol::ready{},
          protocol::hello{"rogue", {0, 9}, 0, {}, "", 0, level},
          aggregator_hello()};
}

class rogue {
 public:
  rogue(net::host_port port, net::tls_context tls) : port_(std::move(port)), tls_(std::move(tls)) {}

  void run() {
    for (std::uint64_t seed = 1; seed <= 24; ++seed) attack(tests::raw_frame(1 + seed * 37 % 500, seed));
    const auto whole = must(wire::encoder::encode(aggregator_hello()));
    for (std::size_t words = 1; words < whole.size() / 8; words += 3)
      attack(tests::raw_frame(whole.bytes().first(words * 8)));
    for (const auto& message : messages())
      if (const auto frame = wire::encoder::encode(message)) attack(*frame);
  }
  [[nodiscard]] int attacks() const { return attacks_; }

 private:
  /// Otherwise what follows would attack nobody.
  static void become_aggregator(tests::frame_session& link) {
    link.send(aggregator_hello());
    const auto answer = link.next();
    if (!answer) throw std::runtime_error("the link ended before the welcome");
    wire::decoder control;
    if (!std::holds_alternative<protocol::welcome>(must(control.decode(answer->bytes()))))
      throw std::runtime_error("the answer to hello is not a welcome");
  }

  void attack(const wire::encoded& frame) {
    for (const bool welcome : {false, true}) {
      tests::frame_session link(transport_, port_, tls_);
      if (welcome) become_aggregator(link);
      link.send(frame);
      link.send(protocol::task_failures{});  // which only nodes send: it ends the link in any case
      while (link.next()) {
      }
      ++attacks_;
    }
  }

  net::host_port port_;
  net::tls_context tls_;
  net::transport transport_;
  int attacks_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  std::string server, folder;
  for (int i = 1; i + 1 < argc; i += 2) (std::string(argv[i]) == "--server" ? server : folder) = argv[i + 1];
  try {
    const auto tier = must(actors::tls::load_operator_credentials(folder)).operator_tier;
    const auto tls = must(net::tls_context::for_operator_client({tier.certificate, tier.key, tier.authority}));
    rogue intruder(must(net::parse_address(server)), tls);
    intruder.run();
    std::printf("%d attacks\n", intruder.attacks());
    return 0;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "rogue_operator: %s\n", why.what());
    return 1;
  }
}
