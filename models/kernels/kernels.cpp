#include "models/kernels/kernels.hpp"

#include <cstdlib>
#include <stdexcept>
#include <string>

namespace furlong::models {

namespace base {
extern const kernel_table table;
}
#if defined(__x86_64__)
namespace v3 {
extern const kernel_table table;
}
namespace v4 {
extern const kernel_table table;
}
#endif

namespace {

bool runs_here([[maybe_unused]] const kernel_table& level) {
#if defined(__x86_64__)
  if (&level == &v4::table)
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
  if (&level == &v3::table)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
#endif
  return true;
}

const kernel_table& choose() {
  const kernel_table* const levels[] = {
#if defined(__x86_64__)
    &v4::table,
    &v3::table,
#endif
    &base::table
  };
  const char* pinned = std::getenv("FURLONG_KERNEL_LEVEL");
  std::string known;
  for (const auto* level : levels) {
    if (pinned == nullptr || *pinned == '\0') {
      if (runs_here(*level)) return *level;
      continue;
    }
    if (std::string(pinned) == level->level) {
      if (runs_here(*level)) return *level;
      throw std::runtime_error("FURLONG_KERNEL_LEVEL=" + std::string(pinned) +
                               " needs instructions that this processor lacks");
    }
    known += (known.empty() ? "" : ", ") + std::string(level->level);
  }
  throw std::runtime_error("FURLONG_KERNEL_LEVEL=" + std::string(pinned == nullptr ? "" : pinned) +
                           " is not a level; choose one of " + known);
}

}  // namespace

const kernel_table& kernels() {
  static const kernel_table& chosen = choose();
  return chosen;
}

}  // namespace furlong::models
