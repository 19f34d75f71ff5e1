#include "federated/aggregation/robust/pipeline.hpp"

#include <algorithm>
#include <cmath>

#include "federated/experiment/algorithm.hpp"

namespace furlong::federated::robust {

namespace {

const std::string table = "algorithm.aggregation.";

std::string names_of_steps() {
  std::string names;
  for (const auto& step : before_steps())
    names += (names.empty() ? "\"" : step.kind == before_steps().back().kind ? " or \"" : ", \"") + step.kind + "\"";
  return names;
}

void check_tolerated(scenario_view& scenario, const robust_rule* rule) {
  const std::string key = table + "tolerate";
  if (!scenario.is_good(key)) return;
  const double value = scenario.given().number(key);
  if (value >= 0.5 && (value < 1.0 || value != std::floor(value)))
    return scenario.report(key, "is neither a share below one half nor a whole number",
                           "write the share of bad clients that is tolerated, or their number in a round");
  const std::string size = "participation.per_round";
  if (rule == nullptr || !scenario.is_good(size)) return;
  const auto count = static_cast<std::size_t>(scenario.given().integer(size));
  const auto bad = tolerated(value, count);
  if (count < fewest_updates(*rule, bad))
    scenario.report(size,
                    "is " + std::to_string(count) + ", and " + rule->kind + " needs " +
                        std::to_string(fewest_updates(*rule, bad)) + " updates to tolerate " + std::to_string(bad) +
                        " bad ones",
                    "raise it, or lower " + key);
}

}  // namespace

std::vector<option_spec> pipeline_options() {
  return {number_option("tolerate", 0.1,
                        "Bad updates in a round that must do no harm, f: a share below 0.5 of the round's updates, "
                        "rounded down, or a number.",
                        {0.0, 1e6}),
          {.name = "before",
           .type = option_type::text_list,
           .fallback = std::vector<std::string>(),
           .doc = "Steps before the rule, in this order: \"clip\" shortens updates to `clip`; \"arc\" clips the "
                  "2 f (n - f) / n longest of n updates to the longest of the others; \"nnm\" replaces each by the "
                  "mean of the n - f nearest to it."},
          number_option("clip", 2.0, "before = [\"clip\"]: largest L2 norm of an update.", {0.0, 1e300, true})};
}

void check_pipeline(scenario_view& scenario, const robust_rule* rule) {
  check_tolerated(scenario, rule);
  const std::string key = table + "before";
  if (!scenario.is_good(key)) return;
  const auto& steps = scenario.given().list(key);
  for (const auto& kind : steps)
    if (find_before_step(kind) == nullptr)
      return scenario.report(key, "names \"" + kind + "\", which is no step", "choose " + names_of_steps());
  if (const std::string clip = table + "clip";
      scenario.is_changed(clip) && std::ranges::find(steps, "clip") == steps.end())
    scenario.note(clip + " has no effect: before does not name \"clip\"");
}

pipeline::pipeline(const robust_rule& rule, option_values options)
    : rule_(&rule), options_(std::move(options)), tolerate_(options_.number("tolerate")) {
  for (const auto& kind : options_.list("before")) before_.push_back(find_before_step(kind));
}

std::optional<std::vector<double>> pipeline::aggregate(std::vector<std::span<const float>> rows,
                                                       std::size_t bad) const {
  if (rows.empty() || rows.size() < fewest_updates(*rule_, bad)) return std::nullopt;
  cohort compared(std::move(rows));
  for (const auto* step : before_) step->apply(compared, bad, options_);
  return aggregate_rows(*rule_, compared, bad, options_);
}

}  // namespace furlong::federated::robust
