// Generated ratings that are not stored: each client's are generated on demand.
//
// In memory: the item parameters, four bytes per client for the lists of training and held-out clients, and, if clients
// are held out, a bit per client. A million clients take 4 MB.
#pragma once

#include <memory>

#include "scenarios/data/rating_split.hpp"
#include "scenarios/data/synthetic_ratings.hpp"

namespace furlong::scenarios {

/// The population that split_ratings() makes of all generated ratings, with identical values. load() fills `scratch` in
/// O(ratings of the client), count() and taste() are O(1). Thread-safe: each thread has its own buffers, of the size of
/// its longest list of ratings and a bit per item.
[[nodiscard]] std::shared_ptr<const federated::population> synthesize_on_demand(const synthetic_settings& truth,
                                                                                const rating_settings& split);

}  // namespace furlong::scenarios
