#include "federated/ranking/candidates.hpp"

#include <algorithm>
#include <utility>

#include "base/random.hpp"
#include "federated/ranking/metrics.hpp"

namespace furlong::federated::ranking {

void mark_items(const population& clients, group scored, std::uint32_t client, std::span<const std::uint32_t> asked,
                std::vector<item_use>& uses) {
  uses.assign(clients.facts().features, item_use::candidate);
  models::examples scratch;
  for (const auto which : {part::train, part::validation, part::test}) {
    const bool is_later = which == part::test && scored == group::validation;
    scratch.clear();
    for (const auto item : clients.load(client, which, scratch).features)
      uses[item] = is_later ? item_use::later : item_use::known;
  }
  for (const auto item : asked) uses[item] = item_use::held_out;
}

void draw_candidates(std::uint64_t seed, std::uint32_t client, group scored, std::uint32_t count,
                     std::span<const item_use> uses, std::vector<std::uint32_t>& drawn) {
  drawn.clear();
  const auto items = static_cast<std::uint32_t>(uses.size());
  const auto possible = static_cast<std::uint32_t>(std::ranges::count(uses, item_use::candidate));
  const auto each = std::min(count, possible / 2);
  random_stream stream(seed, purpose::ranking_candidates, 0, client);
  if (possible / 4 < each || items / 4 > possible) {  // most draws would be in vain
    for (std::uint32_t item = 0; item < items; ++item)
      if (uses[item] == item_use::candidate) drawn.push_back(item);
    for (std::uint32_t i = 0; i < 2 * each; ++i) std::swap(drawn[i], drawn[i + stream.below(possible - i)]);
    drawn.resize(std::size_t{2} * each);
  } else {
    std::vector<item_use> left(uses.begin(), uses.end());
    while (drawn.size() < std::size_t{2} * each)
      if (const auto item = stream.below(items); std::exchange(left[item], item_use::known) == item_use::candidate)
        drawn.push_back(item);
  }
  if (scored == group::validation)
    drawn.erase(drawn.begin(), drawn.begin() + each);
  else
    drawn.resize(each);
}

double chance_among_unknown(std::uint32_t item, std::span<const item_use> uses, std::span<const float> scores,
                            std::uint32_t places) {
  std::uint32_t higher = 0;
  std::uint32_t same = 0;
  for (std::uint32_t rival = 0; rival < scores.size(); ++rival) {
    if (uses[rival] == item_use::known || rival == item) continue;
    higher += scores[rival] > scores[item] ? 1 : 0;
    same += scores[rival] == scores[item] ? 1 : 0;
  }
  return chance_of_place(higher, same, places);
}

}  // namespace furlong::federated::ranking
