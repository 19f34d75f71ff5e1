#include "scenarios/python/trainer_output.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utility>

namespace furlong::scenarios {

namespace {

constexpr std::chrono::milliseconds time_until_notice{1500};
constexpr std::size_t longest_line = 1U << 14U;
constexpr std::size_t pipe_bytes = 1U << 16U;
constexpr std::size_t logged_beside = 32;  ///< of each line: its time and end

void write_to_standard_error(std::string_view line) {
  std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
}
void (*output_to)(std::string_view) = write_to_standard_error;

std::string name_of(std::uint32_t trainer) { return "trainer " + std::to_string(trainer); }

}  // namespace

void set_trainer_output(void (*to)(std::string_view)) { output_to = to; }

void note_trainer(std::uint32_t trainer, std::string_view text) {
  output_to(name_of(trainer).append(": ").append(text));
}

slow_notice::slow_notice(std::uint32_t trainer, std::string text)
    : watch_([this, trainer, text = std::move(text)] {
        std::unique_lock guard(lock_);
        if (!done_.wait_for(guard, time_until_notice, [this] { return is_done_; })) note_trainer(trainer, text);
      }) {}

slow_notice::~slow_notice() {
  {
    const std::lock_guard guard(lock_);
    is_done_ = true;
  }
  done_.notify_one();
  watch_.join();
}

trainer_output::trainer_output(std::uint32_t trainer, int pipe, output_allowance& allowance)
    : trainer_(trainer), pipe_(pipe), stop_(eventfd(0, EFD_CLOEXEC)), allowance_(allowance), label_(name_of(trainer)) {
  fcntl(pipe_, F_SETFL, O_NONBLOCK);
  reader_ = std::thread([this] {
    std::array<pollfd, 2> either{{{pipe_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    for (bool open = true; open && either[1].revents == 0;) {
      if (poll(either.data(), either.size(), -1) < 0 && errno != EINTR) break;
      // While a trainer writes without pause, this loop would get the lock again each time.
      while (awaited_) std::this_thread::yield();
      const std::lock_guard guard(lock_);
      open = read_on();
    }
  });
}

trainer_output::~trainer_output() { close(); }

std::string trainer_output::close() {
  if (reader_.joinable()) {
    eventfd_write(stop_, 1);
    reader_.join();
    read_on();
    if (!line_.empty()) give_away();
    write_kept_lines();
    ::close(stop_);
    ::close(pipe_);
  }
  return last_line_;
}

void trainer_output::set_work(std::string_view work) {
  awaited_ = true;
  const std::lock_guard guard(lock_);
  awaited_ = false;
  read_on();
  label_ = name_of(trainer_);
  if (!work.empty()) label_.append(" (").append(work).append(")");
}

void trainer_output::write_kept() {
  awaited_ = true;
  const std::lock_guard guard(lock_);
  awaited_ = false;
  read_on();
  write_kept_lines();
}

bool trainer_output::read_on() {
  std::array<char, pipe_bytes> block;
  for (std::size_t total = 0; total < pipe_bytes;) {
    const auto count = read(pipe_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    total += static_cast<std::size_t>(count);
    std::string_view text(block.data(), static_cast<std::size_t>(count));
    while (!text.empty()) {
      const auto end = text.find('\n');
      const auto part = text.substr(0, std::min(end, longest_line - line_.size()));
      line_ += part;
      text.remove_prefix(part.size());
      if (!text.empty()) give_away();  // at the end of the line, or within one that is too long
      if (text.starts_with('\n')) text.remove_prefix(1);
    }
  }
  return true;
}

void trainer_output::give_away() {
  auto text = label_ + ": " + line_;
  crash_.read(line_);
  if (line_.find_first_not_of(" \t\r") != std::string::npos) last_line_.swap(line_);
  line_.clear();
  const auto size = text.size() + logged_beside;
  if (allowance_.lines >= size) {
    allowance_.lines -= size;
    output_to(text);
    return;
  }
  if (allowance_.lines > 0) {
    allowance_.lines = 0;
    note_trainer(trainer_,
                 "it has written too much: its further lines are left out, but for the last ones before it "
                 "ends or fails; print less in each step");
  }
  kept_bytes_ += size;
  kept_.push_back(std::move(text));
  for (; kept_bytes_ > most_kept; kept_.pop_front(), ++left_out_) kept_bytes_ -= kept_.front().size() + logged_beside;
}

void trainer_output::write_kept_lines() {
  if (kept_bytes_ > allowance_.last_lines) {
    left_out_ += kept_.size();
    kept_.clear();
  }
  if (left_out_ > 0) note_trainer(trainer_, std::to_string(left_out_) + " lines were left out here");
  for (const auto& line : kept_) output_to(line);
  if (!kept_.empty()) allowance_.last_lines -= kept_bytes_;
  kept_.clear();
  kept_bytes_ = left_out_ = 0;
}

}  // namespace furlong::scenarios
