// An evaluation that nodes compute, as the server sees it, as a state machine: whom it asks, and when it is over.
//
// It is over when everybody who was asked has answered, or was lost. It does not wait for ever: not for nodes of which
// no score that is awaited came for a minute, nor beyond `network.task_timeout`, however they spread their scores. When
// the server is to stop, nodes have as long as one that was lost has to come back, and a minute in all; an evaluation
// that ends so before everybody has answered says nothing about the model.
#pragma once

#include <map>

#include "federated/evaluation.hpp"
#include "federated/protocol/awaited_scores.hpp"
#include "federated/protocol/branch_messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::federated::protocol {

class scoring_machine {
 public:
  /// Of what `of` wants evaluated. `e` must outlive the machine.
  scoring_machine(const experiment& e, const server_machine& of, virtual_time now);

  /// Whom to ask, by the aggregator that they are reached through. Call it once.
  [[nodiscard]] std::map<std::uint32_t, evaluation_down> ask(const roster& who);
  void on_scores(std::uint32_t aggregator, evaluation_scores what, virtual_time now);
  void on_aggregator_lost(std::uint32_t aggregator);
  /// The server is to stop.
  void on_stop(virtual_time now);

  [[nodiscard]] bool is_over(virtual_time now) const;
  /// It ended because the server stops, and its report is not to be used.
  [[nodiscard]] bool cut_short() const { return stopping_ && !awaited_.empty(); }
  /// Clients that were asked and have not answered.
  [[nodiscard]] std::size_t missing() const { return awaited_.size(); }
  /// Clients to score, whether or not they are reached.
  [[nodiscard]] std::size_t size() const { return scores_.size(); }
  [[nodiscard]] evaluation_report report() const { return scores_.report(); }

 private:
  const experiment& e_;
  broadcast_ptr model_;
  evaluation scores_;
  awaited_scores awaited_;
  virtual_time patience_;
  virtual_time last_heard_;
  virtual_time latest_;
  bool stopping_ = false;
};

}  // namespace furlong::federated::protocol
