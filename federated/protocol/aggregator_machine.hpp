// The aggregator as a state machine: runs its share of a cohort, trusts no update, folds what passes, and sends one
// partial aggregate up.
//
// It never has more than `window` clients at work: memory stays O(model + window) however large the share.
// Of one client at most one update is folded; updates of other runs, versions or clients are refused.
#pragma once

#include <memory>
#include <unordered_map>
#include <variant>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment.hpp"
#include "federated/update.hpp"

namespace furlong::federated::protocol {

/// Let this client work on this task.
struct start_client {
  task_id task;
  broadcast_ptr from;
};
/// The share is done: send this up.
struct send_partial {
  partial_aggregate partial;
  std::uint64_t bytes_up = 0;
};
using aggregator_effect = std::variant<start_client, send_partial>;
using aggregator_effects = std::vector<aggregator_effect>;

class aggregator_machine {
 public:
  /// `e` must outlive the machine. window >= 1.
  aggregator_machine(const experiment& e, std::uint32_t number, std::size_t window);

  /// A new share. What was left of an older one is forgotten. A share of nobody is answered at once.
  void on_assignment(const broadcast_ptr& from, std::vector<std::uint32_t> clients, aggregator_effects& out);
  /// A client's report. A report that nobody asked for changes nothing and is returned as refused.
  std::optional<rejection> on_update(const client_update& update, aggregator_effects& out);
  /// A client could not do its work.
  void on_failure(const task_id& task, aggregator_effects& out);

 private:
  enum class stage : std::uint8_t { waiting, folded, refused };
  [[nodiscard]] std::optional<rejection> check_identity(const task_id& id) const;
  void settle(const task_id& id, std::optional<rejection> refused, std::uint64_t examples, aggregator_effects& out);
  void go_on(aggregator_effects& out);
  void start_more(aggregator_effects& out);
  void send_up(aggregator_effects& out);

  const experiment& e_;
  std::uint32_t number_;
  std::size_t window_;
  broadcast_ptr from_;
  std::vector<std::uint32_t> clients_;
  std::unordered_map<std::uint32_t, stage> stages_;  ///< of the clients started so far
  std::size_t next_ = 0;                             ///< first client not started yet
  std::size_t settled_ = 0;
  std::unique_ptr<accumulator> sum_;
  partial_aggregate partial_;
  std::uint64_t bytes_up_ = 0;
};

}  // namespace furlong::federated::protocol
