#include "tools/runs/failure.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <exception>
#include <fcntl.h>
#include <iostream>
#include <new>
#include <pthread.h>
#include <spdlog/spdlog.h>
#include <stdexcept>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "models/kernels/kernels.hpp"
#include "tools/runs/messages.hpp"

// Sanitizers define these functions.
#if defined(__SANITIZE_ADDRESS__)
#define FURLONG_SANITIZED 1
#elif defined(__has_feature)
#define FURLONG_SANITIZED __has_feature(address_sanitizer)
#else
#define FURLONG_SANITIZED 0
#endif

namespace furlong::tools {

namespace {

using short_text = std::array<char, 256>;
constexpr rlim_t kilobyte = 1024;

std::atomic<bool> armed{false};
std::atomic<bool> ending{false};
thread_local bool ending_here = false;
std::atomic<int> log_file{-1};

// Written before the run starts threads, or by the thread that ends the process.
std::array<char, 512> memory_text{"make the model (model.*), the data or participation.per_round smaller"};
std::array<char, 1024> crash_text{};

void write_words(int file) {
  [[maybe_unused]] const auto written = ::write(file, crash_text.data(), std::strlen(crash_text.data()));
}

[[noreturn]] void leave(int /*signal*/ = 0) {
  if (const int log = log_file; log >= 0) write_words(log);
  ::_exit(failure);
}

/// Ends the process without allocating. The first thread to arrive determines the message.
[[noreturn]] void end_at_once(const char* format, ...) {
  if (ending_here) leave();  // failed again while flushing the log
  ending_here = true;
  while (ending.exchange(true)) ::pause();
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(crash_text.data(), crash_text.size(), format, arguments);
  va_end(arguments);
  write_words(STDERR_FILENO);
  // This thread, or one that waits for memory, may hold the log's lock.
  std::signal(SIGALRM, leave);
  ::alarm(2);
  spdlog::default_logger_raw()->flush();
  leave();
}

/// "the limit on open files (ulimit -n) is 20", or empty without a limit.
short_text limit_text(__rlimit_resource resource, const char* label, rlim_t unit = 1) {
  short_text text{};
  rlimit limit{};
  if (::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
    std::snprintf(text.data(), text.size(), "the limit on %s is %llu%s", label,
                  static_cast<unsigned long long>(limit.rlim_cur / unit), unit == kilobyte ? " kB" : "");
  return text;
}

short_text memory_limit() {
  auto text = limit_text(RLIMIT_AS, "address space (ulimit -v)", kilobyte);
  if (text[0] == '\0') text = limit_text(RLIMIT_DATA, "data (ulimit -d)", kilobyte);
  if (text[0] == '\0') text = {"the machine has no more"};
  return text;
}

[[noreturn]] void no_memory() {
  end_at_once("furlong: out of memory: %s: raise it, or %s\n", memory_limit().data(), memory_text.data());
}

/// True if there is memory for the stack of another thread.
bool stack_fits() {
  constexpr std::size_t usual = std::size_t{8} << 20U;
  void* stack = ::mmap(nullptr, usual, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (stack == MAP_FAILED) return false;
  ::munmap(stack, usual);
  return true;
}

[[noreturn]] void no_thread() {
  if (!stack_fits()) end_at_once("furlong: a thread could not be started: %s: raise it\n", memory_limit().data());
  auto limit = limit_text(RLIMIT_NPROC, "processes and threads of a user (ulimit -u)");
  if (limit[0] == '\0') limit = {"the container or the machine has no more (pids.max, kernel.threads-max)"};
  // Another thread may have released memory since.
  const auto memory = limit_text(RLIMIT_AS, "address space (ulimit -v)", kilobyte);
  end_at_once("furlong: a thread could not be started: %s%s%s: raise it\n", limit.data(), memory[0] == '\0' ? "" : ", ",
              memory.data());
}

/// True if there is memory for the C library's minimal heap extension.
bool heap_can_grow() {
  constexpr std::size_t least = std::size_t{1} << 20U;
  void* more = ::mmap(nullptr, least, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (more == MAP_FAILED) return false;
  ::munmap(more, least);
  return true;
}

/// CAF aborts if it cannot open files, and the C library if it has no memory to register a thread-local destructor.
/// Other aborts proceed.
void on_abort(int number) {
  if (!heap_can_grow()) no_memory();
  const int free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (free < 0 && (errno == EMFILE || errno == ENFILE))
    end_at_once("furlong: no more files can be opened: %s: raise it\n",
                limit_text(RLIMIT_NOFILE, "open files (ulimit -n)").data());
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// An uncaught exception in any thread.
void on_terminate() {
  if (const auto thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      no_memory();
    } catch (const std::logic_error& why) {  // a bug: it leaves a core dump
      std::fprintf(stderr, "furlong: %s\n", why.what());
    } catch (const std::exception& why) {
      end_at_once("furlong: %s%s\n", why.what(), limit_behind(why.what()).c_str());
    } catch (...) {
      std::fputs("furlong: an unknown exception\n", stderr);
    }
  }
  std::abort();
}

}  // namespace

void end_when_exhausted() {
  armed = true;
  std::set_new_handler(no_memory);
  std::set_terminate(on_terminate);
  std::signal(SIGABRT, on_abort);
  struct sigaction too_large {};
  too_large.sa_handler = [](int) {};
  too_large.sa_flags = SA_RESTART;
  ::sigaction(SIGXFSZ, &too_large, nullptr);
}

void log_failures_to(const std::filesystem::path& log) {
  const int file = ::open(log.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (const int before = log_file.exchange(file); before >= 0) ::close(before);
}

void explain_memory(const std::string& text) {
  const auto length = std::min(text.size(), memory_text.size() - 1);
  std::copy_n(text.data(), length, memory_text.begin());
  memory_text[length] = '\0';
}

std::string limit_behind(const std::string& message) {
  const auto has = [&](const char* words) { return message.find(words) != std::string::npos; };
  const auto says = [&](int code) { return has(std::strerror(code)); };
  short_text limit{};
  if (says(EMFILE)) limit = limit_text(RLIMIT_NOFILE, "open files (ulimit -n)");
  if (says(ENOMEM) || has("malloc failure")) limit = memory_limit();  // the latter are OpenSSL's words
  if (says(EFBIG)) limit = limit_text(RLIMIT_FSIZE, "the size of a file (ulimit -f)", kilobyte);
  return limit[0] == '\0' ? std::string() : "; " + std::string(limit.data()) + ": raise it";
}

result<void> check_environment(std::time_t now) {
  try {
    static_cast<void>(models::kernels());
  } catch (const std::runtime_error& why) {
    return fail(error::kind::usage, "", why.what());
  }
  if (now >= 0) return {};
  return fail(error::kind::runtime, "the clock", "is before 1970: files and certificates cannot have valid dates",
              "set the time of this machine");
}

int report_failure(const error& why) {
  const auto limit = limit_behind(why.text());
  std::cerr << "furlong: " << for_people(why.text()) << limit << '\n';
  return limit.empty() ? exit_code_of(why) : failure;  // a failed open may be due to the limit
}

}  // namespace furlong::tools

#if !FURLONG_SANITIZED
/// These replace the C library's functions. Libraries start threads too, with locks held.
extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                              void* argument) noexcept {
  static const auto real = reinterpret_cast<decltype(&pthread_create)>(::dlsym(RTLD_NEXT, "pthread_create"));
  const int code = real(thread, attributes, start, argument);
  if (code == EAGAIN && furlong::tools::armed) furlong::tools::no_thread();
  return code;
}

/// RocksDB constructs its locks and caches in the block without checking the return code.
extern "C" int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  static const auto real = reinterpret_cast<decltype(&posix_memalign)>(::dlsym(RTLD_NEXT, "posix_memalign"));
  const int code = real(block, alignment, bytes);
  if (code == ENOMEM && furlong::tools::armed) furlong::tools::no_memory();
  return code;
}
#endif
