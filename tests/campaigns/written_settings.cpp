#include "tests/campaigns/written_settings.hpp"

#include <algorithm>
#include <limits>

namespace furlong::campaigns {

std::vector<scenarios::setting_override> written_settings(bool ratings) {
  const std::string table = "algorithm.aggregation.";
  const std::string origin = "--written";
  std::vector<scenarios::setting_override> settings = {{table + "rule", "trimmed-mean", origin}};
  const auto add = [&](const std::string& key, const std::string& value) {
    settings.push_back({table + key, value, origin});
  };
  add("tolerate", ratings ? "0.49" : "0.1");
  if (ratings) {
    add("rows", "per-row");
    add("row_quantile", "0.9");
  } else {
    add("before", "['arc', 'nnm']");
  }
  return settings;
}

void add_cost(const std::string& name, const std::vector<std::uint64_t>& seeds, const run_quality& plain,
              const run_quality& written, bench::figures& out) {
  constexpr double most_lost = 0.01;
  double least = std::numeric_limits<double>::infinity();
  for (const auto seed : seeds) least = std::min(least, written(seed) / plain(seed));
  out.add({name, "honest-cost", 1.0 - least, "of the figure", "default", least, 1.0 - most_lost});
}

}  // namespace furlong::campaigns
