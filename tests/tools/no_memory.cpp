// A library to be preloaded: functions of the C library as they are where the address space is used up. NO_MEMORY names
// the one that fails.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/resource.h>

namespace {

bool fails(const char* function) {
  const char* name = std::getenv("NO_MEMORY");
  return name != nullptr && std::strcmp(name, function) == 0;
}

}  // namespace

extern "C" {

int posix_memalign(void** block, std::size_t alignment, std::size_t bytes) noexcept {
  static const auto real = reinterpret_cast<decltype(&posix_memalign)>(::dlsym(RTLD_NEXT, "posix_memalign"));
  return fails("posix_memalign") ? ENOMEM : real(block, alignment, bytes);
}

/// Which has no way to report an error, and aborts.
int __cxa_thread_atexit_impl(void (*destructor)(void*), void* object, void* library) {
  static const auto real =
      reinterpret_cast<decltype(&__cxa_thread_atexit_impl)>(::dlsym(RTLD_NEXT, "__cxa_thread_atexit_impl"));
  if (!fails("__cxa_thread_atexit_impl")) return real(destructor, object, library);
  rlimit addresses{};
  ::getrlimit(RLIMIT_AS, &addresses);
  addresses.rlim_cur = 1;
  ::setrlimit(RLIMIT_AS, &addresses);
  std::abort();
}
}
