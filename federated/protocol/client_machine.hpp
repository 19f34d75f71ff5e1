// The client as a state machine. One task:
//   1. stateful algorithms: load the private values                          -> load      <- on_loaded
//   2. train                                                                 -> train     <- on_trained
//   3. commit = "after-training": keep the private values as trained         -> commit    <- on_committed
//   4. report the update; it carries nothing private                         -> report    <- on_acknowledged,
//   on_refused
//   5. commit = "after-ack": keep the private values, or forget them         -> commit, done
// When a step fails the client gives up: nothing of its work is reported, and its private values stay as they were.
//                                                                            -> give_up
#pragma once

#include <cstdint>

#include "federated/settings/private_values.hpp"
#include "federated/update.hpp"

namespace furlong::federated::protocol {

/// What the client's shell has to do next.
enum class client_step : std::uint8_t { load, train, commit, report, give_up, done };

class client_machine {
 public:
  client_machine(const task_id& task, bool stateful, commit_kind commit)
      : task_(task), stateful_(stateful), commit_(commit) {}

  [[nodiscard]] const task_id& task() const { return task_; }
  [[nodiscard]] client_step on_task() const { return stateful_ ? client_step::load : client_step::train; }
  [[nodiscard]] client_step on_loaded(bool succeeded, bool found) {
    has_own_ = found;
    return succeeded ? client_step::train : client_step::give_up;
  }
  /// Whether private values were found in step 1.
  [[nodiscard]] bool has_own() const { return has_own_; }
  /// `to_keep`: training changed the private values.
  [[nodiscard]] client_step on_trained(bool to_keep) {
    holds_ = to_keep;
    return to_keep && commit_ == commit_kind::after_training ? client_step::commit : client_step::report;
  }
  [[nodiscard]] client_step on_committed(bool succeeded) {
    holds_ = false;
    if (reported_) return client_step::done;
    return succeeded ? client_step::report : client_step::give_up;
  }
  /// The report is on its way.
  void on_reported() { reported_ = true; }
  /// The update is in a new model.
  [[nodiscard]] client_step on_acknowledged() const { return holds_ ? client_step::commit : client_step::done; }
  /// It never will be.
  [[nodiscard]] client_step on_refused() {
    holds_ = false;
    return client_step::done;
  }
  /// Whether trained values wait for an acknowledgement.
  [[nodiscard]] bool holds() const { return holds_; }

 private:
  task_id task_;
  bool stateful_;
  commit_kind commit_;
  bool has_own_ = false;
  bool holds_ = false;
  bool reported_ = false;
};

}  // namespace furlong::federated::protocol
