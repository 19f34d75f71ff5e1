#include "tools/cli/test_proposal.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "tools/compare/statistics.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

namespace {

/// To five digits, away from the mean: 0.912344 becomes 0.91234 downwards and 0.91235 upwards.
std::string outwards(double value, bool up) {
  if (value == 0.0) return "0.0";
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 4.0);
  const double steps = value / unit;
  return fmt::format("{:.5g}", (up ? std::ceil(steps - 1e-9) : std::floor(steps + 1e-9)) * unit);
}

/// The figures of all groups that every run has, by dotted key; counts of what was scored apart.
std::map<std::string, std::vector<double>> evaluated(std::span<const proposed_run> runs) {
  std::map<std::string, std::vector<double>> by_key;
  for (const auto& run : runs)
    for (const auto group : evaluation_groups) {
      const auto figures = run.summary["eval"].value(std::string(group), json::object());
      for (const auto& [key, value] : figures.items())
        if (value.is_number() && key != "examples" && key != "clients" && key != "unscored")
          by_key[fmt::format("eval.{}.{}", group, key)].push_back(value.get<double>());
    }
  std::erase_if(by_key, [&](const auto& entry) { return entry.second.size() < runs.size(); });
  return by_key;
}

}  // namespace

std::string proposed_bounds(const std::string& table, std::span<const proposed_run> runs, double spread) {
  std::string text = fmt::format("[{}]\n", table);
  if (runs.size() == 1) {
    const auto& summary = runs.front().summary;
    return text + fmt::format("\"model_sha256\" = {{is = {{{} = \"{}\"}}}}  # seed {}; bounds need several seeds\n",
                              summary.value("kernel_level", ""), summary.value("model_sha256", ""), runs.front().seed);
  }
  text += "# Of the seeds";
  for (const auto& run : runs) text += fmt::format(" {}", run.seed);
  text += fmt::format(": mean +- {:g} standard deviations.\n", spread);
  for (const auto& [key, values] : evaluated(runs)) {
    const auto estimated = estimate_of(values);
    if (!estimated.sd) continue;
    const double margin = spread * *estimated.sd;
    text += fmt::format("\"{}\" = {{at_least = {}, at_most = {}}}\n", key, outwards(estimated.mean - margin, false),
                        outwards(estimated.mean + margin, true));
  }
  return text;
}

}  // namespace furlong::tools
