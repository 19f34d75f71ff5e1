// When clients can be reached for a short time only.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/protocol/roster.hpp"
#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::protocol {

/// After doubled pauses a server that waits for clients would miss short windows of availability. It asks for them
/// again and again, of all clients: what was foreseen of a client is kept while it holds.
class short_windows {
 public:
  /// Both must outlive this one. `presence` may be null if nothing is asked.
  short_windows(std::span<const std::uint32_t> clients, roster* presence) : clients_(clients), roster_(presence) {}

  /// The first instant before `next` at which a client becomes reachable that is so no more at `next`; else `next`.
  /// @param version the current one
  [[nodiscard]] virtual_time first_before(virtual_time next, virtual_time now, std::uint64_t version);

 private:
  struct outlook {
    virtual_time until = 0;  ///< before this instant nothing changes
    bool reachable = false;
  };

  std::span<const std::uint32_t> clients_;
  roster* roster_;
  std::vector<outlook> outlooks_;  ///< of the clients, in their order; none before the first call
  std::uint64_t foresight_ = 0;    ///< that they rely on
  std::uint64_t version_ = 0;      ///< of the last call
};

}  // namespace furlong::federated::protocol
