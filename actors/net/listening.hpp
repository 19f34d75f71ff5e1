// Listening sockets and their errors.
#pragma once

#include "actors/net/address.hpp"

namespace furlong::actors::net {

/// Checks whether listening there is possible now, for libraries that report no reason. Opens a socket and closes it
/// again. Errors: the name does not resolve (usage); it is not this machine's address, or the port is in use or not
/// permitted (runtime).
[[nodiscard]] result<void> can_listen(const host_port& at);

}  // namespace furlong::actors::net
