// bench_operator_link: frames of 1 MB over an operator link, alternating with the same bytes in bare CAF messages; in
// one direction on loopback, with and without mutual TLS.
//
//   bench_operator_link [--frames N] [--repetitions N]
#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <future>
#include <stdexcept>

#include "actors/aggregator_transport/configure.hpp"
#include "actors/aggregator_transport/connect.hpp"
#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/listener.hpp"
#include "bench/common.hpp"
#include "tests/aggregator_transport/test_authority.hpp"

namespace furlong::bench {

/// Bytes as a CAF message: copies share them, and they are written unchanged.
struct blob {
  std::shared_ptr<const std::vector<char>> bytes;
};

}  // namespace furlong::bench

CAF_BEGIN_TYPE_ID_BLOCK(furlong_bench, first_custom_type_id + 200)
CAF_ADD_TYPE_ID(furlong_bench, (furlong::bench::blob))
CAF_END_TYPE_ID_BLOCK(furlong_bench)

namespace furlong::bench {

caf::error inspect(caf::serializer& sink, blob& x) {
  auto size = static_cast<std::uint32_t>(x.bytes->size());
  if (auto failed = sink(size)) return failed;
  return sink.apply_raw(x.bytes->size(), const_cast<char*>(x.bytes->data()));
}

caf::error inspect(caf::deserializer& source, blob& x) {
  std::uint32_t size = 0;
  if (auto failed = source(size)) return failed;
  auto bytes = std::make_shared<std::vector<char>>(size);
  if (auto failed = source.apply_raw(size, bytes->data())) return failed;
  x.bytes = std::move(bytes);
  return caf::none;
}

}  // namespace furlong::bench

namespace {

using namespace furlong;
using namespace std::chrono_literals;
namespace aggregator_transport = actors::aggregator_transport;

/// Required fraction of bare CAF's throughput.
constexpr double bar = 0.70;
constexpr std::size_t values = 250'000;
/// Messages of bare CAF in flight: as many as pieces of a link.
constexpr std::size_t in_flight = aggregator_transport::link_credits;

wire::encoded one_frame() {
  const auto shape =
      std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"weights", 1000, values / 1000}});
  federated::broadcast message{1, 0, models::shared_parameters(shape), {}};
  float next = 0.0F;
  for (auto& value : message.model.values()) value = next += 0.37F;
  return wire::encoder(shape).encode(message).value();
}

struct configuration : caf::actor_system_config {
  explicit configuration(const aggregator_transport::operator_network& network) {
    if (auto done = aggregator_transport::configure_operator(*this, network); !done)
      throw std::runtime_error(done.error().text());
    add_message_types<caf::id_block::furlong_bench>();
  }
};

struct site {
  explicit site(const aggregator_transport::operator_network& network) : config(network), system(config) {}
  configuration config;
  caf::actor_system system;
};

/// Two actor systems with one connection.
struct pair {
  pair(tests::test_authority& authority, bool with_tls)
      : upper({with_tls ? std::optional(authority.issue("upper")) : std::nullopt}),
        lower({with_tls ? std::optional(authority.issue("lower")) : std::nullopt}) {}
  site upper, lower;
};

/// Sends frames from `lower` to `upper`.
class link_run : pair {
 public:
  link_run(tests::test_authority& authority, bool with_tls) : pair(authority, with_tls) {
    listener_ =
        aggregator_transport::operator_listener::open(upper.system, "127.0.0.1", 0, {}, [this](const auto& channel) {
          above_ = channel;
          return actors::net::channel_events{[this](const auto&) { arrived(); }, nullptr};
        }).value();
    std::promise<actors::net::channel_ptr> open;
    aggregator_transport::operator_connect(
        lower.system, {"127.0.0.1", listener_->port(), 10s}, {},
        [&](const auto& channel) {
          open.set_value(channel);
          return actors::net::channel_events{};
        },
        [&](const error& why) { open.set_exception(std::make_exception_ptr(std::runtime_error(why.text()))); });
    below_ = open.get_future().get();
  }
  ~link_run() { below_->close(); }
  link_run(const link_run&) = delete;
  link_run& operator=(const link_run&) = delete;

  /// Seconds until all have arrived.
  double seconds(const wire::encoded& frame, std::size_t frames) {
    std::promise<void> all;
    all_ = &all;
    missing_ = frames;
    const double begin = bench::wall_seconds();
    for (std::size_t i = 0; i < frames; ++i) below_->send(frame);
    all.get_future().wait();
    return bench::wall_seconds() - begin;
  }

 private:
  void arrived() {
    if (--missing_ == 0) all_->set_value();
  }

  std::atomic<std::size_t> missing_{0};
  std::promise<void>* all_ = nullptr;  ///< written before missing_
  actors::net::channel_ptr above_, below_;
  std::unique_ptr<aggregator_transport::operator_listener> listener_;
};

/// Sends blobs from `lower` to `upper`, which answers each.
class bare_run : pair {
 public:
  bare_run(tests::test_authority& authority, bool with_tls) : pair(authority, with_tls) {
    sink_ = upper.system.spawn([](caf::event_based_actor* self) -> caf::behavior {
      return {[self](const bench::blob&) { self->send(caf::actor_cast<caf::actor>(self->current_sender()), 1); }};
    });
    if (with_tls) {
      const auto port = caf::openssl::publish(sink_, 0, "127.0.0.1");
      remote_ = *caf::openssl::remote_actor(lower.system, "127.0.0.1", *port);
    } else {
      const auto port = upper.system.middleman().publish(sink_, 0, "127.0.0.1");
      remote_ = *lower.system.middleman().remote_actor("127.0.0.1", *port);
    }
  }
  ~bare_run() { caf::anon_send_exit(sink_, caf::exit_reason::user_shutdown); }
  bare_run(const bare_run&) = delete;
  bare_run& operator=(const bare_run&) = delete;

  double seconds(const bench::blob& one, std::size_t frames) {
    std::promise<void> all;
    const double begin = bench::wall_seconds();
    lower.system.spawn(
        [&, sent = std::size_t{0}, answered = std::size_t{0}](caf::event_based_actor* self) mutable -> caf::behavior {
          for (; sent < std::min(frames, in_flight); ++sent) self->send(remote_, one);
          return {[&, self, sent, answered](int) mutable {
            if (sent++ < frames) self->send(remote_, one);
            if (++answered < frames) return;
            all.set_value();
            self->quit();
          }};
        });
    all.get_future().wait();
    return bench::wall_seconds() - begin;
  }

 private:
  caf::actor sink_, remote_;
};

void compare(tests::test_authority& authority, bool with_tls, std::size_t frames, std::size_t repetitions,
             bench::figures& out) {
  const auto frame = one_frame();
  const auto* first = reinterpret_cast<const char*>(frame.bytes().data());
  const bench::blob same{std::make_shared<std::vector<char>>(first, first + frame.size())};
  link_run link(authority, with_tls);
  bare_run bare(authority, with_tls);
  std::vector<double> links_mb, bare_mb;
  const double megabytes = static_cast<double>(frames * frame.size()) / 1e6;
  (void)link.seconds(frame, frames / 8 + 1);
  (void)bare.seconds(same, frames / 8 + 1);
  for (std::size_t i = 0; i < repetitions; ++i) {
    bare_mb.push_back(megabytes / bare.seconds(same, frames));
    links_mb.push_back(megabytes / link.seconds(frame, frames));
  }
  const std::string suffix = with_tls ? "-tls" : "-plain";
  out.add({"caf" + suffix, "throughput", bench::median(bare_mb), "MB/s"});
  out.add({"link" + suffix, "throughput", bench::median(links_mb), "MB/s", "caf" + suffix,
           bench::median_ratio(links_mb, bare_mb), bar});
}

}  // namespace

int main(int argc, char** argv) {
  const auto frames = bench::count_argument(argc, argv, "--frames", 256);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 9);
  tests::test_authority authority;
  bench::figures out("operator_link");
  for (const bool with_tls : {true, false}) compare(authority, with_tls, frames, repetitions, out);
}
