// Reads control messages.
#pragma once

#include "base/result.hpp"
#include "wire/control.hpp"
#include "wire/furlong.capnp.h"

namespace furlong::wire::detail {

[[nodiscard]] bool is_control(schema::Message::Which kind);

/// Checks a message and copies it out. Throws kj::Exception where a pointer is unsound.
/// @pre is_control(from.which())
[[nodiscard]] result<control> read_control(schema::Message::Reader reader);

}  // namespace furlong::wire::detail
