// The relay between an aggregator's parent and its children, as a state machine. Child 0 is its own gateway; the others
// are aggregators below it. To the parent all of this is one aggregator, so trees may have any depth.
//
//   1. Children tell which clients they reach                               <- attached, detached   -> to the parent
//   2. The parent's tasks go to where their clients are; to child 0 when they are nowhere, which gives them back
//                                                                                                   -> assign
//   3. Children's reports about tasks are noted and passed on                       <- settled      -> to the parent
//   4. The parent closes the share: so do all children that have a part of it       <- close_request -> to the children
//   5. Their partials are merged as they arrive, and go up as one              <- partial_aggregate -> to the parent
//   6. Verdicts, requests for scores and letters of secure aggregation go to where their clients are
//
// In a synchronous round a child's share begins with its first tasks. In an asynchronous run all children begin at
// once, since updates of earlier versions may arrive from any of them; a new child begins with its first tasks.
//
// When a client is reached through another child than the one that has its task, the task is withdrawn there, and the
// parent gets it back and places it again. When a child is lost, so is what it had folded and not sent: also while the
// share closes, which goes up without it                                                   -> tasks_lost, to the parent
//
// Memory is O(model) and a word per task of the current share or without an outcome.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/protocol/awaited_scores.hpp"
#include "federated/protocol/branch_messages.hpp"
#include "federated/protocol/client_routes.hpp"

namespace furlong::federated::protocol {

/// Send to a child.
struct tell_child {
  std::uint32_t child = 0;
  downward content;
};
using relay_effect = std::variant<tell_child, tell_parent>;
using relay_effects = std::vector<relay_effect>;

class relay_machine {
 public:
  /// `e` must outlive the machine. `number`: of this aggregator, as its parent knows it. `clients`: how many there are.
  relay_machine(const experiment& e, std::uint32_t number, std::size_t clients);

  /// Adds an aggregator, as place_aggregator() allowed. Returns its number as a child, never reused.
  [[nodiscard]] std::uint32_t add_child(const branch_hello& hello);
  /// Where an aggregator that connects is to attach (client_routes::place_aggregator), by topology.fan_in.
  [[nodiscard]] aggregator_place place_aggregator(const branch_hello& hello);
  /// A child is lost, with all updates that it had aggregated and not sent.
  void on_child_lost(std::uint32_t child, relay_effects& out);
  /// A message of a child. An error (kind runtime): it is invalid, nothing was changed, and the child must be dropped.
  [[nodiscard]] result<void> on_told(std::uint32_t child, upward&& what, relay_effects& out);
  /// A message of the parent.
  void on_order(const downward& what, relay_effects& out);

  [[nodiscard]] client_routes& routes() { return routes_; }
  /// Tasks without an end.
  [[nodiscard]] std::size_t open() const { return open_.size(); }

 private:
  struct open_here {
    task_id id;
    std::uint32_t child = 0;
  };
  struct child_share {
    bool begun = false;
    bool answered = false;
    std::vector<task_id> reported;  ///< folded
  };

  [[nodiscard]] bool is_async() const;
  [[nodiscard]] bool at_work(std::uint32_t child) const;
  [[nodiscard]] open_here* find(const task_id& id, std::uint32_t child);

  // Of a child:
  result<void> handle(std::uint32_t child, attached& what, relay_effects& out);
  result<void> handle(std::uint32_t child, detached& what, relay_effects& out);
  result<void> handle(std::uint32_t child, settled& what, relay_effects& out);
  result<void> handle(std::uint32_t child, partial_aggregate& partial, relay_effects& out);
  result<void> handle(std::uint32_t child, withdrawn& what, relay_effects& out);
  result<void> handle(std::uint32_t child, tasks_lost& what, relay_effects& out);
  result<void> handle(std::uint32_t child, evaluation_scores& what, relay_effects& out);
  result<void> handle(std::uint32_t child, letters& what, relay_effects& out);
  // Of the parent:
  void handle_order(const assign& what, relay_effects& out);
  void handle_order(const close_request& what, relay_effects& out);
  void handle_order(const withdrawal& what, relay_effects& out);
  void handle_order(const verdicts& what, relay_effects& out);
  void handle_order(const checkpointed& what, relay_effects& out);
  void handle_order(const evaluation_down& what, relay_effects& out);
  void handle_order(const letters& what, relay_effects& out);
  void handle_order(const displaced& what, relay_effects& out);
  void handle_order(const close_notice& what, relay_effects& out);

  void send_to_all(const downward& what, relay_effects& out);
  void begin(const broadcast_ptr& from, relay_effects& out);
  [[nodiscard]] bool begin_share(std::uint32_t child);
  void lose(std::uint32_t child, const std::vector<task_id>& folded, const std::vector<task_id>& open,
            relay_effects& out);
  void withdraw(const std::vector<task_id>& tasks, relay_effects& out);
  void tell_detached(const detached& what, relay_effects& out);
  void send_up_when_all_answered(relay_effects& out);

  const experiment& e_;
  std::uint32_t number_;
  client_routes routes_;
  std::map<std::uint32_t, child_share> children_;  ///< and their parts of the share under way
  std::map<std::uint32_t, open_here> open_;        ///< by client
  std::set<task_id> moving_;                       ///< open tasks whose withdrawal is in progress
  awaited_scores scoring_;                         ///< of the children
  broadcast_ptr from_;                             ///< of the current share
  std::size_t pending_ = 0;                        ///< children with a part of it that have not answered yet
  bool sent_ = true;                               ///< there is no current share
  bool closing_ = false;
  std::unique_ptr<accumulator> sum_;
  partial_aggregate partial_;
};

}  // namespace furlong::federated::protocol
