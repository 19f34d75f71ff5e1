// The keys of [evaluation] that say how items are ranked, for data that are interactions.
#pragma once

#include <vector>

#include "federated/settings/evaluation.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/schema.hpp"

namespace furlong::scenarios {

void add_ranking_keys(std::vector<key_spec>& keys);
/// True if the data of a scenario are interactions, as far as its options determine this.
[[nodiscard]] bool ranks_items(const draft& document);
/// Reports invalid values, and notes keys without effect.
void check_ranking(draft& document);
/// True if these keys have no problem so far.
[[nodiscard]] bool ranking_is_good(const draft& document);
/// The settings of valid values; `exposed_items` are set by settle_exposed().
[[nodiscard]] federated::ranking_settings read_ranking(const option_values& values);
/// Finds the items of evaluation.exposed in the data. Fails (kind usage) if there is no such item.
[[nodiscard]] result<void> settle_exposed(scenario& given, const dataset& data);

}  // namespace furlong::scenarios
