// campaign_hostile: sends hostile inputs to the ports of a running federation, and damaged frames to the decoder in
// this process. tests/campaigns/hostile.py starts the federation and checks the effects.
//
//   campaign_hostile --pki PKI --good DIR --denied DIR --server PORT --aggregator PORT --operator PORT
//                 [--inputs N] [--seed N] [--threads N]
//   campaign_hostile --decoder N [--seed N]
//
// --good, --denied: folders of nodes' certificates. Other certificates are made here with the authorities of PKI.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <openssl/ssl.h>
#include <span>
#include <thread>

#include "actors/tls/credentials.hpp"
#include "bench/common.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/campaigns/hostile_attacks.hpp"
#include "tests/net/test_pki.hpp"
#include "tests/processes/node_answers.hpp"
#include "tests/wire/control_samples.hpp"
#include "tests/wire/samples.hpp"
#include "wire/decode.hpp"

namespace {

using namespace furlong;
namespace net = actors::net;
namespace fs = std::filesystem;
using campaigns::attack;
using campaigns::attack_counts;
using campaigns::identities;
using campaigns::target;
using tests::must;

struct arguments {
  int count;
  char** words;
  [[nodiscard]] std::string text(const char* name) const { return bench::text_argument(count, words, name, ""); }
  [[nodiscard]] std::size_t number(const char* name, std::size_t fallback) const {
    return bench::count_argument(count, words, name, fallback);
  }
};

// ---- certificates --------------------------------------------------------------------------------------------------

net::tls_context context_of(const net::tls_paths& paths) {
  auto made = must(net::tls_context::for_client(paths));
  SSL_CTX_set_verify(made.native(), SSL_VERIFY_NONE, nullptr);  // attackers do not verify the server
  return made;
}

net::tls_paths folder_paths(const fs::path& folder) {
  return {folder / "certificate.pem", folder / "key.pem", folder / "authority.pem"};
}

/// Certificates issued by the authority of a tier, and by another one.
identities forged(tests::test_pki& pki, const std::string& tier, const std::string& name, const fs::path& good) {
  tests::certificate_request request;
  request.common_name = name;
  request.authority = request.trusts = tier;
  const auto with = [&](auto change) {
    auto changed = request;
    change(changed);
    return context_of(pki.issue(changed));
  };
  auto none = context_of(folder_paths(good));
  SSL_CTX_set_cert_cb(
      none.native(), [](SSL* of, void*) { return SSL_certs_clear(of), 1; }, nullptr);
  identities made;
  made.emplace("none", std::move(none));
  made.emplace("good", context_of(folder_paths(good)));
  made.emplace("expired", with([](auto& one) { one.begins = -7200, one.ends = -60; }));
  made.emplace("foreign", with([](auto& one) { one.authority = "foreign"; }));
  made.emplace("not-a-node", with([](auto& one) { one.common_name = "nobody"; }));
  return made;
}

// ---- targets -------------------------------------------------------------------------------------------------------

/// Requests the run's welcome from a gateway, like a node.
void learn(target& of, const fs::path& good) {
  const auto paths = folder_paths(good);
  net::transport on;
  tests::frame_session session(on, {"127.0.0.1", of.port}, must(net::tls_context::for_client(paths)));
  session.send(campaigns::protocol::hello{"hostile", of.clients, 0, {}, of.avoid, 0, models::kernels().level});
  while (const auto frame = session.next()) {
    const auto got = must(wire::decoder().decode(frame->bytes()));
    if (const auto* notice = std::get_if<campaigns::protocol::close_notice>(&got))
      throw std::runtime_error(notice->why);
    const auto* welcome = std::get_if<campaigns::protocol::welcome>(&got);
    if (welcome == nullptr) continue;
    of.run = welcome->run;
    of.shape = tests::experiment_of(*welcome).parts.shared;
    of.sizes = tests::sizes_in(*welcome, of.clients);
    return;
  }
  throw std::runtime_error("the gateway does not take the good node in");
}

/// The number of inputs of each attack, `inputs` in all: a tenth for the operator port, the rest for the gateways.
std::vector<std::uint64_t> shares(std::size_t inputs) {
  std::vector<std::uint64_t> wanted;
  for (const auto& one : campaigns::attacks())
    wanted.push_back(std::max<std::uint64_t>(inputs * one.weight * (one.on_operators ? 1 : 9) / 1000, 2));
  return wanted;
}

/// Runs attacks in random order, each until its share is done.
void fire(std::span<const target> gateways, const target& operators, std::span<const std::uint64_t> wanted,
          std::span<attack_counts> counts, random_stream random) {
  const auto& all = campaigns::attacks();
  std::vector<std::size_t> left(all.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  while (!left.empty()) {
    const auto at = random.below(static_cast<std::uint32_t>(left.size()));
    const auto which = left[at];
    if (counts[which].inputs >= wanted[which]) {
      left.erase(left.begin() + at);
      continue;
    }
    const auto& of = all[which].on_operators ? operators : gateways[random() % gateways.size()];
    try {
      all[which].make(of, random, counts[which]);
    } catch (const std::runtime_error&) {  // the port accepted no connection: it counts as an attempt
      ++counts[which].unanswered;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
}

/// Only handshakes, as many as possible in the time.
double handshakes_per_second(const target& of, std::size_t threads) {
  constexpr double seconds = 2.0;
  std::atomic<std::uint64_t> made{0};
  const auto took = bench::run_at_once(threads, [&](std::size_t) {
    const auto end = bench::wall_seconds() + seconds;
    while (bench::wall_seconds() < end) {
      tests::raw_peer peer(of.port);
      made += peer.secure(of.as->at("good")) ? 1 : 0;
    }
  });
  return static_cast<double>(made) / took;
}

int attack_ports(const arguments& given) {
  const fs::path pki_folder = given.text("--pki"), good = given.text("--good");
  const auto credentials = must(actors::tls::load_node_credentials(good));
  tests::test_pki pki;
  for (const std::string tier : {"clients", "operator"}) pki.adopt(pki_folder / tier, tier);
  auto of_nodes = forged(pki, "clients", credentials.tier.facts.common_name, good);
  of_nodes.emplace("denied", context_of(folder_paths(given.text("--denied"))));
  const auto of_operators = forged(pki, "operator", "aggregator9", good);

  const auto port = [&](const char* name) { return static_cast<std::uint16_t>(given.number(name, 1)); };
  const auto& clients = credentials.identity.clients;
  std::vector<target> gateways{{"server", port("--server"), &of_nodes, clients, 0, nullptr, {}, ""},
                               {"aggregator", port("--aggregator"), &of_nodes, clients, 0, nullptr, {}, ""}};
  gateways[0].avoid = "127.0.0.1:" + std::to_string(gateways[1].port);
  for (auto& one : gateways) learn(one, good);
  const target operators{"operator", port("--operator"), &of_operators, {}, 0, nullptr, {}, ""};

  const auto threads = given.number("--threads", 4);
  const auto wanted = shares(given.number("--inputs", 100'000));
  std::vector<attack_counts> counts(wanted.size());
  const auto took = bench::run_at_once(threads, [&](std::size_t i) {
    fire(gateways, operators, wanted, counts,
         {given.number("--seed", 1), purpose::test, static_cast<std::uint32_t>(i)});
  });

  bench::figures out("hostile");
  std::uint64_t inputs = 0, connections = 0, handshakes = 0, unanswered = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& one = campaigns::attacks()[i];
    const auto name = std::string(one.on_operators ? "operator-" : "gateway-") + one.name;
    out.add({name, "inputs", static_cast<double>(counts[i].inputs), "1"});
    out.add({name, "connections", static_cast<double>(counts[i].connections), "1"});
    inputs += counts[i].inputs;
    connections += counts[i].connections;
    handshakes += counts[i].handshakes;
    unanswered += counts[i].unanswered;
  }
  out.add({"all", "inputs", static_cast<double>(inputs), "1"});
  out.add({"all", "connections", static_cast<double>(connections), "1"});
  out.add({"all", "handshakes", static_cast<double>(handshakes), "1"});
  out.add({"all", "connections_not_ended", static_cast<double>(unanswered), "1"});
  out.add({"all", "inputs_per_second", static_cast<double>(inputs) / took, "1/s"});
  out.add({"gateway", "handshakes_per_second", handshakes_per_second(gateways[1], threads), "1/s"});
  return 0;
}

// ---- the decoder ---------------------------------------------------------------------------------------------------

/// Damaged frames of every kind, alternating.
int attack_decoder(std::size_t inputs, std::size_t seed) {
  namespace samples = wire::samples;
  std::vector<samples::bytes> sound;
  for (auto& one : samples::corpus())
    if (!one.name.starts_with("damaged") && !one.frame.empty()) sound.push_back(std::move(one.frame));
  for (const auto& [name, message] : samples::small_controls())
    sound.push_back(samples::copy_of(must(wire::encoder::encode(message))));
  wire::decoder read(samples::small_layout());
  random_stream random(seed, purpose::test);
  std::uint64_t accepted = 0;
  const auto begun = bench::wall_seconds();
  for (std::size_t i = 0; i < inputs; ++i)
    accepted += read.decode(campaigns::mutated(sound[i % sound.size()], random)).has_value() ? 1 : 0;
  const auto took = bench::wall_seconds() - begun;
  bench::figures out("hostile");
  out.add({"decoder", "inputs", static_cast<double>(inputs), "1"});
  out.add({"decoder", "sound_frames_damaged", static_cast<double>(sound.size()), "1"});
  out.add({"decoder", "accepted", static_cast<double>(accepted), "1"});
  out.add({"decoder", "inputs_per_second", static_cast<double>(inputs) / took, "1/s"});
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const arguments given{argc, argv};
  try {
    if (const auto decoded = given.text("--decoder"); !decoded.empty())
      return attack_decoder(given.number("--decoder", 1), given.number("--seed", 1));
    return attack_ports(given);
  } catch (const std::exception& why) {
    std::fprintf(stderr, "campaign_hostile: %s\n", why.what());
    return 1;
  }
}
