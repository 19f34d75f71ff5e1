// The client as a state machine. One task:
//   1. stateful algorithms: load the private values                       -> load     <- on_loaded
//   2. train                                                              -> train    <- on_trained
//   3. stateful algorithms: store the private values as trained           -> commit   <- on_committed
//   4. report the update; it carries nothing private                      -> report
// When a step fails the client gives up: nothing of its work is reported, and its private values stay as they were. ->
// give_up
#pragma once

#include <cstdint>

#include "federated/update.hpp"

namespace furlong::federated::protocol {

/// What the client's shell has to do next.
enum class client_step : std::uint8_t { load, train, commit, report, give_up };

class client_machine {
 public:
  client_machine(const task_id& task, bool stateful) : task_(task), stateful_(stateful) {}

  [[nodiscard]] const task_id& task() const { return task_; }
  [[nodiscard]] client_step on_task() const { return stateful_ ? client_step::load : client_step::train; }
  [[nodiscard]] client_step on_loaded(bool succeeded, bool found) {
    has_own_ = found;
    return succeeded ? client_step::train : client_step::give_up;
  }
  /// Whether private values were found in step 1.
  [[nodiscard]] bool has_own() const { return has_own_; }
  [[nodiscard]] client_step on_trained(bool to_store) const {
    return to_store ? client_step::commit : client_step::report;
  }
  [[nodiscard]] client_step on_committed(bool succeeded) const {
    return succeeded ? client_step::report : client_step::give_up;
  }

 private:
  task_id task_;
  bool stateful_;
  bool has_own_ = false;
};

}  // namespace furlong::federated::protocol
