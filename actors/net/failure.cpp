#include "actors/net/failure.hpp"

namespace furlong::actors::net {

std::string_view to_string(failure_cause cause) {
  switch (cause) {
    case failure_cause::unknown_host: return "unknown-host";
    case failure_cause::refused: return "refused";
    case failure_cause::unreachable: return "unreachable";
    case failure_cause::timed_out: return "timed-out";
    case failure_cause::protocol: return "protocol";
    case failure_cause::untrusted: return "untrusted";
    case failure_cause::expired: return "expired";
    case failure_cause::wrong_host: return "wrong-host";
    case failure_cause::rejected: return "rejected";
    case failure_cause::lost: return "lost";
    case failure_cause::stopped: break;
  }
  return "stopped";
}

}  // namespace furlong::actors::net
