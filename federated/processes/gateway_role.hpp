// The role of a gateway: admits nodes, sends them models and tasks, and reports to its parent, which is the server or
// the relay of the same process. What it aggregates and who gets which task is decided by its gateway_machine.
//
//   1. A node says hello. The gateway checks its clients, and asks its parent where it belongs  -> place
//   2. It is redirected, refused, or welcome                                                      <- on_placed
//   3. It is ready: its clients are reached here                                                  -> tell_parent
//   4. Tasks, updates and scores, as in gateway_machine
//   5. The parent's last close notice goes to all nodes; the gateway is over when all have closed their sessions, or
//      after a second one
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/processes/admission.hpp"
#include "federated/processes/kernel_choice.hpp"
#include "federated/processes/models_sent.hpp"
#include "federated/processes/surroundings.hpp"
#include "federated/protocol/gateway_machine.hpp"

namespace furlong::federated::processes {

/// A node that said hello, for the gateway's parent.
struct node_arrival {
  session_number session = 0;
  std::string avoid;
  client_range clients;
  store_claim claim;
  kernel_offer kernels;
};
/// Where it belongs. An empty address: here.
struct node_placement {
  session_number session = 0;
  std::string address = {};
  std::optional<std::string> other_kernels = {};  ///< why it is refused
  std::optional<std::string> other_store = {};    ///< as well
};

/// The clients that a certificate's common name allows; nullopt: it is not a node's name.
using clients_of_certificate = std::function<std::optional<client_range>(const std::string& name)>;

class gateway_surroundings : public surroundings {
 public:
  /// To the parent, in order.
  virtual void tell_parent(protocol::upward&& content) = 0;
  /// Asks the parent: on_placed() follows, unless the session ends.
  virtual void place(const node_arrival& node) = 0;
  /// Counts and logs a peer that was rejected.
  virtual void record_refusal(const peer_facts& peer, admission_refusal reason, const std::string& text) = 0;
  /// Counts an update that ended no task.
  virtual void record_unasked(rejection reason) = 0;
  /// The last event of the gateway: it has no sessions any more, and gets none.
  virtual void end() = 0;
};

struct gateway_options {
  std::uint32_t number = 0;  ///< assigned by the parent
  /// Empty: there are no certificates, and all clients are accepted.
  clients_of_certificate clients_of = {};
  /// An error: a message cannot list so many clients.
  std::function<result<void>(const client_range&)> check_hosted = {};
};

/// After end() nothing may be called but its destructor. Functions throw models::broken_part where the aggregation rule
/// does; the run has failed then.
class gateway_role {
 public:
  /// `e` and `host` must outlive it. `content`: what its nodes are told.
  gateway_role(const experiment& e, protocol::welcome content, gateway_options options, gateway_surroundings& host);

  // Sessions of nodes.
  void on_opened(session_number number, peer_facts peer);
  void on_message(session_number number, protocol::control&& message);
  /// `bytes`: the size of its frame.
  void on_update(session_number number, const client_update& update, std::optional<std::uint64_t> bytes = std::nullopt);
  /// From a simulated node.
  void on_dropped(session_number number, const task_id& task, drop_stage stage);
  /// A message that no node sends, and one that cannot be decoded: they end the session.
  void on_unexpected(session_number number);
  void on_undecodable(session_number number, const error& reason);
  void on_closed(session_number number, const session_end& end);
  void on_wake();
  /// Ends the sessions of nodes that were denied after their admission.
  void refuse_denied(const std::function<bool(const peer_facts&)>& is_denied, const std::string& reason);

  // The parent.
  void on_placed(const node_placement& place);
  void on_downward(const protocol::downward& content);
  /// All nodes are to connect again.
  void end_sessions(const std::string& reason);

 private:
  struct session {
    peer_facts peer;
    bool greeted = false;
    bool welcomed = false;      ///< sent its hello, and was not redirected
    bool open = false;          ///< is ready: its clients are reachable here
    std::uint64_t covered = 0;  ///< checkpoint in its welcome
    protocol::hello hello = {};
    models_sent models = {};
  };
  using effects = protocol::gateway_effects;

  void drop(session_number number, effects& out, const std::string& failure = {});
  void refuse(session_number number, admission_refusal reason, const std::string& text, effects& out,
              bool for_good = false, const std::string& remedy = {});
  void refuse_out_of_turn(session_number number, effects& out);
  void refuse_undecodable(session_number number, const error& reason, effects& out);
  void admit(session_number number, session& node);
  void end_unready(session_number number, effects& out);
  [[nodiscard]] bool check_clients(session_number number, const protocol::hello& hello, effects& out);
  void greet(session_number number, protocol::hello&& hello, effects& out);
  void attach(session_number number, const protocol::ready& message, effects& out);
  void take(session_number number, protocol::control& message, effects& out);

  void obey(const protocol::assign& content, effects& out);
  void obey(const protocol::close_request& content, effects& out);
  void obey(const protocol::withdrawal& content, effects& out);
  void obey(const protocol::verdicts& content, effects& out);
  void obey(const protocol::checkpointed& content, effects& out);
  void obey(const protocol::evaluation_down& content, effects& out);
  void obey(const protocol::letters& content, effects& out);
  void obey(const protocol::displaced& content, effects& out);
  void obey(const protocol::close_notice& content, effects& out);

  void perform(protocol::tell_node& effect);
  void perform(protocol::end_session& effect);
  void perform(protocol::tell_parent& effect);
  void perform(protocol::wake& effect);
  /// Performs the effects, and ends when no session is left to wait for.
  void finish(effects& out);

  const experiment& e_;
  protocol::welcome welcome_;
  gateway_options options_;
  gateway_surroundings& host_;
  protocol::gateway_machine machine_;
  std::map<session_number, session> sessions_;
  bool leaving_ = false;  ///< the run is over: ends after its nodes have closed their sessions
  bool over_ = false;
};

}  // namespace furlong::federated::processes
