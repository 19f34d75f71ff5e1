// The figures of rankings: which ones a scenario has, and how they are named.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "federated/settings/evaluation.hpp"
#include "models/model.hpp"

namespace furlong::federated::ranking {

enum class figure_kind : std::uint8_t { reciprocal_rank, hit, ndcg, recall, precision, map, coverage, exposure };

struct ranking_figure {
  std::string name;  ///< "full_ndcg_10", "coverage_20"
  figure_kind kind = figure_kind::hit;
  bool full = true;     ///< among all items; else among drawn candidates
  std::size_t top = 0;  ///< index of its K in ranking_settings::top; mrr has none
};

/// The largest number of values of evaluation.top.
inline constexpr std::size_t most_tops = 8;

/// All figures, always in the same order: of all items, of drawn candidates, coverage and exposure.
[[nodiscard]] std::vector<ranking_figure> figures_of(const ranking_settings& settings);

/// The same model, scored by rankings: its objective is models::objective::ranking and its metrics() are these figures.
[[nodiscard]] std::shared_ptr<const models::model> rank_by(std::shared_ptr<const models::model> model,
                                                           const ranking_settings& settings);

}  // namespace furlong::federated::ranking
