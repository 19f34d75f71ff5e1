#include "scenarios/python/trainer_output.hpp"

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
constexpr std::size_t longest_line = 1U << 16U;

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

trainer_output::trainer_output(std::uint32_t trainer, int from)
    : trainer_(trainer), from_(from), stop_(eventfd(0, EFD_CLOEXEC)), who_(name_of(trainer)) {
  fcntl(from_, F_SETFL, O_NONBLOCK);
  reader_ = std::thread([this] {
    std::array<pollfd, 2> either{{{from_, POLLIN, 0}, {stop_, POLLIN, 0}}};
    for (bool open = true; open && either[1].revents == 0;) {
      if (poll(either.data(), either.size(), -1) < 0 && errno != EINTR) break;
      const std::lock_guard guard(lock_);
      open = read_on();
    }
    if (!line_.empty()) give_away();
  });
}

trainer_output::~trainer_output() {
  eventfd_write(stop_, 1);
  reader_.join();
  close(stop_);
  close(from_);
}

void trainer_output::set_work(std::string_view what) {
  const std::lock_guard guard(lock_);
  read_on();
  who_ = name_of(trainer_);
  if (!what.empty()) who_.append(" (").append(what).append(")");
}

bool trainer_output::read_on() {
  std::array<char, 4096> block;
  for (;;) {
    const auto count = read(from_, block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return count < 0 && errno == EAGAIN;
    for (const char c : std::string_view(block.data(), static_cast<std::size_t>(count))) {
      if (c == '\n' || line_.size() == longest_line) give_away();
      if (c != '\n') line_ += c;
    }
  }
}

void trainer_output::give_away() {
  output_to(who_ + ": " + line_);
  line_.clear();
}

}  // namespace furlong::scenarios
