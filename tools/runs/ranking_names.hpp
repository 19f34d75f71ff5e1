// Which of the figures of rankings tables, charts and progress lines show: there are dozens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::tools {

/// True for the name of a figure of rankings: "full_ndcg_10", "sampled_mrr", "coverage_5".
[[nodiscard]] bool is_of_ranking(std::string_view name);
/// The K whose figures are shown: 10, or the smallest one above, or else the largest. Nothing without rankings.
[[nodiscard]] std::optional<std::uint64_t> shown_places(const std::vector<std::string>& names);
/// True for the hit ratio and the NDCG of that K.
[[nodiscard]] bool is_shown(std::string_view name, std::uint64_t places);

}  // namespace furlong::tools
