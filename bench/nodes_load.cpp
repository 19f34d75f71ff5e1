// bench_nodes_load: many nodes with one client each, which answer every task at once with an update of the whole model,
// without training; and the gateway's work on an update apart from transport.
//
//   bench_nodes_load --pki PKI --server PORT --nodes N     until the run is over; prints the number of updates sent
//   bench_nodes_load --fold N                              decodes, validates and aggregates N updates of 1 MB
#include <cstdio>
#include <filesystem>
#include <future>
#include <memory>
#include <mutex>

#include "bench/common.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/net/test_pki.hpp"
#include "tests/processes/node_answers.hpp"
#include "tests/support/updates.hpp"
#include "wire/decode.hpp"

namespace {

using namespace furlong;
namespace fs = std::filesystem;
namespace net = actors::net;
namespace protocol = federated::protocol;
using tests::must;

federated::client_update update_of(const models::layout_ptr& shape, const federated::task_id& id) {
  auto update = tests::dense_update(id, shape);
  float next = 0.0F;
  for (auto& value : update.change.values) value = 1e-4F * (next = next < 7.0F ? next + 0.37F : 0.1F);
  return update;
}

// ---- nodes ---------------------------------------------------------------------------------------------------------

/// A node. Its frames are answered on the transport's thread: all nodes send at once.
class node {
 public:
  node(net::transport& on, std::uint16_t port, net::tls_context tls, std::uint32_t client) : client_(client) {
    net::connect_events events;
    events.on_open = [this](const net::channel_ptr& channel) {
      channel_ = channel;
      came_.set_value();
      send(protocol::hello{"load", {client_, client_}, 0, {}, "", 0, models::kernels().level});
      return net::channel_events{[this](const net::received& frame) { answer(frame); },
                                 [this](const error& why) { ended_.set_value(why.text()); }};
    };
    events.on_failed = [this](const net::connect_failure& why) {
      came_.set_value();
      ended_.set_value(why.what.text());
    };
    net::channel_settings settings;
    settings.max_message = settings.max_queued = std::size_t{256} << 20U;
    net::connect(on, {"127.0.0.1", port}, std::move(tls), settings, nullptr, std::move(events));
    came_.get_future().wait();  // a gateway limits the handshakes of one address
  }
  [[nodiscard]] std::size_t wait() {
    auto ended = ended_.get_future();
    const auto why = ended.get();
    if (!over_) throw std::runtime_error(why);
    return sent_;
  }

 private:
  void send(const wire::control& message) { channel_->send(must(wire::encoder::encode(message))); }

  void answer(const net::received& frame) {
    const auto got = must(decoder_.decode(frame.bytes()));
    if (const auto* welcome = std::get_if<protocol::welcome>(&got)) {
      shape_ = tests::experiment_of(*welcome).parts.shared;
      decoder_ = wire::decoder(shape_);
      send(protocol::ready{welcome->run, {}, tests::sizes_in(*welcome, {client_, client_})});
    } else if (const auto* given = std::get_if<protocol::assignment>(&got)) {
      for (const auto& one : given->tasks) {
        const auto update = update_of(shape_, {given->run, given->version, one.client, one.attempt});
        channel_->send(must(wire::encoder(shape_).encode(update, wire::update_format::dense)));
        ++sent_;
      }
    } else if (const auto* wanted = std::get_if<protocol::evaluation_request>(&got)) {
      send(tests::no_scores(*wanted));
    } else if (const auto* notice = std::get_if<protocol::close_notice>(&got)) {
      over_ = notice->final;
    }
  }

  std::uint32_t client_;
  net::channel_ptr channel_;
  wire::decoder decoder_;
  models::layout_ptr shape_;
  std::size_t sent_ = 0;
  bool over_ = false;
  std::promise<void> came_;
  std::promise<std::string> ended_;
};

int load(const fs::path& authority, std::uint16_t port, std::size_t nodes) {
  tests::test_pki pki;
  pki.adopt(authority, "clients");
  net::transport on;
  std::vector<std::unique_ptr<node>> all;
  for (std::size_t i = 0; i < nodes; ++i) {
    const auto client = static_cast<std::uint32_t>(i);
    const auto place = std::to_string(i);
    tests::certificate_request request;
    request.common_name = "load" + place + "/" + place + "-" + place + "/" + std::to_string(i + 1);
    request.authority = request.trusts = "clients";
    all.push_back(std::make_unique<node>(on, port, must(net::tls_context::for_client(pki.issue(request))), client));
  }
  std::size_t sent = 0;
  for (auto& one : all) sent += one->wait();
  std::printf("%zu updates\n", sent);
  return 0;
}

// ---- the gateway's work on an update -------------------------------------------------------------------------------

int fold(std::size_t count) {
  const auto shape = std::make_shared<models::layout>(
      std::vector<models::tensor_spec>{{"items", 25'000, 9}, {"item_bias", 25'000, 1}});
  const auto frame = must(wire::encoder(shape).encode(update_of(shape, {1, 1, 1, 0}), wire::update_format::dense));
  const federated::aggregation_settings rule;
  const auto sum = federated::make_accumulator(rule, shape, {});
  wire::decoder decoder(shape);
  federated::client_update update;
  std::vector<double> milliseconds;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begun = bench::thread_cpu_seconds();
    decoder.copy(std::get<wire::update_view>(must(decoder.decode(frame.bytes()))), update);
    if (federated::validate(update, *shape, rule) || sum->fold(update, 1.0))
      throw std::runtime_error("the update was refused");
    milliseconds.push_back(1e3 * (bench::thread_cpu_seconds() - begun));
  }
  const auto raw = static_cast<double>(shape->size() * sizeof(float));
  bench::figures out("nodes");
  const auto each = bench::median(milliseconds);
  out.add({"update-1MB", "decode_validate_fold_cpu", each, "ms"});
  out.add({"update-1MB", "encoded_size", static_cast<double>(frame.size()), "B", "raw-floats",
           raw / static_cast<double>(frame.size()), 1 / 1.01});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (const auto count = bench::count_argument(argc, argv, "--fold", SIZE_MAX); count != SIZE_MAX) return fold(count);
    if (bench::text_argument(argc, argv, "--server", "").empty())
      throw std::runtime_error("neither --fold nor --server: bench/nodes.py runs this with both");
    return load(fs::path(bench::text_argument(argc, argv, "--pki", "pki")) / "clients",
                static_cast<std::uint16_t>(bench::count_argument(argc, argv, "--server", 1)),
                bench::count_argument(argc, argv, "--nodes", 100));
  } catch (const std::exception& why) {
    std::fprintf(stderr, "bench_nodes_load: %s\n", why.what());
    return 1;
  }
}
