// The node actor: hosts clients, trains them on its workers, and reports to a gateway.
#pragma once

#include <deque>
#include <functional>
#include <set>

#include "actors/federation/interfaces.hpp"
#include "actors/net/backoff.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

/// A run as a node sees it: its clients' data, its own store. Workers hold it while they work.
struct node_run {
  federated::experiment e;
  std::shared_ptr<federated::private_store> store;
  wire::update_format format = wire::update_format::dense;
  wire::packing packing;
  protocol::store_claim claim = {};  ///< of the store
  /// Notes durably that updates up to this version, less 1, are reported. Empty: that is not to be noted.
  std::function<result<void>(std::uint64_t served)> note_served = {};
  std::vector<protocol::client_sizes> sizes = {};  ///< of its clients
};
using node_run_ptr = std::shared_ptr<const node_run>;

/// What the node needs of its process. Called on the node's thread.
struct node_hooks {
  /// Begins to open a channel to "host:port"; its events go to the actor as session_opened, session_frame and
  /// session_closed with that number, and a failure as session_closed.
  std::function<void(const session_events& to, const std::string& address, protocol::session_number attempt)> open = {};
  /// Makes ready for a run, after the one before was given up. An error ends the node.
  std::function<result<node_run_ptr>(const protocol::welcome&)> prepare = {};
  /// The node has ended: the run is over, it was drained, or what failed.
  std::function<void(const std::string& why, const std::optional<error>& failure)> on_over = {};
  const std::atomic<bool>* stop = nullptr;
  protocol::store_claim claim = {};     ///< of its store, before a run is known
  federated::virtual_time give_up = 0;  ///< the node ends when it had no session for so long; 0: never
};

/// Private values of a task that is done (commit = "after-ack").
struct held_values {
  std::shared_ptr<const models::private_parameters> value;
  bool kept = false;  ///< in the store that is open
};

/// Why a node ends.
struct node_end {
  std::string why;
  std::optional<error> failure;
};

struct node_state {
  node_hooks hooks;
  std::optional<protocol::node_machine> machine;
  std::optional<net::backoff> pause;
  std::string home;  ///< the server's "host:port"
  protocol::session_number attempt = 0;
  net::channel_ptr channel;
  std::optional<std::string> to_open;  ///< address, at `open_at`
  federated::virtual_time open_at = 0;
  bool welcomed = false;                    ///< in this session
  federated::virtual_time alone_since = 0;  ///< while it is not
  std::string trouble = "nobody answered";  ///< why the last session ended, or could not begin

  node_run_ptr run;
  std::optional<wire::decoder> decoder;
  std::deque<std::shared_ptr<net::received>> unread;  ///< frames that came while the run was being opened

  // Work is done in waves: the store is made durable, and changed from here, while no worker is at it.
  std::vector<worker_actor> workers;
  std::vector<worker_actor> idle;
  std::deque<protocol::train> tasks;
  std::deque<node_scoring> scorings;
  std::deque<std::function<void()>> between;  ///< what waits for the end of the wave
  bool unsynced = false;                      ///< the store was changed from here, and that is not durable yet
  std::size_t busy = 0;
  std::size_t given = 0;  ///< tasks of this wave
  std::vector<node_done> done;
  std::map<federated::task_id, std::shared_ptr<const wire::encoded>> updates;
  std::map<federated::task_id, held_values> held;  ///< wait until their update is in a model
  bool draining = false;
  std::optional<federated::virtual_time> leave_until;  ///< leave was taken, and the session goes on
  std::optional<node_end> ending;  ///< nothing is handed out any more: it ends when the workers are done
  bool over = false;
};

node_actor::behavior_type node_behavior(node_actor::stateful_pointer<node_state> self, std::string home,
                                        std::string software, protocol::client_range clients, std::size_t workers,
                                        net::backoff pause, node_hooks hooks);

}  // namespace furlong::actors::federation
