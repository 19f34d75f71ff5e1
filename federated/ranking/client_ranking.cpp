#include "federated/ranking/client_ranking.hpp"

#include <algorithm>
#include <cmath>

#include "federated/ranking/candidates.hpp"
#include "federated/ranking/metrics.hpp"
#include "models/logistic.hpp"

namespace furlong::federated::ranking {

namespace {

std::vector<float> scores_of(std::span<const std::uint32_t> numbers, std::span<const float> items) {
  std::vector<float> scores;
  scores.reserve(numbers.size());
  for (const auto item : numbers) scores.push_back(items[item]);
  return scores;
}

/// Held-out items among candidates.
struct placed_items {
  std::vector<tied_items> levels;
  std::vector<figures_at> first;  ///< by index of ranking_settings::top

  placed_items(std::vector<float> held_out, std::span<const float> candidates, std::span<const std::uint32_t> tops) {
    find_levels(held_out, candidates, levels);
    for (const auto places : tops) first.push_back(first_places(levels, places));
  }
};

double pairwise_loss(std::span<const float> held_out, std::span<const float> candidates) {
  double sum = 0.0;
  for (const float score : held_out)
    for (const float rival : candidates) sum += models::logistic_loss(score - rival, 1.0F);
  return sum / static_cast<double>(candidates.size());
}

double value_of(const ranking_figure& figure, const placed_items& placed) {
  const auto& found = placed.first[figure.top];
  switch (figure.kind) {
    case figure_kind::reciprocal_rank: return reciprocal_rank(placed.levels);
    case figure_kind::hit: return found.hit;
    case figure_kind::ndcg: return found.ndcg;
    case figure_kind::recall: return found.recall;
    case figure_kind::precision: return found.precision;
    case figure_kind::map: return found.map;
    case figure_kind::coverage:
    case figure_kind::exposure: break;  // not of held-out items
  }
  return 0.0;
}

/// Over the exposed items that the client does not know: the chance of each to be among the first places.
models::metric_sum exposure(std::span<const std::uint32_t> exposed, std::span<const item_use> uses,
                            std::span<const float> items, std::uint32_t places) {
  models::metric_sum sum;
  for (const auto item : exposed) {
    if (uses[item] == item_use::known) continue;
    sum.sum += chance_among_unknown(item, uses, items, places);
    sum.count += 1.0;
  }
  return sum;
}

}  // namespace

client_ranking::client_ranking(const experiment& setup)
    : e_(setup), figures_(figures_of(setup.settings.evaluation->ranking)) {}

void client_ranking::score(group scored, std::uint32_t client, std::span<const std::uint32_t> asked,
                           std::span<const float> items, client_score& out) const {
  const auto& settings = e_.settings.evaluation->ranking;
  if (!std::ranges::all_of(items, [](float value) { return std::isfinite(value); })) {
    out = failed_score();
    return;
  }
  std::vector<item_use> uses;
  mark_items(*e_.clients, scored, client, asked, uses);
  std::vector<std::uint32_t> drawn;
  draw_candidates(e_.settings.seed, client, scored, settings.candidates, uses, drawn);
  if (drawn.empty()) return;
  const auto held_out = scores_of(asked, items);
  const auto drawn_scores = scores_of(drawn, items);
  std::vector<std::uint8_t> left_out(settings.full ? items.size() : 0);
  std::vector<float> all_scores(left_out.size());
  std::size_t rivals = 0;
  for (std::size_t item = 0; item < left_out.size(); ++item) {  // without a branch
    left_out[item] = uses[item] == item_use::known ? 1 : 0;
    all_scores[rivals] = items[item];
    rivals += left_out[item] == 0 && uses[item] != item_use::held_out ? 1 : 0;
  }
  all_scores.resize(rivals);

  out.examples = asked.size();
  out.loss = pairwise_loss(held_out, drawn_scores);
  const placed_items among_some(held_out, drawn_scores, settings.top);
  const placed_items among_all(held_out, all_scores, settings.top);
  for (const auto& figure : figures_) {
    if (figure.kind == figure_kind::coverage)
      out.metrics.emplace_back();  // of all clients together: evaluation.cpp
    else if (figure.kind == figure_kind::exposure)
      out.metrics.push_back(exposure(settings.exposed_items, uses, items, settings.top[figure.top]));
    else
      out.metrics.push_back({value_of(figure, figure.full ? among_all : among_some), 1.0});
  }
  if (settings.full) find_best(items, left_out, settings.top.back(), out.best);
}

}  // namespace furlong::federated::ranking
