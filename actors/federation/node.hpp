// The node actor: hosts clients, trains them on its workers, and reports to a gateway.
#pragma once

#include <deque>
#include <functional>
#include <set>

#include "actors/federation/interfaces.hpp"
#include "actors/federation/repeated_failure.hpp"
#include "federated/processes/backoff.hpp"
#include "actors/unscored_warnings.hpp"
#include "federated/client/secure_tasks.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

/// A node's view of a run: its clients' data, its own store. Workers hold it while they run.
struct node_run {
  federated::experiment e;
  std::shared_ptr<federated::private_store> store;
  wire::update_format format = wire::update_format::dense;
  wire::packing packing;
  protocol::store_claim claim = {};  ///< of the store
  /// Records durably that updates up to this version, minus 1, are reported. Empty: not recorded.
  std::function<result<void>(std::uint64_t served)> note_served = {};
  std::vector<protocol::client_sizes> sizes = {};           ///< of its clients
  federated::privacy::key_identity_ptr identity = nullptr;  ///< signs keys of secure aggregation; null: without TLS
  federated::confirmed_sums confirmed = {};                 ///< under secure aggregation
  std::shared_ptr<unscored_warnings> unscored = std::make_shared<unscored_warnings>();
};
using node_run_ptr = std::shared_ptr<const node_run>;

/// Functions of the process for the node. Called on the node's thread.
struct node_hooks {
  /// Starts opening a channel to "host:port"; its events go to the actor as session_opened, session_frame and
  /// session_closed with that number, and a failure as session_closed.
  std::function<void(const session_events& to, const std::string& address, protocol::session_number attempt)> open = {};
  /// Prepares a run, after the previous one was released. An error ends the node.
  std::function<result<node_run_ptr>(const protocol::welcome&)> prepare = {};
  /// The node has ended: the run is over, it was drained, or an error.
  std::function<void(const std::string& why, const std::optional<error>& failure)> on_over = {};
  const std::atomic<bool>* stop = nullptr;
  protocol::store_claim claim = {};     ///< of its store, before a run is known
  federated::virtual_time give_up = 0;  ///< the node ends after this time without a session; 0: never
};

/// Private values of a finished task (commit = "after-ack").
struct held_values {
  std::shared_ptr<const models::packed_private> value;
  bool kept = false;  ///< in the open store
};

/// An update that is to be masked.
struct plain_update {
  federated::client_update update;
  federated::broadcast_ptr from;
};

/// Changes the store between waves, or earlier if `may_run` says that the workers at work do not prevent it.
struct store_action {
  std::function<bool()> may_run;
  std::function<void()> run;
};

/// Why a node ends.
struct node_end {
  std::string why;
  std::optional<error> failure;
};

struct node_state {
  node_hooks hooks;
  std::optional<protocol::node_machine> machine;
  std::optional<federated::processes::backoff> pause;
  std::string server;  ///< the server's "host:port"
  protocol::session_number attempt = 0;
  net::channel_ptr channel;
  std::optional<std::string> to_open;  ///< next address to connect to, at `open_at`
  federated::virtual_time open_at = 0;
  bool welcomed = false;                              ///< in this session
  federated::virtual_time without_session_since = 0;  ///< start of the time without a session
  std::string last_failure = "no answer";             ///< why the last session ended or failed to open
  repeated_failure violation;                         ///< of the protocol, by the gateway
  protocol::session_number left = 0;                  ///< the session that ended by one: its frames are not read

  node_run_ptr run;
  std::optional<wire::decoder> decoder;
  std::deque<std::shared_ptr<net::received>> unread;  ///< frames that arrived while the run was being opened

  // Work is done in waves: between them no worker runs, and this thread syncs the store. With commit = "after-ack"
  // workers only read it, and this thread changes and syncs it during a wave as well.
  std::vector<worker_actor> workers;
  std::vector<worker_actor> idle;
  std::deque<federated::training_job> jobs;
  std::deque<node_scoring> scorings;
  std::deque<store_action> store_actions;  ///< in order
  bool unsynced = false;                   ///< changes of the store from this thread are not durable yet
  std::size_t busy = 0;
  std::size_t working_scorers = 0;   ///< workers that score
  std::set<std::uint32_t> training;  ///< clients that workers train
  std::size_t given = 0;             ///< tasks started in this wave
  std::vector<node_training> done;
  std::map<federated::task_id, std::shared_ptr<const wire::encoded>> updates;
  std::map<federated::task_id, held_values> held;  ///< wait until their updates are in a model
  // Under secure aggregation:
  std::optional<federated::secure_tasks> secrets;
  std::map<federated::task_id, plain_update> plain;  ///< wait until they can be masked
  bool draining = false;
  std::optional<federated::virtual_time> close_until;  ///< the node has taken leave; its session ends by then
  std::optional<node_end> ending;  ///< no more work is started: the node ends when the workers are done
  bool over = false;
};

using node_pointer = node_actor::stateful_pointer<node_state>;

node_actor::behavior_type node_behavior(node_pointer self, std::string server, std::string software,
                                        protocol::client_range clients, std::size_t workers, federated::processes::backoff pause,
                                        node_hooks hooks);

// ---- the parts of the actor ----------------------------------------------------------------------------------------

/// Performs the machine's effects, then continues the work.
void perform_all(node_pointer self, protocol::node_effects effects);
/// Ends the node at once.
/// @param part_failed a part of the run failed on this node: it tells the server that it does not come back by itself
void finish(node_pointer self, const std::string& why, std::optional<error> failure = {}, bool part_failed = false);
/// The same if a message could not be encoded: the server would wait for it.
void expect(node_pointer self, const result<void>& sent);

/// Whether workers change the store: not with commit = "after-ack".
[[nodiscard]] bool workers_commit(node_pointer self);
/// Stores private values as of that version, once, as soon as no worker reads those of the client.
void store_values(node_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version);
/// Discards the pending values of a task (private_store::discard), after what store_values() does.
void discard_values(node_pointer self, const federated::task_id& task);
/// Syncs the values that this thread stored.
void sync_values(node_pointer self);
/// Ends the wave when its workers are done, runs the waiting actions, and begins the next.
void continue_work(node_pointer self);

// Secure aggregation: the keys of the node's clients, and the masks of their updates.

/// A run under secure aggregation was opened.
void begin_secrets(node_state& state);
/// Sends the public keys of clients that were given tasks, newly or again.
void send_keys(node_pointer self, const protocol::assignment& given);
/// Masks the update of a task and makes its frame, once that is possible; fails the task if it never will be.
void prepare_masked(node_pointer self, const federated::task_id& task);
void on_letters(node_pointer self, const protocol::letters& got);

/// A worker trains and scores one client after another.
worker_actor::behavior_type worker_behavior(worker_actor::pointer self, node_actor parent);

}  // namespace furlong::actors::federation
