// Which examples of a client an evaluation scores, and from which the model is personalized before. No key of training
// has a part in it.
//
// Clients that train: their test part (group seen), validation part or train part, and their train part before.
// Held-out clients: the part that is named like their group, and their train part before. Of a client without such a
// part the train part is scored: if the algorithm adapts such clients, or evaluation.split says so, examples 0, 2, 4,
// ... in the population's order are support and 1, 3, 5, ... query, which is scored; otherwise all of it. So is a
// client that trains, if it is scored as a stranger (an audit).
#pragma once

#include <cstdint>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// The part of a client that a group is scored on; part::train of the group train, and of strangers without a part of
/// their own for it.
[[nodiscard]] part scored_part(const population& clients, group scored, std::uint32_t client);

/// Of a held-out client, or one that is scored as a stranger.
struct scored_examples {
  part from = part::train;  ///< that `asked` are of
  models::examples known;   ///< support: the model is personalized from them; empty: from none
  models::examples asked;   ///< query: they are scored
};
[[nodiscard]] scored_examples split_held_out(const experiment& e, group scored, std::uint32_t client);

}  // namespace furlong::federated
