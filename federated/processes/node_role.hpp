// The node of a federation: hosts clients, has its workers train and score them, keeps their private values, and
// reports to a gateway. node_machine says what it does; this is how, in real and in simulated processes.
//
//   connect, say hello, open the run that the server welcomes it to                   <- on_opened, on_message
//     -> prepare                                                                      <- on_prepared
//   hand out work                                              next(), by the host    <- on_done
//   end a wave: make private values durable, record them, report the updates
//   store, discard and cover private values as the server's verdicts come
// While a run is being opened messages wait, and so do results. A node that is told to end first ends its wave.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "federated/client/confirmed_lists.hpp"
#include "federated/processes/backoff.hpp"
#include "federated/processes/masked_reports.hpp"
#include "federated/processes/node_work.hpp"
#include "federated/processes/repeated_failure.hpp"
#include "federated/protocol/node_machine.hpp"

namespace furlong::federated::processes {

/// A run as a node has opened it. Workers hold it while they work: it keeps the store open.
struct node_run {
  std::shared_ptr<const experiment> e;
  std::shared_ptr<private_store> store;
  work_policy work;
  store_claim claim = {};  ///< of the store
  /// Records durably that updates up to this version, minus 1, are reported. Empty: not recorded.
  std::function<result<void>(std::uint64_t served)> note_served = {};
  std::vector<protocol::client_sizes> sizes = {};  ///< of its clients
  privacy::key_identity_ptr identity = nullptr;    ///< signs keys of secure aggregation; null: without TLS
  confirmed_sums confirmed = {};                   ///< under secure aggregation
};
using node_run_ptr = std::shared_ptr<const node_run>;

/// Why a node ended.
struct node_end {
  std::string why;
  std::optional<error> failure;
  bool is_told = false;  ///< the gateway said so, or it was drained
};

/// What a node asks of its process, beside sessions.
class node_surroundings : public surroundings {
 public:
  /// Opens the run of a welcome; the store of the one before is closed by now unless a worker still holds it. Then
  /// calls on_prepared().
  virtual void prepare(const protocol::welcome& content) = 0;
  /// An update that was masked, to be sent. An error fails its task.
  [[nodiscard]] virtual result<outgoing_update_ptr> encode(const node_run& run, client_update&& update) = 0;
  /// The gateway violates the protocol: the node leaves it.
  virtual void violated(const std::string& why) = 0;
  /// The server's verdicts, before they have an effect.
  virtual void heard(const protocol::verdicts& content) = 0;
  /// The private values of a task, as trained at that time, are in the store and durable.
  virtual void stored(const task_id& task, virtual_time trained_at) = 0;
  /// The node has ended: nothing is asked of it any more.
  virtual void ended(const node_end& end) = 0;
};

struct node_settings {
  std::string server;  ///< "host:port"
  std::string software;
  client_range clients;
  std::uint64_t instance = 0;  ///< unique random id of the process
  store_claim claim = {};      ///< of its store, before a run is known
  virtual_time give_up = 0;    ///< it ends after this time without a session; 0: never
};

/// The scores of clients. `is_last`: its worker is free again.
struct scored_clients {
  session_number session = 0;  ///< that asked for them
  protocol::evaluation_scores scores;
  bool is_last = true;
};

/// After each call the host takes what there is to do by next(), until it says false.
class node_role {
 public:
  node_role(node_surroundings& host, node_settings settings, backoff pause);

  void start();
  void on_opened(session_number session);
  /// @param bytes of the message as it came
  void on_message(session_number session, protocol::control&& message, std::size_t bytes);
  void on_model(session_number session, broadcast_ptr model);
  /// What came over the session cannot be read.
  void on_unreadable(session_number session, const std::string& why);
  void on_closed(session_number session, const session_end& end);
  void on_wake();
  /// Ends when the tasks under way are done; at once if it was called before.
  void on_stop();
  void on_prepared(result<node_run_ptr> prepared);
  [[nodiscard]] bool next(work_item& item);
  void on_done(trained_task&& done);
  void on_done(scored_clients&& done);
  /// Ends at once, by a failure of its host.
  void fail(const std::string& why, const error& failure) { finish({why, failure}); }

  /// Simulated clients lose the private values that wait for a verdict in memory.
  void lose_values(const std::function<bool(std::uint32_t client)>& is_lost);

  [[nodiscard]] const protocol::node_machine& machine() const { return machine_; }
  /// Null: none is open.
  [[nodiscard]] const node_run_ptr& run() const { return run_; }
  [[nodiscard]] bool is_over() const { return over_; }
  /// Tasks whose updates it holds.
  [[nodiscard]] std::vector<task_id> holding() const;
  [[nodiscard]] bool holds(const task_id& task) const { return held_.contains(task); }

 private:
  /// An update without a verdict for good.
  struct held_update {
    outgoing_update_ptr update;                           ///< none: it is to be masked, or its process has ended
    std::shared_ptr<const models::packed_private> value;  ///< waits for an acknowledgement; may be null
    virtual_time trained_at = 0;
    bool kept = false;  ///< the value is in the open store
  };
  struct unread_message {
    protocol::control content;
    std::size_t bytes = 0;
  };

  [[nodiscard]] bool is_current(session_number session) const { return !over_ && is_open_ && session == session_; }
  void receive(protocol::control&& message);
  void receive(const protocol::welcome& content);
  void receive(const protocol::assignment& given);
  void receive(const protocol::letters& received);
  void receive(protocol::evaluation_request&& asked);
  void keep_unread(protocol::control&& message, std::size_t bytes);
  void leave_gateway(const std::string& why);
  void lose_session();
  void end_session();
  void check_waits();

  void perform(protocol::node_effects effects);
  void perform_one(protocol::connect&& effect);
  void perform_one(protocol::say_hello&& effect);
  void perform_one(protocol::open_run&& effect);
  void perform_one(const protocol::say_ready& effect);
  void perform_one(training_job&& job) { work_.add(std::move(job)); }
  void perform_one(const protocol::send_update& effect);
  void perform_one(const protocol::send_failure& effect);
  void perform_one(const protocol::keep& effect);
  void perform_one(const protocol::release& effect);
  void perform_one(const protocol::cover& effect);
  void perform_one(const protocol::send_close_notice& effect);
  void perform_one(const protocol::close_session& effect);
  void perform_one(const protocol::stop_node& effect);
  void send(protocol::control message);

  void prepare(const protocol::welcome& content);
  [[nodiscard]] result<std::vector<task_id>> restore_pending();
  /// Does the work that the last event allows.
  void advance();
  void end_wave(std::vector<trained_task> wave);
  [[nodiscard]] bool store_results(const std::vector<trained_task>& wave);
  [[nodiscard]] bool record(const std::vector<trained_task>& wave);
  void report(std::vector<trained_task>&& wave);
  void store_values(const task_id& task, held_update& held, std::uint64_t version);
  void discard_values(const task_id& task);
  void sync_values();
  [[nodiscard]] bool save(std::uint64_t served);
  /// False: it is not to be sent now.
  [[nodiscard]] bool mask(const task_id& task, held_update& held);
  void finish(node_end end, bool part_failed = false);

  node_surroundings& host_;
  node_settings settings_;
  backoff pause_;
  protocol::node_machine machine_;
  std::deque<protocol::node_effect> effects_;
  bool performing_ = false;

  session_number session_ = 0;  ///< the newest
  bool is_open_ = false;
  bool lost_ = false;                   ///< the last session ended, or could not be opened: the next one waits
  bool welcomed_ = false;               ///< in this session
  std::optional<std::string> to_open_;  ///< address to connect to, at `open_at_`
  virtual_time open_at_ = 0;
  virtual_time without_session_since_ = 0;
  std::string last_failure_ = "no answer";   ///< why the last session ended or failed to open
  repeated_failure violation_;               ///< of the protocol, by the gateway
  std::optional<virtual_time> close_until_;  ///< the node has taken leave; its session ends by then

  node_run_ptr run_;
  std::uint64_t covered_ = 0;  ///< checkpoint of the run that is being opened
  std::size_t opening_ = 0;    ///< runs that are to be opened
  std::deque<unread_message> unread_;

  node_work work_;
  bool unsynced_ = false;  ///< changes of the store by this role are not durable yet
  std::map<task_id, held_update> held_;
  std::map<task_id, drop_stage> dropped_;                 ///< of failures that are being reported
  std::vector<std::pair<task_id, virtual_time>> stored_;  ///< since the last sync
  std::optional<masked_reports> masked_;                  ///< under secure aggregation
  plain_updates plain_;                                   ///< while the next life of the run is being opened
  std::optional<node_end> ending_;                        ///< no more work is started
  bool over_ = false;
};

}  // namespace furlong::federated::processes
