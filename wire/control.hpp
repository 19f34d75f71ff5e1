// The control messages (federated/protocol/messages.hpp), as frames hold them. They do not depend on a model's layout.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "federated/protocol/control.hpp"

namespace furlong::wire {

using federated::protocol::control;
using federated::protocol::with_control;

constexpr std::size_t longest_name = 256;                       ///< bytes of software, name and addresses
constexpr std::size_t longest_why = 1024;                       ///< bytes of why and remedy
constexpr std::size_t longest_scenario = std::size_t{1} << 20;  ///< bytes of welcome::scenario
constexpr std::size_t longest_parts = 4096;                     ///< bytes of welcome::parts
/// Entries of a list. The odds of all clients in one evaluation_scores are a list too: send large scores apart.
constexpr std::size_t longest_list = std::size_t{1} << 20;

/// A text as a message can hold it in one line: without what is not printable, and cut where it is too long.
[[nodiscard]] std::string as_line(std::string_view text, std::size_t limit = longest_why);

/// Exact length in bytes of the frame that the encoder makes of a message, without making it.
[[nodiscard]] std::size_t encoded_size(const control& message);

/// Length in bytes above which no frame holds a control message whose lists have at most so many entries: what to
/// refuse before receiving it. A node's lists have an entry for each client that it hosts, or fewer if it splits them.
[[nodiscard]] std::size_t largest_control(std::size_t entries = longest_list);

}  // namespace furlong::wire
