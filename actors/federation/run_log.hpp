// Lines of a log say of which run they are.
#pragma once

#include <cstdint>
#include <spdlog/fmt/fmt.h>
#include <spdlog/spdlog.h>

namespace furlong::actors::federation {

/// From now on the process' log names this run: "[time] [run 0123456789abcdef] [level] text". Thread-safe.
inline void log_run(std::uint64_t run) {
  spdlog::set_pattern(fmt::format("[%Y-%m-%d %H:%M:%S.%e] [run {:016x}] [%^%l%$] %v", run));
}

}  // namespace furlong::actors::federation
