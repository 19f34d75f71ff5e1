// Sockets that listen: one way to open them, and one way to say why that fails.
#pragma once

#include "actors/net/address.hpp"

namespace furlong::actors::net {

/// Whether one could listen there now, for libraries that do not say what stands against it. Opens a socket and closes
/// it again. Errors: no address has this name (usage); it is not this machine's, or the port is taken or not this
/// user's to open (runtime).
[[nodiscard]] result<void> can_listen(const host_port& at);

}  // namespace furlong::actors::net
