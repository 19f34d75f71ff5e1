// Exit codes of the command, as documented.
#pragma once

#include <string_view>

#include "base/result.hpp"

namespace furlong::tools {

enum exit_code : int {
  done = 0,
  expectation_failed = 1,
  usage = 2,        ///< wrong command line, invalid scenario
  data = 3,         ///< data missing or unreadable
  failure = 4,      ///< anything else that went wrong while running
  interrupted = 5,  ///< stopped, resumable
};

[[nodiscard]] inline exit_code exit_code_of(const error& why) {
  switch (why.what) {
    case error::kind::usage: return usage;
    case error::kind::data: return data;
    case error::kind::runtime: break;
  }
  return failure;
}

/// How the reason of a run that diverged begins in summary.json, "failed".
inline constexpr std::string_view divergence_text = "training diverged";
/// The word for a run with this reason: "diverged" or "failed".
[[nodiscard]] constexpr std::string_view failure_word(std::string_view reason) {
  return reason.starts_with(divergence_text) ? "diverged" : "failed";
}

}  // namespace furlong::tools
