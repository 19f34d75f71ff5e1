// A distributed evaluation on the server, as a state machine: which clients it asks, and when it is over.
//
// It is over when every requested score has arrived or was lost. In a run whose rounds wait for every task it also
// waits for clients that the roster expects to return, and asks them again where they are then: figures, and the model
// of `evaluation.select = "best"`, do not depend on aggregators. In other runs such clients are missing.
//
// Its duration is bounded: it ends when no awaited score came for a minute, and after `network.task_timeout` at the
// latest. When the server stops, nodes have the time in which a lost one may return, at most a minute; an evaluation
// that ends early for this reason is not used.
#pragma once

#include <map>
#include <set>

#include "federated/evaluation/evaluation.hpp"
#include "federated/protocol/awaited_scores.hpp"
#include "federated/protocol/branch_messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::federated::protocol {

class scoring_machine {
 public:
  /// The clients to ask, by the aggregator through which they are reached.
  using requests = std::map<std::uint32_t, evaluation_down>;

  /// Evaluates the model that `of` has under test. `e` and `who` must outlive the machine. `who` must know of an event
  /// before it is reported here.
  scoring_machine(const experiment& e, const server_machine& of, const roster& who, virtual_time now);

  /// Call it once.
  [[nodiscard]] requests ask(virtual_time now);
  [[nodiscard]] requests on_scores(std::uint32_t aggregator, evaluation_scores what, virtual_time now);
  [[nodiscard]] requests on_aggregator_lost(std::uint32_t aggregator, virtual_time now);
  /// These clients are connected.
  [[nodiscard]] requests on_attached(const client_range& clients, virtual_time now);
  /// The server stops.
  void on_stop(virtual_time now);

  [[nodiscard]] bool is_over(virtual_time now) const;
  /// It was ended by the server's stop; its report must not be used.
  [[nodiscard]] bool cut_short(virtual_time now) const { return stopping_ && (!awaited_.empty() || expects(now)); }
  /// Number of clients that were not scored.
  [[nodiscard]] std::size_t missing() const { return awaited_.size() + unreached_.size(); }
  /// Number of clients to score, connected or not.
  [[nodiscard]] std::size_t size() const { return scores_.size(); }
  [[nodiscard]] evaluation_report report() const { return scores_.report(); }

 private:
  [[nodiscard]] bool expects(virtual_time now) const;
  [[nodiscard]] requests request_again(const evaluation_scores& lost, virtual_time now);
  void add_request(const std::pair<group, std::uint32_t>& one, requests& to);

  const experiment& e_;
  const roster& roster_;
  broadcast_ptr model_;
  evaluation scores_;
  awaited_scores awaited_;
  std::set<std::pair<std::uint32_t, group>> unreached_;  ///< disconnected clients without a score
  bool waits_;                                           ///< for those that are expected
  virtual_time patience_;
  virtual_time last_heard_;
  virtual_time latest_;
  bool stopping_ = false;
};

}  // namespace furlong::federated::protocol
