// Why a connection failed.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.hpp"

namespace furlong::actors::net {

enum class failure_cause : std::uint8_t {
  unknown_host,  ///< the name has no address
  refused,       ///< no listener there
  unreachable,   ///< no route, or another error of the network
  timed_out,     ///< no answer in time
  protocol,      ///< another protocol: no TLS, unexpected TLS, no frames
  untrusted,     ///< its certificate is of another authority, or not for this use
  expired,       ///< its certificate is expired or not yet valid
  wrong_host,    ///< its certificate is for another host
  rejected,      ///< the peer rejects our certificate or us: see the reason
  lost,          ///< the connection ended before it was open
  stopped,       ///< the transport ended
};
/// "wrong-host".
[[nodiscard]] std::string_view to_string(failure_cause cause);

struct connect_failure {
  failure_cause cause = failure_cause::lost;
  error what;
};

}  // namespace furlong::actors::net
