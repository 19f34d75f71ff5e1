// A trainer: a process of another language that computes gradients, at the other end of a socket.
// docs/trainer-protocol.md is its protocol; this is the process and its messages, problem.hpp is what they mean.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "scenarios/python/trainer_output.hpp"

namespace furlong::scenarios {

/// How a trainer is started.
struct trainer_command {
  std::vector<std::string> arguments;  ///< the program first, looked up in PATH
  std::vector<std::pair<std::string, std::string>>
      variables;             ///< of the environment, in addition to those of this process
  int memory = -1;           ///< the memory file
  bool ends_itself = false;  ///< it has work to do after its connection has ended
  int caller = -1;           ///< a socket to the process that computes in the place of one that is started; -1: none
};

enum class message_kind : std::uint32_t {
  open = 1,
  initial,
  gradient,
  evaluate,
  predict,
  constants,
  fit,
  train,
  personalize,
  step,
  costs = 12,
  labels,
  failure = 255
};

/// A process that was started and not yet ended, or a connection to the caller. One thread at a time.
class trainer_process {
 public:
  trainer_process(std::uint32_t number, trainer_command command) : number_(number), command_(std::move(command)) {}
  trainer_process(const trainer_process&) = delete;
  trainer_process& operator=(const trainer_process&) = delete;
  ~trainer_process() { end(); }

  [[nodiscard]] bool running() const { return socket_ >= 0; }
  [[nodiscard]] result<void> start();
  /// Kills the process and all that it started. Ends the connection to the caller.
  void end();

  enum class outcome { answered, died, timed_out };
  /// Sends a request, whose first 8 bytes are left for the header, and waits for the answer. After anything but an
  /// answer the process is ended.
  [[nodiscard]] outcome exchange(message_kind kind, std::span<std::byte> request, std::chrono::milliseconds limit);
  /// Of the last answer; valid until the next exchange.
  [[nodiscard]] message_kind answer_kind() const { return kind_; }
  [[nodiscard]] std::span<const std::byte> answer() const { return answer_; }
  /// How the last process ended: "signal 9 (Killed)", "status 3".
  [[nodiscard]] const std::string& last_end() const { return last_end_; }
  /// The last line that it wrote; empty: none.
  [[nodiscard]] const std::string& last_line() const { return last_line_; }
  /// The line of the user's code where it ended, "FILE:LINE"; empty: not known.
  [[nodiscard]] const std::string& last_place() const { return last_place_; }

  /// What the lines that it writes from now on belong to, such as "client anna, round 3". Not kept over a start.
  void set_work(std::string_view work) {
    if (output_ != nullptr) output_->set_work(work);
  }
  /// Puts the process and the calling thread on one processor: the two take turns, and a switch within a processor
  /// takes a fraction of the time of one between two, where the scheduler would place each that wakes while the other
  /// is idle. The thread stays there to the end of its work (models/work_scope.hpp), but not longer than 100 ms at a
  /// time, so that processors are shared evenly.
  void share_processor();
  /// Lets the process run on all processors that the calling thread may run on: for work that starts threads and
  /// processes of its own, which would inherit the one processor.
  void leave_processor();
  /// Bytes of memory of its own, without what is shared; 0: not known.
  [[nodiscard]] std::uint64_t memory_bytes() const;

 private:
  [[nodiscard]] result<void> connect();
  bool send(std::span<const std::byte> bytes) const;
  outcome receive(std::span<std::byte> target, std::chrono::milliseconds limit) const;
  void set_limit(std::chrono::milliseconds limit);

  std::uint32_t number_;
  trainer_command command_;
  pid_t pid_ = 0;  ///< 0: none, or that of the caller
  int socket_ = -1;
  int processor_ = -1;
  std::chrono::milliseconds limit_{0};
  output_allowance allowance_;
  std::unique_ptr<trainer_output> output_;
  message_kind kind_ = message_kind::failure;
  std::vector<std::byte> answer_;
  std::string last_end_;
  std::string last_line_;
  std::string last_place_;
};

}  // namespace furlong::scenarios
