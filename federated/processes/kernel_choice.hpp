// With which kernels the processes of a federation compute (network.kernel_levels).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/settings/network.hpp"

namespace furlong::federated::processes {

/// The kernel levels of a process, as its hello says.
struct kernel_offer {
  std::string level;   ///< with which it computes
  std::string levels;  ///< with which it can compute, separated by commas
};
/// Of this process.
[[nodiscard]] kernel_offer own_kernels();

inline constexpr const char* same_kernels_remedy =
    "set network.kernel_levels = \"common\", which finds a level that all have, or pin one with FURLONG_KERNEL_LEVEL "
    "on "
    "all machines (\"portable\" is on every processor); \"any\" lets each use its own";

/// The level of a process, `own`, while it takes part in a run by this rule.
[[nodiscard]] std::string level_of_run(kernel_rule rule, const std::string& own);

/// Why a process may not take part in a run that computes with this process's kernels; nullopt: it may.
[[nodiscard]] std::optional<std::string> unlike_kernels(kernel_rule rule, const kernel_offer& offer);

/// Makes this process compute with the server's kernels if the rule demands it. An error: it lacks them. To be called
/// while nothing computes.
[[nodiscard]] result<void> follow_kernels(kernel_rule rule, const std::string& level);

/// The server's choice of the level that all have, by kernel_rule::common. Until it is fixed, each process that arrives
/// may lower it.
class kernel_choice {
 public:
  /// Of the levels that this process has.
  kernel_choice();

  struct answer {
    std::optional<std::string> refused;  ///< why the process may not take part
    bool lowered = false;                ///< this process computes at a lower level now: all must connect again
  };
  /// @param fixed the run has begun
  [[nodiscard]] answer on_arrival(kernel_rule rule, const kernel_offer& offer, bool fixed);

 private:
  std::vector<std::string> levels_;  ///< those that all have, in ascending order
};

}  // namespace furlong::federated::processes
