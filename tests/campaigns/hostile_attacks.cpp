#include "tests/campaigns/hostile_attacks.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <openssl/bio.h>
#include <stdexcept>
#include <sys/socket.h>

#include "actors/net/detail/framing.hpp"
#include "models/kernels/kernels.hpp"
#include "tests/support/updates.hpp"

namespace furlong::campaigns {

using tests::bytes;
using tests::noise;
using tests::operator+;
using tests::raw_peer;

namespace {

std::uint32_t below(random_stream& random, std::size_t end) { return random.below(static_cast<std::uint32_t>(end)); }

std::uint64_t wide(random_stream& random) {
  return (static_cast<std::uint64_t>(random()) << 32U) ^ static_cast<std::uint64_t>(random());
}

bytes of_text(std::string_view text) {
  bytes made(text.size());
  std::memcpy(made.data(), text.data(), text.size());
  return made;
}

/// Changes bytes, and removes or repeats a part.
bytes damaged(bytes data, random_stream& random) {
  if (data.empty()) return data;
  for (auto left = 1 + below(random, 6); left > 0; --left)
    data[below(random, data.size())] = static_cast<std::byte>(random());
  const auto at = static_cast<std::ptrdiff_t>(below(random, data.size()));
  if (random() % 4 == 0) data.erase(data.begin() + at, data.end());
  if (random() % 8 == 0 && !data.empty())
    data.insert(data.end(), data.begin(), data.begin() + std::min(at, std::ptrdiff_t{64}));
  return data;
}

bytes framed(std::span<const std::byte> frame) {
  auto all = tests::piece({static_cast<std::uint32_t>(frame.size())}, frame.size());
  std::memcpy(all.data() + all.size() - frame.size(), frame.data(), frame.size());
  return all;
}

bytes framed(const wire::control& message) {
  const auto frame = wire::encoder::encode(message);
  if (!frame) throw std::runtime_error(frame.error().text());
  return framed(frame->bytes());
}

protocol::hello good_hello(const target& of);

/// A counted connection; ends when the port has processed it.
class knock {
 public:
  knock(const target& of, attack_counts& counts) : peer_(of.port), counts_(counts) { ++counts.connections; }

  /// Handshake under a name. False: the port refused.
  bool secure(const target& of, const char* identity) {
    if (!peer_.secure(of.as->at(identity))) return false;
    ++counts_.handshakes;
    return true;
  }
  bool send(const bytes& data) { return peer_.send(data); }
  /// An input.
  bool attack(const bytes& data) {
    ++counts_.inputs;
    return peer_.send(data);
  }
  /// Joins as a node. The gateway's greeting has a few bytes; further bytes follow its welcome.
  bool enter(const target& of) {
    const auto as = good_hello(of);
    if (!send(framed(wire::control(as)))) return false;
    for (std::size_t got = 0; got <= actors::net::detail::header_bytes;) {
      const auto part = peer_.receive();
      if (part.empty()) return false;
      got += part.size();
    }
    return send(framed(wire::control(protocol::ready{as.run, {}, of.sizes})));
  }
  raw_peer& peer() { return peer_; }
  /// Waits until the port has read everything, and has ended the connection.
  void finish() {
    ::shutdown(peer_.socket(), SHUT_WR);
    bytes rest;
    if (!peer_.receive_to_end(rest)) ++counts_.unanswered;
  }

 private:
  raw_peer peer_;
  attack_counts& counts_;
};

protocol::hello good_hello(const target& of) {
  return {"hostile", of.clients, of.run, {}, of.avoid, 0, models::kernels().level};
}

// ---- before and in the handshake -----------------------------------------------------------------------------------

void random_bytes(const target& of, random_stream& random, attack_counts& counts) {
  auto sent = noise(random, 4000);
  if (random() % 2 == 0 && sent.size() > 5) {  // begins as TLS does
    constexpr std::array<unsigned char, 3> record{22, 3, 1};
    std::memcpy(sent.data(), record.data(), record.size());
  }
  knock to(of, counts);
  to.attack(sent);
  to.finish();
}

/// Other protocols; among them the header with which CAF's begins, and one that claims 4 GiB.
void wrong_protocol(const target& of, random_stream& random, attack_counts& counts) {
  static const std::vector<bytes> greetings = [] {
    bytes caf(36, std::byte{0});
    caf[3] = std::byte{1};
    caf[15] = std::byte{5};
    bytes giant = caf;
    std::fill(giant.begin() + 4, giant.begin() + 8, std::byte{0xff});
    return std::vector<bytes>{of_text("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                              of_text("POST /api/status HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n"),
                              of_text("SSH-2.0-OpenSSH_9.2\r\n"),
                              of_text("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
                              caf,
                              giant,
                              tests::heartbeat() + tests::frame_of_zeros(64)};
  }();
  knock to(of, counts);
  to.attack(greetings[below(random, greetings.size())]);
  to.finish();
}

/// A client's side of a handshake in memory.
class handshake {
 public:
  explicit handshake(const actors::net::tls_context& as) : ssl_(SSL_new(as.native()), SSL_free) {
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_.get(), in_, out_);
    SSL_set_connect_state(ssl_.get());
  }
  /// Its next output after this input.
  bytes step(const bytes& got) {
    if (!got.empty()) BIO_write(in_, got.data(), static_cast<int>(got.size()));
    SSL_do_handshake(ssl_.get());
    bytes sent(static_cast<std::size_t>(BIO_pending(out_)));
    if (!sent.empty()) BIO_read(out_, sent.data(), static_cast<int>(sent.size()));
    return sent;
  }
  [[nodiscard]] bool done() const { return SSL_is_init_finished(ssl_.get()) == 1; }

 private:
  std::unique_ptr<SSL, decltype(&SSL_free)> ssl_;
  BIO* in_;
  BIO* out_;
};

void damaged_client_hello(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  to.attack(damaged(handshake(of.as->at("good")).step({}), random));
  to.finish();
}

void damaged_second_flight(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  handshake made(of.as->at("good"));
  to.send(made.step({}));
  bytes flight;
  for (int part = 0; part < 8 && !made.done(); ++part) {
    const auto got = to.peer().receive();
    if (got.empty()) break;
    const auto answer = made.step(got);
    flight.insert(flight.end(), answer.begin(), answer.end());
  }
  to.attack(damaged(flight, random));
  to.finish();
}

template <const char* const& Identity>
void wrong_certificate(const target& of, random_stream&, attack_counts& counts) {
  knock to(of, counts);
  ++counts.inputs;
  to.secure(of, Identity);
  to.finish();
}

constexpr const char* nobody = "none";
constexpr const char* expired = "expired";
constexpr const char* foreign = "foreign";
constexpr const char* denied = "denied";
constexpr const char* nameless = "not-a-node";
constexpr const char* of_node = "good";

// ---- after the handshake, with a good certificate ------------------------------------------------------------------

void random_frames(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  to.attack(tests::heartbeat() + noise(random, 2000));
  to.finish();
}

void giant_lengths(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  constexpr std::uint64_t least = std::uint64_t{1} << 30U;
  to.attack(tests::announcement(least + (wide(random) >> (random() % 34))));
  to.finish();
}

void random_records(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  ++counts.inputs;
  const auto content = noise(random, 200);
  const bytes head{std::byte{23}, std::byte{3}, std::byte{3}, std::byte{0}, static_cast<std::byte>(content.size())};
  const auto record = head + content;
  (void)::send(to.peer().socket(), record.data(), record.size(), MSG_NOSIGNAL);
  to.finish();
}

void clients_of_others(const target& of, random_stream& random, attack_counts& counts) {
  auto hello = good_hello(of);
  const auto first = below(random, of.clients.first);
  hello.clients =
      random() % 2 == 0 ? federated::client_range{first, first} : federated::client_range{first, of.clients.last};
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  to.attack(framed(hello));
  to.finish();
}

/// One damaged frame per connection: the first undecodable one ends it.
void damaged_frames(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  if (random() % 2 == 0) to.enter(of);
  to.attack(framed(mutated(node_frame(of, random), random)));
  to.finish();
}

/// Valid frames for unknown tasks: many per connection, which stays open.
void unknown_tasks(const target& of, random_stream& random, attack_counts& counts) {
  knock to(of, counts);
  if (!to.secure(of, "good")) return;
  to.enter(of);
  for (int i = 0; i < 100; ++i)
    if (!to.attack(framed(node_frame(of, random)))) break;
  to.finish();
}

}  // namespace

bytes mutated(std::span<const std::byte> frame, random_stream& random) {
  bytes made = damaged({frame.begin(), frame.end()}, random);
  made.resize((made.size() + 7) / 8 * 8);
  if (made.size() >= 8 && random() % 2 == 0) {
    const auto words = static_cast<std::uint32_t>(made.size() / 8 - 1);
    std::memset(made.data(), 0, 4);
    std::memcpy(made.data() + 4, &words, sizeof words);
  }
  return made;
}

bytes node_frame(const target& of, random_stream& random) {
  const auto span = of.clients.last - of.clients.first + 1;
  const auto client = random() % 4 == 0 ? below(random, 200) : of.clients.first + below(random, span);
  const federated::task_id id{random() % 4 == 0 ? wide(random) : of.run, wide(random) >> (random() % 64), client,
                              below(random, 3) + 1000};
  if (random() % 4 == 0) {
    const auto frame = wire::encoder::encode(wire::control(protocol::task_failures{{id}}));
    return {frame->bytes().begin(), frame->bytes().end()};
  }
  auto update = tests::dense_update(id, of.shape);
  for (auto& value : update.change.values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const auto frame = wire::encoder(of.shape).encode(update, wire::update_format::dense);
  if (!frame) throw std::runtime_error(frame.error().text());
  return {frame->bytes().begin(), frame->bytes().end()};
}

const std::vector<attack>& attacks() {
  static const std::vector<attack> all{
      {"random-bytes", false, 16, random_bytes},
      {"wrong-protocol", false, 3, wrong_protocol},
      {"damaged-client-hello", false, 7, damaged_client_hello},
      {"damaged-second-flight", false, 2, damaged_second_flight},
      {"no-certificate", false, 1, wrong_certificate<nobody>},
      {"expired", false, 1, wrong_certificate<expired>},
      {"wrong-authority", false, 1, wrong_certificate<foreign>},
      {"denied", false, 1, wrong_certificate<denied>},
      {"not-a-node", false, 1, wrong_certificate<nameless>},
      {"random-frames", false, 4, random_frames},
      {"giant-lengths", false, 3, giant_lengths},
      {"random-records", false, 2, random_records},
      {"clients-of-others", false, 2, clients_of_others},
      {"damaged-frames", false, 12, damaged_frames},
      {"unknown-tasks", false, 44, unknown_tasks},
      {"random-bytes", true, 50, random_bytes},
      {"wrong-protocol", true, 15, wrong_protocol},
      {"damaged-client-hello", true, 15, damaged_client_hello},
      {"damaged-second-flight", true, 5, damaged_second_flight},
      {"no-certificate", true, 5, wrong_certificate<nobody>},
      {"expired", true, 3, wrong_certificate<expired>},
      {"wrong-authority", true, 3, wrong_certificate<foreign>},
      {"certificate-of-a-node", true, 4, wrong_certificate<of_node>},
  };
  return all;
}

}  // namespace furlong::campaigns
