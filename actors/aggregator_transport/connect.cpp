#include "actors/aggregator_transport/connect.hpp"

#include <algorithm>
#include <caf/io/all.hpp>
#include <exception>
#include <memory>
#include <set>
#include <stdexcept>
#include <utility>

#include "actors/aggregator_transport/configure.hpp"
#include "actors/aggregator_transport/link.hpp"
#include "actors/aggregator_transport/sockets.hpp"
#include "actors/aggregator_transport/tls_guard.hpp"
#include "actors/net/address.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

using clock = std::chrono::steady_clock;
using again_atom = caf::atom_constant<caf::atom("again")>;
using probe_atom = caf::atom_constant<caf::atom("probe")>;

/// Pause between a failed connection and the next.
constexpr std::chrono::milliseconds pause{100};

/// Connects a link, then ends.
struct connector_state {
  operator_target target;
  clock::time_point begin, deadline;
  std::string address;  ///< numeric; the one that answered
  std::function<void(const error&)> on_failed;
  link_actor link;
  net::peer peer;             ///< of the connection
  acceptor_actor acceptor;    ///< from which a link was requested
  std::string setback;        ///< why the last attempt failed
  std::uint64_t attempt = 0;  ///< answers to earlier ones are ignored

  [[nodiscard]] std::chrono::milliseconds left() const {
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(deadline - clock::now());
    return std::max(rest, std::chrono::milliseconds{1});
  }
};
using connector = caf::stateful_actor<connector_state>;

void failed(connector* self, error why) {
  auto& state = self->state;
  caf::anon_send_exit(state.link, caf::exit_reason::user_shutdown);
  self->quit();
  if (const auto tell = std::exchange(state.on_failed, nullptr)) tell(why);
}

void failed(connector* self, std::string reason, std::string fix = {}) {
  const auto& target = self->state.target;
  failed(self, error{error::kind::runtime, net::host_port{target.host, target.port}.text(), std::move(reason),
                     std::move(fix)});
}

void failed_late(connector* self) {
  const auto& state = self->state;
  cut_attempts();
  if (!state.setback.empty())
    return failed(self, state.setback,
                  "check that both sides use TLS, with valid certificates of one operator authority");
  failed(self, "no answer within " + std::to_string(state.target.within.count()) + " ms",
         "check that an operator port is open there, and that both sides use TLS");
}

/// Tries again after a pause, until the deadline.
void again(connector* self) { self->delayed_send(self, pause, again_atom::value, self->state.attempt); }

/// CAF's network actor of this process has ended, because it could not load the certificates for lack of memory or open
/// files. It cannot be restarted: the process ends by std::terminate().
[[noreturn]] void end_without_network() noexcept {
  std::rethrow_exception(std::make_exception_ptr(
      std::runtime_error("the operator network of this process failed; see the messages before, and the limits on "
                         "memory (ulimit -v) and open files (ulimit -n)")));
}

/// CAF takes a new connection for a silent one if a heartbeat falls into its handshake: a failure without a reason from
/// OpenSSL is worth a retry.
void failed_in_handshake(connector* self, const caf::error& why) {
  auto& state = self->state;
  if (why == caf::sec::request_receiver_down) end_without_network();
  if (why == caf::sec::request_timeout) return failed_late(self);
  if (why == caf::sec::incompatible_application_ids) return failed(self, "it is the port of another program");
  const auto reason = handshake_failure(state.address, state.begin);
  if (reason.empty() && why == caf::sec::cannot_connect_to_node) return failed(self, "it does not listen any more");
  state.setback = "the connection ended in the handshake: " + (reason.empty() ? self->system().render(why) : reason);
  if (reason.empty())
    again(self);
  else
    failed_late(self);
}

void on_answer(connector* self, const link_opened& answer) {
  if (!answer.refusal.empty() || !answer.link) return failed(self, "no link was opened: " + answer.refusal);
  self->send(self->state.link, answer, self->state.peer.name, self->state.peer.address);
  self->state.on_failed = nullptr;
  self->quit();
}

/// CAF may return an earlier connection that is closing: then the acceptor is down at once, and a retry follows.
void on_acceptor(connector* self, const caf::strong_actor_ptr& published, const std::set<std::string>& messages) {
  auto& state = self->state;
  const auto wanted = self->system().message_types<acceptor_actor>();
  if (!published || !std::includes(messages.begin(), messages.end(), wanted.begin(), wanted.end()))
    return failed(self, "it is not an operator port");
  state.acceptor = caf::actor_cast<acceptor_actor>(published);
  self->monitor(state.acceptor);
  const auto attempt = state.attempt;
  self->request(state.acceptor, state.left(), link_open{link_protocol, state.link})
      .then(
          [self, attempt](const link_opened& answer) {
            if (attempt == self->state.attempt) on_answer(self, answer);
          },
          [self, attempt](const caf::error& why) {
            if (attempt != self->state.attempt) return;
            if (why == caf::sec::request_timeout) return failed_late(self);
            failed(self, "no link was opened: " + self->system().render(why));
          });
}

void on_connection(connector* self, const caf::node_id& node, const caf::strong_actor_ptr& published,
                   const std::set<std::string>& messages) {
  const auto go_on = [=](net::peer peer) {
    self->state.peer = std::move(peer);
    on_acceptor(self, published, messages);
  };
  self->request(self->system().middleman().actor_handle(), self->state.left(), caf::get_atom::value, node)
      .then(
          [=](const caf::node_id&, const std::string& host, std::uint16_t port) {
            const auto address = net::host_port{host, port}.text();
            go_on({certified_name(address), address});
          },
          // The connection is lost again: the acceptor's monitor reports it.
          [=](const caf::error&) { go_on({}); });
}

void ask(connector* self) {
  auto& state = self->state;
  ++state.attempt;
  state.acceptor = acceptor_actor{};
  self->request(network_manager(self->system()), state.left(), caf::connect_atom::value, state.target.host,
                state.target.port)
      .then([self](const caf::node_id& node, const caf::strong_actor_ptr& published,
                   const std::set<std::string>& messages) { on_connection(self, node, published, messages); },
            [self](const caf::error& why) { failed_in_handshake(self, why); });
}

/// Checks for a listener, on its own thread, because this blocks.
caf::behavior prober_behavior(caf::event_based_actor* self, const std::shared_ptr<result<std::string>>& outcome,
                              const operator_target& target, clock::time_point deadline) {
  return {[=](probe_atom) {
    *outcome = probe(target.host, target.port, deadline);
    self->quit();
  }};
}

caf::behavior connector_behavior(connector* self, const operator_target& target, link_actor link,
                                 const std::function<void(const error&)>& on_failed) {
  auto& state = self->state;
  state.target = target;
  state.begin = clock::now();
  state.deadline = state.begin + target.within;
  state.on_failed = on_failed;
  state.link = std::move(link);
  self->set_down_handler([self](const caf::down_msg& down) {
    if (down.source == self->state.acceptor) again(self);
  });
  // Shared instead of sent: written before the answer is sent, read after it arrived.
  auto outcome = std::make_shared<result<std::string>>();
  self->request(self->spawn<caf::detached>(prober_behavior, outcome, target, state.deadline), state.left(),
                probe_atom::value)
      .then(
          [self, outcome] {
            if (!*outcome) return failed(self, outcome->error());
            self->state.address = **outcome;
            ask(self);
          },
          [self](const caf::error&) { failed_late(self); });
  return {[self](again_atom, std::uint64_t attempt) {
    if (attempt != self->state.attempt) return;
    if (clock::now() >= self->state.deadline) return failed_late(self);
    ask(self);
  }};
}

}  // namespace

void operator_connect(caf::actor_system& system, const operator_target& target, const link_options& options,
                      link_opened_callback on_open, std::function<void(const error& why)> on_failed) {
  auto start = std::make_shared<link_start>();
  start->options = options;
  start->other.address = net::host_port{target.host, target.port}.text();
  start->on_open = std::move(on_open);
  system.spawn(connector_behavior, target, system.spawn(link_behavior, std::move(start)), std::move(on_failed));
}

}  // namespace furlong::actors::aggregator_transport
