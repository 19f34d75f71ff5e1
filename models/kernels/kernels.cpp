#include "models/kernels/kernels.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "models/kernels/levels.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

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
#elif defined(__aarch64__)
namespace neon {
extern const kernel_table table;
}
#endif

namespace {

#if defined(__x86_64__)
constexpr const kernel_table* levels[] = {&base::table, &v3::table, &v4::table};

/// For features that clang 14 does not support in __builtin_cpu_supports().
bool has_all_in_ecx(unsigned leaf, unsigned bits) {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  return __get_cpuid(leaf, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bits) == bits;
}

/// The builtin also checks that the operating system saves the wide registers.
bool has_v3() {
  return __builtin_cpu_supports("sse3") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.1") &&
         __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("avx") &&
         __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
         __builtin_cpu_supports("fma") && has_all_in_ecx(1, bit_CMPXCHG16B | bit_MOVBE | bit_F16C) &&
         has_all_in_ecx(0x80000001U, bit_LAHF_LM | bit_LZCNT);
}

bool has_v4() {
  return has_v3() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

std::size_t count_supported() { return has_v4() ? 3 : has_v3() ? 2 : 1; }
#elif defined(__aarch64__)
constexpr const kernel_table* levels[] = {&base::table, &neon::table};

std::size_t count_supported() { return 2; }
#else
constexpr const kernel_table* levels[] = {&base::table};

std::size_t count_supported() { return 1; }
#endif

/// The only level that the user lets this process choose.
std::span<const kernel_table* const> pinned_level(std::string_view text) {
  const std::string name(current_level_name(text));
  const auto supported = supported_kernels();
  for (std::size_t i = 0; i < supported.size(); ++i)
    if (name == supported[i]->level) return supported.subspan(i, 1);
  std::string known;
  for (const auto* level : levels) {
    if (name == level->level)
      throw std::runtime_error("FURLONG_KERNEL_LEVEL=" + name + " needs instructions that this processor lacks");
    known = level->level + (known.empty() ? "" : ", " + known);
  }
  throw std::runtime_error("FURLONG_KERNEL_LEVEL=" + name + " is not a level; choose one of " + known);
}

/// The levels that the user lets this process choose from.
std::span<const kernel_table* const> usable() {
  const char* pinned = std::getenv("FURLONG_KERNEL_LEVEL");
  return pinned == nullptr || *pinned == '\0' ? supported_kernels() : pinned_level(pinned);
}

std::atomic<const kernel_table*>& current() {
  static std::atomic<const kernel_table*> chosen{usable().back()};
  return chosen;
}

}  // namespace

std::span<const kernel_table* const> supported_kernels() {
  static const std::size_t count = count_supported();
  return std::span(levels).first(count);
}

std::string_view current_level_name(std::string_view name) {
  return name == "x86-64" || name == "generic" ? "portable" : name;
}

const kernel_table& kernels() { return *current().load(std::memory_order_relaxed); }

std::vector<std::string_view> usable_levels() {
  std::vector<std::string_view> names;
  for (const auto* level : usable()) names.emplace_back(level->level);
  return names;
}

bool use_kernels(std::string_view level) {
  const auto choice = usable();
  const auto found = std::ranges::find(choice, level, &kernel_table::level);
  if (found == choice.end()) return false;
  current().store(*found, std::memory_order_relaxed);
  return true;
}

}  // namespace furlong::models
