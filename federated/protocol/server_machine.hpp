// The server as a state machine: events in, effects out, no I/O, no clock, no threads.
//
// A synchronous round:
//   1. The server chooses a cohort, deals it out to its aggregators and broadcasts the model   -> assign (one each)
//   2. Aggregators run their clients, validate and fold, and answer with a partial aggregate   <- on_partial
//   3. When all aggregators have answered, the partials are merged and the round is closed     -> round_closed
//   4. Where due: evaluation                                                     -> evaluate   <- on_evaluated
//   5. Where due, and before stopping: checkpoint                              -> checkpoint   <- on_checkpointed
//   6. Back to 1, or                                                                           -> finish
//
// A partial of another run, version or aggregator, one that comes twice, or one that lists clients that its aggregator
// was not given, is an error and leaves the machine unchanged.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "federated/engine.hpp"
#include "federated/experiment.hpp"
#include "federated/round.hpp"

namespace furlong::federated::protocol {

/// Give these clients to that aggregator.
struct assign {
  std::uint32_t aggregator = 0;
  broadcast_ptr from;
  std::vector<std::uint32_t> clients;
};
/// A round ended; tell whoever listens.
struct round_closed {
  round_report report;
};
/// Evaluate state().model, then call on_evaluated().
struct evaluate {};
/// Make private values and state() durable, then call on_checkpointed().
struct checkpoint {};
/// Nothing more to do.
struct finish {
  bool interrupted = false;
};
using server_effect = std::variant<assign, round_closed, evaluate, checkpoint, finish>;
using server_effects = std::vector<server_effect>;

class server_machine {
 public:
  /// Starts, or goes on, from a state. `e` must outlive the machine.
  server_machine(const experiment& e, server_state state);

  [[nodiscard]] server_effects start();
  /// `report` holds what the aggregator counted: folded, refused, examples, bytes.
  [[nodiscard]] result<server_effects> on_partial(partial_aggregate partial, std::uint64_t bytes_up);
  [[nodiscard]] server_effects on_evaluated();
  [[nodiscard]] server_effects on_checkpointed();
  /// Asks to stop after the round under way.
  void stop() { stopping_ = true; }

  /// The state as of the last closed round; the optimizer's is copied in by snapshot().
  [[nodiscard]] const server_state& state() const { return state_; }
  [[nodiscard]] server_state snapshot() const;

 private:
  [[nodiscard]] server_effects begin_round();
  [[nodiscard]] server_effects close();
  [[nodiscard]] server_effects after_evaluation();
  [[nodiscard]] result<void> check(const partial_aggregate& partial) const;

  const experiment& e_;
  server_state state_;
  server_optimizer optimizer_;
  std::unique_ptr<accumulator> sum_;
  std::vector<std::vector<std::uint32_t>> dealt_;  ///< clients of each aggregator in this round
  std::vector<bool> answered_;
  std::size_t pending_ = 0;
  round_report report_;
  bool stopping_ = false;
};

}  // namespace furlong::federated::protocol
