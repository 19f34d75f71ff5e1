// What a trainer writes to standard output and standard error, line by line.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

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

/// Reads one trainer's pipe in a thread of its own.
class trainer_output {
 public:
  /// Takes the descriptor.
  trainer_output(std::uint32_t trainer, int from);
  trainer_output(const trainer_output&) = delete;
  trainer_output& operator=(const trainer_output&) = delete;
  /// Gives away what the trainer has written until now. A process that it left behind may keep the pipe open.
  ~trainer_output();

  /// What is written from now on belongs to this work, what was written before does not. Empty: to none.
  void set_work(std::string_view what);

 private:
  /// Reads what is there. False at the end of the pipe.
  bool read_on();
  void give_away();

  std::uint32_t trainer_;
  int from_;
  int stop_;
  std::mutex lock_;
  std::string line_;
  std::string who_;
  std::thread reader_;
};

}  // namespace furlong::scenarios
