// Every level of the kernels that this processor can run, whichever the program chose for itself.
#pragma once

#include <vector>

#include "models/kernels/kernels.hpp"

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
}  // namespace furlong::models

namespace furlong::tests {

[[nodiscard]] inline std::vector<const models::kernel_table*> levels_here() {
  std::vector<const models::kernel_table*> all = {&models::base::table};
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2"))
    all.push_back(&models::v3::table);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma"))
    all.push_back(&models::v4::table);
#endif
  return all;
}

}  // namespace furlong::tests
