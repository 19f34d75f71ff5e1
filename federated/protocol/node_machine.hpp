// The node as a state machine: hosts clients, trains for the server that welcomes it, and keeps every update until the
// server's verdict.
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
// When the session ends, training continues; results wait for the next session, in which the server assigns the tasks
// that it still wants again. The node reconnects at the server's gateway without limit until it is drained: then it
// sends a close notice, and the gateway ends the session.
//
// Where clients keep exactly what the server aggregates (algorithm_traits::exact_state), private values that wait for
// the verdict are stored as pending before 6. A node's next process finds them when it opens the run (3): they are
// tasks that it holds, without updates. It starts the session again to list them, and hears the verdicts. If the server
// has not got the update it assigns the task again, which is trained again, with the same result.
//
// A server that was resumed from an earlier checkpoint is in a new life: updates of the previous life that are not in
// it are forgotten, since their private values are invalid. A server that does not know that life runs on a copy of the
// folder: then all updates are forgotten.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <variant>

#include "base/result.hpp"
#include "federated/client/training_job.hpp"
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
/// Open this run: model, data, store. Then call on_run_opened().
struct open_run {
  welcome content;
};
/// Tell the gateway that the clients are connected.
struct say_ready {
  std::uint64_t run = 0;
};
/// Send this task's update, which is kept.
struct send_update {
  task_id task;
};
/// Report to the gateway that a client failed.
struct send_failure {
  task_id task;
};
/// The update of this task is in the model of the version after `version`: keep the private values that wait for it, as
/// committed at that version. May be repeated.
struct keep {
  task_id task;
  std::uint64_t version = 0;
};
/// Forget this task's update. Private values that still wait for it are kept if it is in the model, else forgotten.
struct release {
  task_id task;
  bool in_model = false;
};
/// The checkpoint of this version is durable: tell the store.
struct cover {
  std::uint64_t version = 0;
};
/// Send a close notice. The gateway ends the session when it has read everything that was sent before: then call
/// on_disconnected(); call it at once without a session.
struct send_close_notice {
  std::string why;
};
/// Close the session.
struct close_session {};
/// Stop the node. `unwanted`: the run continues without this node; `refused`: it was never admitted.
struct stop_node {
  std::string why;
  bool unwanted = false;
  bool refused = false;
  std::string remedy = {};  ///< as the gateway said; may be empty
  bool failed = false;      ///< the run has
};
/// A training_job: do it and call on_trained() or on_failed(). Jobs of one client come one after the other. With commit
/// = "after-training" the private values are kept before on_trained(), if counts() says so.
using node_effect = std::variant<connect, say_hello, open_run, say_ready, training_job, send_update, send_failure, keep,
                                 release, cover, send_close_notice, close_session, stop_node>;
using node_effects = std::vector<node_effect>;

class node_machine {
 public:
  /// @param home the server's gateway, "host:port"
  /// @param instance unique random id, or 0
  node_machine(std::string home, std::string software, client_range clients, std::uint64_t instance = 0);

  [[nodiscard]] node_effects start();
  [[nodiscard]] node_effects on_connected();
  /// The session ended, or could not be opened.
  [[nodiscard]] node_effects on_disconnected();
  [[nodiscard]] node_effects on_redirect(const redirect& to);
  [[nodiscard]] node_effects on_welcome(const welcome& got);
  /// @param pending tasks of this node whose private values the store has as pending: none without exact_state
  [[nodiscard]] node_effects on_run_opened(const std::vector<task_id>& pending = {});
  /// The model of a version, for the next assignments. Kept while tasks need it.
  void on_broadcast(broadcast_ptr from);
  /// The model of a version if it is one of the latest of this session; else null.
  [[nodiscard]] broadcast_ptr model(std::uint64_t version) const;
  /// Tasks of another run, of other clients or of an unknown model are an error: the gateway is faulty.
  [[nodiscard]] result<node_effects> on_assignment(const assignment& given);
  [[nodiscard]] node_effects on_trained(const task_id& task);
  [[nodiscard]] node_effects on_failed(const task_id& task);
  /// Under secure aggregation: the update of this task, trained or not, can never be masked.
  [[nodiscard]] node_effects on_unmaskable(const task_id& task);
  [[nodiscard]] node_effects on_verdicts(const verdicts& content);
  [[nodiscard]] node_effects on_checkpointed(std::uint64_t version);
  /// The gateway sent a close notice.
  [[nodiscard]] node_effects on_close_notice(const close_notice& said);
  /// Accept no more tasks, report those in progress, send a close notice when none is left, and stop when the session
  /// has ended or after another call.
  [[nodiscard]] node_effects drain();

  [[nodiscard]] const client_range& clients() const { return clients_; }
  /// Its store's claim. Set it before start(), and after opening a run before on_run_opened().
  [[nodiscard]] const store_claim& claim() const { return claim_; }
  void set_claim(const store_claim& of) { claim_ = of; }
  /// Updates of versions below `served` may be reported now: their values are in the store.
  void on_served(std::uint64_t served) { claim_.served = std::max(claim_.served, served); }
  /// True if the result of this task is still wanted. If not, its private values must not be kept: its life of the run
  /// may be over. Check when the training is done, before keeping them.
  [[nodiscard]] bool counts(const task_id& task) const;
  /// True if the task is assigned in this session.
  [[nodiscard]] bool wants(const task_id& task) const;
  /// Number of tasks in progress or waiting.
  [[nodiscard]] std::size_t at_work() const;
  /// Number of kept updates.
  [[nodiscard]] std::size_t holding() const { return tasks_.size(); }

 private:
  enum class stage : std::uint8_t { queued, training, done };
  struct held_task {
    stage at = stage::queued;
    bool wanted = false;    ///< assigned in this session
    broadcast_ptr from;     ///< until it is trained
    bool restored = false;  ///< only its pending private values are left
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
  store_claim claim_;
  std::optional<welcome> run_;
  bool connected_ = false;
  bool welcomed_ = false;
  std::size_t opening_ = 0;  ///< awaited calls of on_run_opened(): no training begins before the last
  bool draining_ = false;
  bool leaving_ = false;  ///< a close notice was sent
  bool stopped_ = false;
  std::map<task_id, held_task> tasks_;
  std::set<std::uint32_t> busy_;      ///< clients that train
  std::deque<broadcast_ptr> models_;  ///< of this session, in order of arrival
};

}  // namespace furlong::federated::protocol
