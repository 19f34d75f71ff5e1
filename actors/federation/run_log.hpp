// Log format of the processes: lines name the run.
#pragma once

#include <cstdint>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

#include "federated/protocol/messages.hpp"

namespace furlong::actors::federation {

/// Makes the process's log name this run: "[time] [run 0123456789abcdef] [level] text". Thread-safe.
inline void log_run(std::uint64_t run) {
  spdlog::set_pattern(fmt::format("[%Y-%m-%d %H:%M:%S.%e] [run {:016x}] [%^%l%$] %v", run));
}

/// The name of a verdict.
inline const char* word(federated::protocol::verdict_kind what) {
  switch (what) {
    case federated::protocol::verdict_kind::durable: return "durable";
    case federated::protocol::verdict_kind::unwanted: return "unwanted";
    case federated::protocol::verdict_kind::rejected: return "rejected";
    case federated::protocol::verdict_kind::taken: return "taken";
  }
  return "?";
}

/// Logs each in a line, at level debug.
inline void log_verdicts(const federated::protocol::verdicts& some) {
  for (const auto& [task, what, why] : some.each)
    spdlog::debug("version {} client {} attempt {}: {}{}{}", task.version, task.client, task.attempt, word(what),
                  what == federated::protocol::verdict_kind::rejected ? ", " : "",
                  what == federated::protocol::verdict_kind::rejected ? federated::to_string(why) : "");
}

}  // namespace furlong::actors::federation
