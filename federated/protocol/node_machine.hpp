// The node as a state machine: hosts clients, works for whoever welcomes it, and keeps every update until the server
// has decided about it.
//
//   1. Connect to the server's gateway                                        -> connect         <- on_connected
//   2. Say which clients are here, and which tasks they hold                  -> say_hello       <- on_welcome,
//      or be sent to another gateway                                          -> connect         <- on_redirect
//   3. A run that is new: make ready for it                                   -> open_run        <- on_run_opened
//      and tell: until then other nodes may have these clients                -> say_ready
//   4. Tasks come, after the models that they start from                      <- on_broadcast, on_assignment
//   5. Train                                                                  -> train           <- on_trained,
//   on_failed
//   6. Report; the update stays here                                          -> send_update
//   7. The server has the update in a model: keep the private values that wait for that (commit = "after-ack"). The
//      update stays here, since the server may yet go back to a checkpoint before; then those values do not count
//      either                                                                 -> keep            <- on_verdicts
//   8. The server's verdict for good: keep or forget what waits still, and forget the update
//                                                                             -> release         <- on_verdicts
// When the session ends, work goes on; what is done waits for the next session, in which the server says by assigning
// the task again that it still wants it. A session is tried again at the server's gateway, for ever, until drained:
// then the node takes leave, and the gateway ends the session.
//
// A server that was resumed from an earlier checkpoint is in a new life: updates of the life before that are not in it
// are forgotten, since the private values that they go with are. One that does not know that life at all goes on from a
// copy of its folder: then all updates are forgotten.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "base/result.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

/// Open a session there, after a pause that grows with every failure.
struct connect {
  std::string address;
};
/// Send a hello over the new session.
struct say_hello {
  hello content;
};
/// Make ready for this run: model, data, store. Then call on_run_opened().
struct open_run {
  welcome content;
};
/// Tell the gateway that the clients can be reached.
struct say_ready {
  std::uint64_t run = 0;
};
/// Work on this task; call on_trained() or on_failed(). Tasks of one client come one after the other. With commit =
/// "after-training" the private values are kept before on_trained(), if counts() says so.
struct train {
  task_id task;
  broadcast_ptr from;
};
/// Send this task's update, which is kept.
struct send_update {
  task_id task;
};
/// Tell the gateway that a client could not do its work.
struct send_failure {
  task_id task;
};
/// The update of this task is in the model of the version after `version`: keep the private values that wait for that,
/// as committed at that version. It may come more than once.
struct keep {
  task_id task;
  std::uint64_t version = 0;
};
/// Forget this task's update. Private values that wait for it still are kept if it is in the model, and else forgotten.
struct release {
  task_id task;
  bool in_model = false;
};
/// The checkpoint of this version is durable: tell the store.
struct cover {
  std::uint64_t version = 0;
};
/// Say farewell. The gateway ends the session when it has read everything that was sent before: call on_disconnected()
/// then, or at once when there is no session.
struct take_leave {
  std::string why;
};
/// Close the session.
struct hang_up {};
/// There is nothing more to do here. `unwanted`: the run goes on without this node; `refused`: it was never let in.
struct stop_node {
  std::string why;
  bool unwanted = false;
  bool refused = false;
  std::string remedy = {};  ///< as the gateway said; may be empty
};
using node_effect = std::variant<connect, say_hello, open_run, say_ready, train, send_update, send_failure, keep,
                                 release, cover, take_leave, hang_up, stop_node>;
using node_effects = std::vector<node_effect>;

class node_machine {
 public:
  /// @param home the server's gateway, "host:port"
  /// @param instance that no other node has, or 0
  /// @param kernel_level of the kernels that its workers compute with
  node_machine(std::string home, std::string software, client_range clients, std::uint64_t instance = 0,
               std::string kernel_level = {});

  [[nodiscard]] node_effects start();
  [[nodiscard]] node_effects on_connected();
  /// The session ended, or could not be opened.
  [[nodiscard]] node_effects on_disconnected();
  [[nodiscard]] node_effects on_redirect(const redirect& to);
  [[nodiscard]] node_effects on_welcome(const welcome& got);
  [[nodiscard]] node_effects on_run_opened();
  /// The model of a version, which the next assignments may name. Kept while tasks need it.
  void on_broadcast(broadcast_ptr from);
  /// That model, if it is one of the last that came in this session; else null.
  [[nodiscard]] broadcast_ptr model(std::uint64_t version) const;
  /// Tasks that are not of this run, of these clients or of a known model are an error: the gateway is not to be
  /// believed.
  [[nodiscard]] result<node_effects> on_assignment(const assignment& given);
  [[nodiscard]] node_effects on_trained(const task_id& task);
  [[nodiscard]] node_effects on_failed(const task_id& task);
  [[nodiscard]] node_effects on_verdicts(const verdicts& content);
  [[nodiscard]] node_effects on_checkpointed(std::uint64_t version);
  /// The gateway said goodbye.
  [[nodiscard]] node_effects on_farewell(const farewell& said);
  /// Take no more tasks, report those at work, take leave when nothing is left, and stop when the session has ended or
  /// after another call.
  [[nodiscard]] node_effects drain();

  [[nodiscard]] const client_range& clients() const { return clients_; }
  /// What is told of its store. To be set at first, and when a run was opened, before on_run_opened().
  [[nodiscard]] const store_claim& claim() const { return claim_; }
  void set_claim(const store_claim& of) { claim_ = of; }
  /// Updates up to this version, less 1, may be reported now: their values are in the store.
  void on_served(std::uint64_t served) { claim_.served = std::max(claim_.served, served); }
  /// Whether what comes of the work on this task is still asked for. If not, no private values of it may be kept: the
  /// life of the run that it belongs to may be over. To be asked before they are, when the work is done.
  [[nodiscard]] bool counts(const task_id& task) const;
  /// Tasks at work or waiting to be.
  [[nodiscard]] std::size_t at_work() const;
  /// Updates that are kept.
  [[nodiscard]] std::size_t holding() const { return tasks_.size(); }

 private:
  enum class stage : std::uint8_t { queued, training, done };
  struct held_task {
    stage at = stage::queued;
    bool wanted = false;  ///< assigned in this session
    broadcast_ptr from;   ///< until it is trained
  };

  [[nodiscard]] node_effects reconnect(const std::string& address);
  void start_next(std::uint32_t client, node_effects& out);
  void forget_earlier_attempts(const task_id& id, node_effects& out);
  void drop_stale_incarnations(const welcome& got, node_effects& out);
  void leave_if_drained(node_effects& out);

  std::string server_address_;
  std::string address_;  ///< where the session is, or is tried
  std::string avoid_;    ///< gateway that failed last
  std::string software_;
  client_range clients_;
  std::uint64_t instance_;
  std::string kernel_level_;
  store_claim claim_;
  std::optional<welcome> run_;
  bool connected_ = false;
  bool welcomed_ = false;
  std::size_t opening_ = 0;  ///< calls of on_run_opened() that are awaited: no work begins before the last
  bool draining_ = false;
  bool leaving_ = false;  ///< leave was taken
  bool stopped_ = false;
  std::map<task_id, held_task> tasks_;
  std::set<std::uint32_t> busy_;      ///< clients that train
  std::deque<broadcast_ptr> models_;  ///< of this session, as they came
};

}  // namespace furlong::federated::protocol
