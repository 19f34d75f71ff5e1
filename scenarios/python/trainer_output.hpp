// What a trainer writes to standard output and standard error, line by line.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "scenarios/python/crash_place.hpp"

namespace furlong::scenarios {

/// Takes the lines of trainers, "trainer 0 (client anna, round 3): LINE", one at a time, from threads of their own.
/// Default: standard error. Set before a trainer is started.
void set_trainer_output(void (*to)(std::string_view line));
/// A line about a trainer, among its own.
void note_trainer(std::uint32_t trainer, std::string_view text);

/// Says what a trainer is doing if it lasts longer than a second or two, in a thread of its own.
class slow_notice {
 public:
  slow_notice(std::uint32_t trainer, std::string text);
  slow_notice(const slow_notice&) = delete;
  slow_notice& operator=(const slow_notice&) = delete;
  ~slow_notice();

 private:
  std::mutex lock_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread watch_;
};

/// How many bytes of its lines a trainer may still write, over all its starts: a class that prints in each step would
/// fill the disk.
struct output_allowance {
  std::size_t lines = std::size_t{4} << 20U;       ///< as they come
  std::size_t last_lines = std::size_t{1} << 20U;  ///< those left out last, when the trainer ends or fails
};

/// Reads one trainer's pipe in a thread of its own.
class trainer_output {
 public:
  /// Lines beyond the allowance are left out, and the last of them kept.
  static constexpr std::size_t most_kept = std::size_t{64} << 10U;

  /// Takes the descriptor. The allowance outlives this.
  trainer_output(std::uint32_t trainer, int pipe, output_allowance& allowance);
  trainer_output(const trainer_output&) = delete;
  trainer_output& operator=(const trainer_output&) = delete;
  /// Writes what the trainer has written until now. A process that it left behind may keep the pipe open.
  ~trainer_output();

  /// What is written from now on belongs to this work, what was written before does not. Empty: to none.
  void set_work(std::string_view work);
  /// After a failure: writes the last of the lines that were left out.
  void write_kept();
  /// Reads what the trainer has written until now, and stops. Returns its last line that is not empty.
  std::string close();
  /// Where it has ended, if its last lines say so (crash_place); after close().
  [[nodiscard]] const std::string& place() const { return crash_.text(); }

 private:
  /// Reads at most as much as a pipe holds. False at the end of the pipe.
  bool read_on();
  void give_away();
  void write_kept_lines();

  std::uint32_t trainer_;
  int pipe_;
  int stop_;
  output_allowance& allowance_;
  std::mutex lock_;
  std::atomic<bool> awaited_ = false;  ///< another thread waits for the lock
  std::string line_;
  std::string last_line_;
  crash_place crash_;
  std::string label_;
  std::deque<std::string> kept_;
  std::size_t kept_bytes_ = 0;
  std::uint64_t left_out_ = 0;  ///< lines, beside those kept
  std::thread reader_;
};

}  // namespace furlong::scenarios
