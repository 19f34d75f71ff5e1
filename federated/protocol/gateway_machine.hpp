// The gateway as a state machine: an aggregator whose clients are on nodes that connect and disconnect.
//
//   1. A node says hello: its clients can be reached                                       -> to_parent (attached)
//   2. The parent assigns tasks; each goes to the node of its client                       -> to_node (assignment)
//   3. The node reports; the aggregator machine inside validates, folds, and tells         -> to_parent (settled)
//   4. The parent closes the share                                                         -> to_parent (partial)
//   5. The parent's verdicts go to the nodes                                               -> to_node (verdicts)
//   6. So do its requests for scores; answers go up, and whose node is lost or not here    -> to_parent (scores)
// Tasks of clients that are not connected here go back to the parent at once: tasks of a lost node, and tasks that
// arrive after its loss.                                                            -> to_parent (detached, withdrawn)
// A connected node that does not report is waited for no longer than `network.task_timeout`. A node reports only for
// its own clients, and the end of a session leaves no state.
#pragma once

#include <map>
#include <set>
#include <unordered_map>

#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/awaited_scores.hpp"
#include "federated/protocol/branch_messages.hpp"

namespace furlong::federated::protocol {

/// Send to a node: tasks or clients to score, after their model, or verdicts.
struct tell_node {
  session_number session = 0;
  std::variant<assign, evaluation_down, verdicts, letters> content;
};
/// End a session: another session of the same clients began.
struct end_session {
  session_number session = 0;
  std::string why;
};
/// Call on_timer() at that time.
struct wake {
  virtual_time at = 0;
};
using gateway_effect = std::variant<tell_node, end_session, tell_parent, wake>;
using gateway_effects = std::vector<gateway_effect>;

class gateway_machine {
 public:
  /// `e` must outlive the machine. `number`: of the aggregator that it is, as the parent knows it.
  gateway_machine(const experiment& e, std::uint32_t number);

  // From nodes. A session that is not open is ignored.
  /// `sizes`: what the node declares of its clients, one for each; none: nothing is known of them.
  void on_hello(session_number session, const hello& from, virtual_time now, gateway_effects& out,
                std::vector<client_sizes> sizes = {});
  /// `bytes`: the size of its frame.
  void on_update(session_number session, const client_update& update, virtual_time now, gateway_effects& out,
                 std::optional<std::uint64_t> bytes = std::nullopt);
  void on_failures(session_number session, const task_failures& failed, virtual_time now, gateway_effects& out);
  /// The client of this task dropped out: reported by simulated clients only.
  void on_dropped(session_number session, const task_id& task, drop_stage stage, virtual_time now,
                  gateway_effects& out);
  /// An error (kind data): the scores are invalid; nothing was changed. Scores that are not awaited are no error: their
  /// evaluation may have ended, or continued without this node.
  [[nodiscard]] result<void> on_scores(session_number session, evaluation_scores what, gateway_effects& out);
  /// Letters of secure aggregation; those of other nodes' clients are ignored.
  void on_letters(session_number session, letters what, gateway_effects& out);
  /// Its awaited scores are reported to the parent as unscored.
  /// @param failure why the node ended, if a part of the run failed on it
  void on_session_lost(session_number session, virtual_time now, gateway_effects& out, std::string failure = {});

  // From the parent.
  void on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins, virtual_time now,
                     gateway_effects& out);
  void on_close(std::uint64_t version, bool enough, virtual_time now, gateway_effects& out);
  void on_withdraw(const std::vector<task_id>& tasks, virtual_time now, gateway_effects& out);
  void on_verdicts(const verdicts& content, gateway_effects& out);
  void on_evaluation(const evaluation_down& what, gateway_effects& out);
  void on_letters(const letters& what, gateway_effects& out);

  /// When a wake is due. At other times nothing happens.
  void on_timer(virtual_time now, gateway_effects& out);

  [[nodiscard]] std::size_t sessions() const { return sessions_.size(); }
  /// Unsolicited updates, by reason: no task ended by them.
  [[nodiscard]] const std::array<std::uint64_t, rejection_count>& unasked() const { return unasked_; }

 private:
  /// A task without an outcome.
  struct open_work {
    task_id id;
    virtual_time latest = never;  ///< it is dropped then
  };

  /// A node's clients.
  struct hosted {
    client_range clients;
    std::vector<client_sizes> sizes;

    [[nodiscard]] bool contains(std::uint32_t client) const { return clients.contains(client); }
    [[nodiscard]] std::optional<client_sizes> size_of(std::uint32_t client) const {
      return sizes.empty() ? std::nullopt : std::optional(sizes.at(client - clients.first));
    }
  };

  [[nodiscard]] std::optional<session_number> session_of(std::uint32_t client) const;
  [[nodiscard]] bool hosts(session_number session, std::uint32_t client) const;
  /// What the aggregator inside wants becomes what nodes and parent are told. `given` go to their nodes, or back.
  void perform_inner(virtual_time now, gateway_effects& out, const broadcast_ptr& from = nullptr,
                     const std::vector<task_id>& given = {});
  void finish(const settlement& one, std::map<session_number, verdicts>& outgoing);
  void sleep_until(virtual_time at, gateway_effects& out);

  const experiment& e_;
  virtual_time longest_;  ///< that a task may take
  aggregator_machine inner_;
  aggregator_effects effects_;  ///< of the inner machine, not yet digested
  std::map<session_number, hosted> sessions_;
  std::map<std::uint32_t, session_number> by_first_;   ///< session by the first of its clients
  std::unordered_map<std::uint32_t, open_work> open_;  ///< by client
  awaited_scores scoring_;                             ///< of the sessions
  std::set<virtual_time> wakes_;                       ///< that are due: asked for, and not come yet
  std::array<std::uint64_t, rejection_count> unasked_{};
};

}  // namespace furlong::federated::protocol
