// Figures of an evaluation by their names.
#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "federated/evaluation/evaluation.hpp"

namespace furlong::federated {

namespace {

struct named_group {
  std::string_view name;
  std::optional<group_metrics> evaluation_report::*group;
};
constexpr std::array<named_group, 4> named_groups = {{{group_names[0], &evaluation_report::validation},
                                                      {group_names[1], &evaluation_report::seen},
                                                      {group_names[2], &evaluation_report::unseen},
                                                      {group_names[3], &evaluation_report::train}}};

struct known_figure {
  std::string_view name;
  bool smaller_is_better;
  std::optional<double> (*figure)(const group_metrics&);
  std::optional<models::objective> only = std::nullopt;  ///< models that have it; empty: all but custom ones

  [[nodiscard]] bool fits(const models::model* model) const {
    if (model == nullptr || name == "loss") return true;
    return only ? model->objective() == *only : models::has_accuracy(model->objective());
  }
};
constexpr std::array<known_figure, 7> known_figures = {
    {{"rmse", true, [](const group_metrics& metrics) { return metrics.rmse; }, models::objective::squared_error},
     {"perplexity", true, [](const group_metrics& metrics) { return metrics.perplexity; },
      models::objective::next_token},
     {"accuracy", false, [](const group_metrics& metrics) { return metrics.accuracy; }},
     {"accuracy_words", false, [](const group_metrics& metrics) { return metrics.accuracy_words; },
      models::objective::next_token},
     {"accuracy_no_end", false, [](const group_metrics& metrics) { return metrics.accuracy_no_end; },
      models::objective::next_token},
     {"auc", false, [](const group_metrics& metrics) { return metrics.auc; }, models::objective::logistic},
     {"loss", true, [](const group_metrics& metrics) { return std::optional(metrics.loss); }}}};

/// The parts of a metric's name: its group, null where there is none, and its figure.
std::pair<const named_group*, std::string_view> parts_of(std::string_view name) {
  const auto point = std::min(name.find('.'), name.size());
  const auto* scored = std::ranges::find(named_groups, name.substr(0, point), &named_group::name);
  return {scored == named_groups.end() ? nullptr : scored, name.substr(std::min(point + 1, name.size()))};
}

/// The value of a figure and its direction, where the report has it.
std::optional<named_figure> figure_of(const evaluation_report& report, std::string_view name) {
  const auto [scored, figure] = parts_of(name);
  if (scored == nullptr || !(report.*(scored->group))) return std::nullopt;
  const group_metrics& metrics = *(report.*(scored->group));
  for (const auto& custom : metrics.custom)
    if (custom.name == figure) return custom;
  const auto* known = std::ranges::find(known_figures, figure, &known_figure::name);
  const auto value = known == known_figures.end() ? std::nullopt : known->figure(metrics);
  if (!value) return std::nullopt;
  return named_figure{std::string(figure), *value, known->smaller_is_better};
}

}  // namespace

std::optional<double> metric_of(const evaluation_report& report, std::string_view name) {
  const auto found = figure_of(report, name);
  return found ? std::optional(found->value) : std::nullopt;
}

bool valid_metric(std::string_view name, const models::model* model) {
  const auto [scored, figure] = parts_of(name);
  if (scored == nullptr) return false;
  const auto* known = std::ranges::find(known_figures, figure, &known_figure::name);
  if (known != known_figures.end() && known->fits(model)) return true;
  if (model == nullptr) return false;
  const auto own = model->metrics();
  return std::ranges::find(own, figure, &models::model_metric::name) != own.end();
}

bool smaller_is_better(const evaluation_report& report, std::string_view name) {
  const auto found = figure_of(report, name);
  return found && found->smaller_is_better;
}

bool smaller_is_better(const models::model& model, std::string_view figure) {
  const auto own = model.metrics();
  if (const auto metric = std::ranges::find(own, figure, &models::model_metric::name); metric != own.end())
    return metric->smaller_is_better;
  const auto* known = std::ranges::find(known_figures, figure, &known_figure::name);
  return known != known_figures.end() && known->smaller_is_better;
}

std::string figure_names(const models::model* model) {
  std::vector<std::string_view> fitting;
  const auto own = model == nullptr ? std::span<const models::model_metric>() : model->metrics();
  for (const auto& metric : own) fitting.push_back(metric.name);
  for (const auto& known : known_figures)
    if (known.fits(model)) fitting.push_back(known.name);
  std::string text;
  for (std::size_t i = 0; i < fitting.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == fitting.size() ? " or " : ", ").append(fitting[i]);
  return text;
}

}  // namespace furlong::federated
