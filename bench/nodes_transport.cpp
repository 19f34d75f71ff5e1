// bench_nodes_transport: frames of 1 MB from a node to a gateway over mutual TLS on loopback, against OpenSSL on
// blocking sockets with the same bytes, certificates and cores. The pairs alternate, so that other load affects both.
// Also the memory of a gateway while many nodes send at once.
//
//   bench_nodes_transport [--frames N] [--repetitions N] [--nodes N]
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <memory>
#include <openssl/ssl.h>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/common.hpp"
#include "tests/net/ends.hpp"
#include "tests/net/raw_peer.hpp"

namespace {

using namespace furlong;
namespace net = actors::net;

constexpr std::size_t mib = 1 << 20;

void must(bool done, const char* what) {
  if (!done) throw std::runtime_error(what);
}

double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

struct speed {
  double mb_per_second = 0.0;
  double cpu_ms_per_mb = 0.0;  ///< of both sides together
};

/// Bytes and the two clocks of one transfer.
class stopwatch {
 public:
  [[nodiscard]] speed stop(std::size_t bytes) const {
    const double mb = static_cast<double>(bytes) / 1e6;
    return {mb / (bench::wall_seconds() - wall_), 1e3 * (process_cpu_seconds() - cpu_) / mb};
  }

 private:
  double wall_ = bench::wall_seconds();
  double cpu_ = process_cpu_seconds();
};

using ssl_ptr = std::unique_ptr<SSL, decltype(&SSL_free)>;

ssl_ptr secured(const net::tls_context& context, int socket) {
  ssl_ptr made(SSL_new(context.native()), SSL_free);
  SSL_set_fd(made.get(), socket);
  must((context.is_server() ? SSL_accept(made.get()) : SSL_connect(made.get())) == 1, "no handshake");
  return made;
}

/// Sends the bytes of `frame` `count` times, a megabyte per call; the receiver answers after the last.
speed bare_tls(const net::tls_context& server, const net::tls_context& client, std::span<const std::byte> frame,
               std::size_t count) {
  const tests::raw_listener listening;
  const std::size_t total = frame.size() * count;
  std::thread receiver([&] {
    const auto peer = listening.accept();
    const auto ssl = secured(server, peer.socket());
    std::vector<std::byte> buffer(mib);
    for (std::size_t got = 0; got < total;) {
      const int part = SSL_read(ssl.get(), buffer.data(), static_cast<int>(buffer.size()));
      must(part > 0, "bare TLS broke");
      got += static_cast<std::size_t>(part);
    }
    SSL_write(ssl.get(), "x", 1);
  });
  const tests::raw_peer peer(listening.port());
  const auto ssl = secured(client, peer.socket());
  const stopwatch watch;
  for (std::size_t i = 0; i < count; ++i)
    for (auto left = frame; !left.empty();) {
      const int part = SSL_write(ssl.get(), left.data(), static_cast<int>(std::min(left.size(), mib)));
      must(part > 0, "bare TLS broke");
      left = left.subspan(static_cast<std::size_t>(part));
    }
  char answer = 0;
  must(SSL_read(ssl.get(), &answer, 1) == 1, "bare TLS broke");
  const auto measured = watch.stop(total);
  receiver.join();
  return measured;
}

/// The same over channels, from `senders` nodes at once.
speed channels(tests::gateway& to, const net::tls_context& client, const wire::encoded& frame, std::size_t count,
               std::size_t senders) {
  net::channel_settings settings;
  settings.max_queued = frame.size() * (count + 1);
  net::transport on;
  const auto before = to.channels();
  std::vector<std::shared_ptr<tests::witness>> nodes;
  for (std::size_t i = 0; i < senders; ++i) nodes.push_back(tests::connect_to(on, to.address(), client, settings));
  for (const auto& node : nodes) must(node->wait_open(), "no connection");
  const stopwatch watch;
  for (std::size_t i = 0; i < count; ++i)
    for (const auto& node : nodes) node->channel->send(frame);
  for (std::size_t i = 0; i < senders; ++i) {
    const auto there = to.wait_channel(before + i);
    must(there != nullptr && there->wait_frames(count), "frames are missing");
  }
  return watch.stop(frame.size() * count * senders);
}

}  // namespace

int main(int argc, char** argv) {
  const auto count = bench::count_argument(argc, argv, "--frames", 1000);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 7);
  const auto many = bench::count_argument(argc, argv, "--nodes", 100);
  tests::test_pki pki;
  const auto server = net::tls_context::for_server(pki.gateway()).value();
  const auto client = tests::client_context(pki.node());
  tests::gateway_options options;
  options.keep = false;
  const auto room = net::budget::make(64 * mib);
  options.settings.room = room;
  options.settings.limits.handshakes_per_address = many;
  const auto frame = tests::make_frame(mib);

  bench::figures out("nodes");
  std::vector<double> bare;
  std::vector<double> ours;
  std::vector<double> bare_cpu;
  std::vector<double> our_cpu;
  tests::gateway to(pki, options);
  for (std::size_t i = 0; i < repetitions; ++i) {
    const auto yardstick = bare_tls(server, client, frame.bytes(), count);
    const auto measured = channels(to, client, frame, count, 1);
    bare.push_back(yardstick.mb_per_second);
    ours.push_back(measured.mb_per_second);
    bare_cpu.push_back(yardstick.cpu_ms_per_mb);
    our_cpu.push_back(measured.cpu_ms_per_mb);
  }
  out.add({"bare-tls", "throughput", bench::median(bare), "MB/s"});
  out.add({"bare-tls", "cpu_both_sides", bench::median(bare_cpu), "ms/MB"});
  out.add({"gateway", "throughput", bench::median(ours), "MB/s", "bare-tls", bench::median_ratio(ours, bare), 0.7});
  out.add({"gateway", "cpu_both_sides", bench::median(our_cpu), "ms/MB", "bare-tls",
           bench::median_ratio(bare_cpu, our_cpu)});
  const auto crowd = channels(to, client, frame, std::max<std::size_t>(count / many, 1), many);
  const auto name = "gateway-" + std::to_string(many) + "-nodes";
  out.add({name, "throughput", crowd.mb_per_second, "MB/s"});
  out.add({name, "most_reserved", static_cast<double>(room->peak()) / mib, "MiB"});
  return 0;
}
