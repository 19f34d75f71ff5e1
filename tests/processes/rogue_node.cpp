// rogue_node: a node with a valid certificate that keeps to the protocol and sends updates that must not be folded.
//
//   rogue_node --server HOST:PORT --clients FIRST-LAST --tls DIR [--well-behaved | --poison]
//
// Before its real session it opens some that break a rule each. Then it answers each task with the next attack of a
// list, and ends the task with a failure where the attack does not end it. --well-behaved: failures only, which is what
// a run with attacks must come to. --poison: updates that the server accepts, far in one direction. At the end of the
// run a JSON object on stdout says how often each attack was made, and what the gateway answered.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <thread>

#include "actors/tls/credentials.hpp"
#include "federated/settings/aggregation.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/processes/node_answers.hpp"
#include "tests/support/raw_frames.hpp"
#include "tests/support/updates.hpp"
#include "tests/wire/forged_update.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace {

using namespace furlong;
namespace net = actors::net;
namespace protocol = federated::protocol;
using federated::client_update;
using federated::task_id;
using tests::must;
using session = tests::frame_session;

class rogue {
 public:
  rogue(net::host_port home, federated::client_range clients, net::tls_context tls, std::string habit)
      : home_(std::move(home)), clients_(clients), tls_(std::move(tls)), habit_(std::move(habit)) {}

  nlohmann::json run() {
    auto at = home_;
    if (habit_.empty()) break_rules(gateway());
    while (!over_) {
      session with(on_, at, tls_);
      with.send(protocol::hello{"rogue", clients_, 0, {}, "", 0, models::kernels().level});
      at = home_;
      serve(with, at);
      if (!over_) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return told_;
  }

 private:
  void count(const char* what, const std::string& which) {
    auto& number = told_[what][which];
    number = (number.is_null() ? 0 : number.get<int>()) + 1;
  }

  /// Where the server sends this node.
  [[nodiscard]] net::host_port gateway() {
    session with(on_, home_, tls_);
    with.send(protocol::hello{"rogue", clients_, 0, {}, "", 0, models::kernels().level});
    while (const auto frame = with.next()) {
      auto got = wire::decoder().decode(frame->bytes());
      if (!got) continue;
      if (const auto* to = std::get_if<protocol::redirect>(&*got)) return must(net::parse_address(to->address));
      if (std::holds_alternative<protocol::welcome>(*got)) break;
    }
    return home_;
  }

  /// Sessions that end before they have begun.
  void break_rules(const net::host_port& at) {
    const auto other = clients_.first > 0 ? clients_.first - 1 : clients_.last + 1;
    const task_id foreign{1, 1, other, 0};
    const protocol::hello proper{"rogue", clients_, 0, {}, "", 0, models::kernels().level};
    const std::vector<std::pair<const char*, std::vector<wire::control>>> sessions{
        {"hello-of-others", {protocol::hello{"rogue", {other, other}, 0, {}, "", 0, models::kernels().level}}},
        {"holds-of-others", {protocol::hello{"rogue", clients_, 0, {foreign}, "", 0, models::kernels().level}}},
        {"no-hello", {protocol::task_failures{{foreign}}}},
        {"hello-twice", {proper, proper}},
        {"speaks-as-aggregator", {proper, protocol::withdrawn{{foreign}}}},
    };
    for (const auto& [name, messages] : sessions) {
      session with(on_, at, tls_);
      for (const auto& one : messages) with.send(one);
      count("sent", name);
      while (const auto frame = with.next()) hear_notice(*frame);
    }
  }

  void hear_notice(const net::received& frame) {
    auto got = wire::decoder().decode(frame.bytes());
    if (!got) return;
    if (const auto* notice = std::get_if<protocol::close_notice>(&*got)) count("close_notices", notice->why);
  }

  /// Until the session ends.
  void serve(session& with, net::host_port& next_home) {
    while (const auto frame = with.next()) {
      auto got = must(decoder_.decode(frame->bytes()));
      if (const auto* to = std::get_if<protocol::redirect>(&got)) {
        next_home = must(net::parse_address(to->address));
        return;
      }
      if (const auto* notice = std::get_if<protocol::close_notice>(&got)) {
        over_ = notice->final;
        count("close_notices", notice->why);
      } else if (const auto* welcome = std::get_if<protocol::welcome>(&got)) {
        learn(*welcome);
        with.send(protocol::ready{welcome->run, {}, tests::sizes_in(*welcome, clients_)});
      } else if (const auto* given = std::get_if<protocol::assignment>(&got)) {
        for (const auto& one : given->tasks)
          if (!answer(with, *given, {given->run, given->version, one.client, one.attempt})) break;
      } else if (const auto* some = std::get_if<protocol::verdicts>(&got)) {
        for (const auto& one : some->each)
          if (one.what == protocol::verdict_kind::rejected)
            count("verdicts", std::string(federated::to_string(one.why)));
          else
            count("verdicts", one.what == protocol::verdict_kind::durable ? "durable" : "unwanted");
      } else if (const auto* wanted = std::get_if<protocol::evaluation_request>(&got)) {
        with.send(tests::no_scores(*wanted));
      }
    }
  }

  void learn(const protocol::welcome& got) {
    const auto e = tests::experiment_of(got);
    shape_ = e.parts.shared;
    bounds_ = *e.settings.aggregation;
    decoder_ = wire::decoder(shape_);
  }

  [[nodiscard]] wire::encoded one_tensor_more(const task_id& id) const {
    const auto tensors = static_cast<unsigned>(shape_->count() + 1);
    return tests::raw_frame(wire::samples::forged_update(id, *shape_, tensors));
  }

  [[nodiscard]] wire::encoded one_row_more(const task_id& id) const {
    std::vector<models::tensor_spec> specs(shape_->tensors().begin(), shape_->tensors().end());
    specs.front().rows += 1;
    const auto grown = std::make_shared<const models::layout>(std::move(specs));
    return must(wire::encoder(grown).encode(fine(id, grown), wire::update_format::dense));
  }

  [[nodiscard]] client_update fine(const task_id& id) const { return fine(id, shape_); }

  /// An update that would be folded: it would move the model far.
  [[nodiscard]] static client_update fine(const task_id& id, const models::layout_ptr& shape) {
    auto update = tests::dense_update(id, shape);
    std::ranges::fill(update.change.values, 3.0F);
    return update;
  }

  void send(session& with, const client_update& update) {
    with.send(must(wire::encoder(shape_).encode(update, wire::update_format::dense)));
  }

  /// Makes the next attack on this task. False when the session ends by it.
  bool answer(session& with, const protocol::assignment& of, const task_id& id) {
    const std::string attack = habit_.empty() ? attacks[next_++ % std::size(attacks)] : habit_;
    count("sent", attack);
    if (attack == "poison") return send(with, fine(id)), true;
    if (attack == "tensor-count") return with.send(one_tensor_more(id)), false;
    if (attack == "wrong-shape") return with.send(one_row_more(id)), false;
    if (!damaged(with, attack, id)) {
      stray(with, attack, of, id);
      with.send(protocol::task_failures{{id}});
      if (attack == "after-failure") send(with, fine(id));
    }
    return true;
  }

  /// Attacks that end their task. False: it is none of these.
  bool damaged(session& with, const std::string& attack, const task_id& id) {
    auto update = fine(id);
    auto& middle = update.change.values[update.change.values.size() / 2];
    if (attack == "nan" || attack == "duplicate")
      middle = std::numeric_limits<float>::quiet_NaN();
    else if (attack == "infinity")
      middle = -std::numeric_limits<float>::infinity();
    else if (attack == "huge-norm")
      middle = static_cast<float>(2.0 * bounds_.max_norm);
    else if (attack == "overweight")
      update.weight = bounds_.max_weight + 1;
    else
      return false;
    send(with, update);
    if (attack == "duplicate") send(with, fine(id));
    return true;
  }

  /// Updates that nobody asked for.
  void stray(session& with, const std::string& attack, const protocol::assignment& of, task_id id) {
    if (attack == "stale")
      id.version = id.version > 0 ? id.version - 1 : 1000;
    else if (attack == "wrong-attempt")
      ++id.attempt;
    else if (attack == "wrong-run")
      ++id.run;
    else if (attack == "others-task")
      id.client = clients_.first > 0 ? clients_.first - 1 : clients_.last + 1;
    else if (attack == "unknown-task")
      id.client = not_asked(of);
    else
      return;
    send(with, fine(id));
  }

  [[nodiscard]] std::uint32_t not_asked(const protocol::assignment& of) const {
    std::set<std::uint32_t> asked;
    for (const auto& one : of.tasks) asked.insert(one.client);
    for (auto client = clients_.first; client <= clients_.last; ++client)
      if (!asked.contains(client)) return client;
    throw std::runtime_error("every client was asked: give this node more of them");
  }

  static constexpr const char* attacks[] = {
      "nan",           "infinity",    "huge-norm",    "overweight",    "duplicate",   "stale", "wrong-run",
      "wrong-attempt", "others-task", "unknown-task", "after-failure", "wrong-shape", "nan",   "tensor-count"};

  net::host_port home_;
  federated::client_range clients_;
  net::tls_context tls_;
  std::string habit_;  ///< what every task is answered with; empty: the attacks in turn
  net::transport on_;
  wire::decoder decoder_;
  models::layout_ptr shape_;
  federated::aggregation_settings bounds_;
  std::size_t next_ = 0;
  bool over_ = false;
  nlohmann::json told_ = {{"sent", nlohmann::json::object()},
                          {"verdicts", nlohmann::json::object()},
                          {"close_notices", nlohmann::json::object()}};
};

}  // namespace

int main(int argc, char** argv) {
  std::string server, clients, folder, habit;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--well-behaved") habit = "failure";
    if (word == "--poison") habit = "poison";
    if (i + 1 == argc) break;
    if (word == "--server") server = argv[++i];
    if (word == "--clients") clients = argv[++i];
    if (word == "--tls") folder = argv[++i];
  }
  try {
    const auto tier = must(actors::tls::load_node_credentials(folder)).tier;
    const auto tls = must(net::tls_context::for_client({tier.certificate, tier.key, tier.authority}));
    rogue one(must(net::parse_address(server)), must(actors::tls::parse_client_range(clients)), tls, habit);
    std::puts(one.run().dump().c_str());
    return 0;
  } catch (const std::exception& why) {
    std::fprintf(stderr, "rogue_node: %s\n", why.what());
    return 1;
  }
}
