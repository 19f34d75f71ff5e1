#include "tools/runs/ranking_names.hpp"

#include <algorithm>
#include <array>

#include "base/parse_number.hpp"

namespace furlong::tools {

bool is_of_ranking(std::string_view name) {
  constexpr std::array<std::string_view, 4> begins = {"full_", "sampled_", "coverage_", "exposure_"};
  return std::ranges::any_of(begins, [&](auto begin) { return name.starts_with(begin); });
}

std::optional<std::uint64_t> shown_places(const std::vector<std::string>& names) {
  constexpr std::uint64_t wanted = 10;
  constexpr std::string_view figure = "_ndcg_";
  std::optional<std::uint64_t> above;  // the smallest from `wanted` on
  std::optional<std::uint64_t> below;  // the largest below
  for (const std::string_view name : names) {
    const auto begin = name.find(figure);
    if (!is_of_ranking(name) || begin == std::string_view::npos) continue;
    const auto places = parse_number<std::uint64_t>(name.substr(begin + figure.size()));
    if (!places) continue;
    if (*places >= wanted)
      above = std::min(above.value_or(*places), *places);
    else
      below = std::max(below.value_or(*places), *places);
  }
  return above ? above : below;
}

bool is_shown(std::string_view name, std::uint64_t places) {
  const auto end = "_" + std::to_string(places);
  return is_of_ranking(name) && (name.ends_with("_hr" + end) || name.ends_with("_ndcg" + end));
}

}  // namespace furlong::tools
