// How trainers are started, and what their failures say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.hpp"
#include "scenarios/python/problem.hpp"
#include "scenarios/python/trainer_process.hpp"

namespace furlong::scenarios {

/// From now on the process at the other end of this socket is the trainer: no process is started.
void set_calling_trainer(int socket);
[[nodiscard]] bool has_calling_trainer();
/// @param memory descriptor of the memory file
/// @param number of the worker, which decides its device
[[nodiscard]] trainer_command command_for(const problem_settings& settings, int memory, std::uint32_t number);
/// The device of a worker as its process sees it: of several GPUs, one. Empty: none.
[[nodiscard]] std::string device_of(const problem_settings& settings, std::uint32_t number);
/// A trainer that ended before it described the problem.
/// @param end       how (trainer_process::last_end)
/// @param last_line of its output; empty: none
[[nodiscard]] error ended_at_start(const trainer_command& command, const problem_settings& settings,
                                   const std::string& end, const std::string& last_line);
/// What an answer of kind `failure` says.
[[nodiscard]] error failure_of(std::span<const std::byte> body);
/// An answer that does not follow the protocol.
[[nodiscard]] error not_understood(const std::string& text);

}  // namespace furlong::scenarios
