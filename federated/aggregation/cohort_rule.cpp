#include "federated/aggregation/cohort_rule.hpp"

#include <optional>

#include "federated/aggregation/dense_values.hpp"
#include "federated/aggregation/robust/pipeline.hpp"
#include "federated/aggregation/robust/row_rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

namespace {

using robust::pipeline;
using robust::robust_rule;

class cohort_rule final : public aggregation_rule {
 public:
  cohort_rule(const robust_rule& rule, const aggregation_settings& settings, models::layout_ptr shared)
      : shared_(std::move(shared)), pipeline_(rule, settings.rule.options) {
    if (settings.rule.options.text("rows") == "per-row") rows_.emplace(settings.rule.options, *shared_);
  }

  [[nodiscard]] std::size_t words() const override { return 0; }
  std::optional<rejection> encode(const models::delta&, const fold_context&, std::span<std::int64_t>) override {
    return std::nullopt;
  }

  void report(std::span<std::int64_t> /*sum*/, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    std::vector<const models::delta*> changes;
    for (const auto& update : out.updates)
      if (update.weight > 0) changes.push_back(&update.change);
    std::vector<std::size_t> whole;  // tensors that are aggregated as one vector
    for (std::size_t t = 0; t < shared_->count(); ++t)
      if (!rows_ || (*shared_)[t].index == models::row_index::none) whole.push_back(t);
    const auto bad = pipeline_.bad_among(changes.size());
    out.usable = !changes.empty() && changes.size() >= fewest_updates(pipeline_.rule(), bad);
    if (!out.usable) return;
    if (!whole.empty()) aggregate_whole(changes, whole, bad, out.change);
    if (rows_) rows_->aggregate(pipeline_, changes, bad, out.change);
  }

 private:
  void aggregate_whole(std::span<const models::delta* const> changes, std::span<const std::size_t> tensors,
                       std::size_t bad, models::shared_parameters& target) const {
    std::vector<std::vector<float>> rooms(changes.size());
    std::vector<std::span<const float>> rows;
    for (std::size_t i = 0; i < changes.size(); ++i)
      rows.push_back(dense_values(*shared_, *changes[i], tensors, rooms[i]));
    const auto made = pipeline_.aggregate(std::move(rows), bad);
    auto next = made->begin();
    for (const auto tensor : tensors)
      for (auto& value : target.tensor(tensor)) value = static_cast<float>(*next++);
  }

  models::layout_ptr shared_;
  pipeline pipeline_;
  std::optional<robust::row_rule> rows_;
};

void check(scenario_view& scenario, const robust_rule& rule) {
  robust::check_pipeline(scenario, &rule);
  const std::string rows = "algorithm.aggregation.rows";
  const std::string before = "algorithm.aggregation.before";
  if (!scenario.is_good(rows) || !scenario.is_good(before)) return;
  const bool by_row = scenario.given().text(rows) == "per-row";
  for (const std::string key : {"algorithm.aggregation.row_quantile", "algorithm.aggregation.kappa"})
    if (!by_row && scenario.is_changed(key)) scenario.note(key + " has no effect: rows is \"whole\"");
  if (by_row && !scenario.given().list(before).empty())
    scenario.report(before, "compares or shortens whole updates, and rows = \"per-row\" aggregates each row by itself",
                    "remove it, or write rows = \"whole\"");
}

rule_entry entry_of(const robust_rule& rule) {
  rule_entry entry;
  entry.kind = rule.kind;
  entry.doc = rule.doc + " Holds the updates of a round: docs/robustness.md.";
  entry.options = robust::pipeline_options();
  entry.options.insert(entry.options.end(), rule.options.begin(), rule.options.end());
  const auto of_rows = robust::row_options();
  entry.options.insert(entry.options.end(), of_rows.begin(), of_rows.end());
  entry.traits = {.counts_alike = true, .holds_updates = true, .robust = true};
  entry.build = [&rule](const aggregation_settings& settings, const models::layout_ptr& shared,
                        const std::vector<double>&, const rule_draws&) -> std::unique_ptr<aggregation_rule> {
    return std::make_unique<cohort_rule>(rule, settings, shared);
  };
  entry.check = [&rule](scenario_view& scenario) { check(scenario, rule); };
  return entry;
}

}  // namespace

std::vector<rule_entry> robust_entries() {
  std::vector<rule_entry> entries;
  for (const auto& rule : robust::robust_rules()) entries.push_back(entry_of(rule));
  return entries;
}

}  // namespace furlong::federated
