// Generated ratings that nobody keeps: a client's are made whenever they are asked for.
//
// In memory: the truth about the items, four bytes a client for the lists of who trains and who does not, and, when
// somebody is held out, a bit a client. A million clients cost 4 MB.
#pragma once

#include <memory>

#include "scenarios/data/rating_split.hpp"
#include "scenarios/data/synthetic_ratings.hpp"

namespace furlong::scenarios {

/// The population that split_ratings() makes of all ratings of the truth, number for number. load() fills `scratch` in
/// O(ratings of the client), count() and taste() are O(1). Thread-safe: each thread keeps working memory of its own, of
/// the size of its longest list of ratings and a bit an item.
[[nodiscard]] std::shared_ptr<const federated::population> synthesize_on_demand(const synthetic_settings& truth,
                                                                                const rating_settings& split);

}  // namespace furlong::scenarios
