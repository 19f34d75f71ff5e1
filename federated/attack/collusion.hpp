// Clients that collude. The server's process plays them: their honest updates are held back (accumulator::defer), and
// when a round has all that it will have, the update that they send is made of what they know. So they send last, and
// who drops out or is late is as in a run without an attack.
#pragma once

#include "federated/experiment/update.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

class accumulator;
struct experiment;

/// Begins a round that starts from this version: whether the sum holds back the updates of bad clients.
void hold_back_bad_updates(const experiment& run, std::uint64_t version, accumulator& sum);

/// Adds the updates of the round's bad clients to the sum, within the limits of its version. Limits of later versions
/// follow from the sizes of the updates that these clients would have sent honestly.
void add_bad_updates(const experiment& run, const server_state& state, const update_limits& limits, accumulator& sum);

}  // namespace furlong::federated
