#include "federated/aggregation/robust/row_rule.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "models/kernels/kernels.hpp"

namespace furlong::federated::robust {

/// A row of one update that is not all zeros.
struct row_rule::changed_row {
  std::size_t row = 0;
  std::size_t client = 0;  ///< its place among the updates
  std::span<const float> values;
  double norm = 0.0;
};

std::vector<option_spec> row_options() {
  return {choice_option("rows", "whole",
                        "whole: an update is one vector. per-row: rows of features and clients are aggregated among "
                        "the clients that change them; those of too few clients are clipped and divided by kappa.",
                        {"whole", "per-row"}),
          number_option("row_quantile", 0.5,
                        "per-row: rows of few clients are clipped to this quantile of the lengths of changed rows.",
                        {0.0, 1.0}),
          integer_option("kappa", 0, "per-row: least divisor of a row of few clients; 0: 2 f + 1.", {0, 1000000})};
}

row_rule::row_rule(const option_values& options, const models::layout& shared)
    : shared_(&shared),
      quantile_(options.number("row_quantile")),
      kappa_(static_cast<std::size_t>(options.integer("kappa"))) {}

namespace {

/// The value at a quantile, of two the lower.
double value_at(std::vector<double>& values, double quantile) {
  const auto last = static_cast<double>(values.size() - 1);
  const auto place = values.begin() + static_cast<std::ptrdiff_t>(std::floor(quantile * last));
  std::ranges::nth_element(values, place);
  return *place;
}

}  // namespace

double row_rule::longest(std::span<const changed_row> rows) const {
  std::map<std::size_t, std::vector<double>> by_client;
  for (const auto& row : rows) by_client[row.client].push_back(row.norm);
  std::vector<double> quantiles;
  for (auto& [client, norms] : by_client) quantiles.push_back(value_at(norms, quantile_));
  return value_at(quantiles, 0.5);
}

void row_rule::aggregate_tensor(std::size_t tensor, const pipeline& rule, std::span<const models::delta* const> changes,
                                std::size_t bad, std::span<float> target) const {
  const std::size_t cols = (*shared_)[tensor].cols;
  std::vector<changed_row> rows;
  for (std::size_t client = 0; client < changes.size(); ++client) {
    const auto& change = *changes[client];
    const auto values = change.values_of(tensor);
    for (std::size_t i = 0; i * cols < values.size(); ++i) {
      const auto row = values.subspan(i * cols, cols);
      const double squared = models::kernels().norm_squared(row.data(), row.size());
      if (squared > 0.0)
        rows.push_back(
            {change.pieces[tensor].by_rows ? change.rows_of(tensor)[i] : i, client, row, std::sqrt(squared)});
    }
  }
  if (rows.empty()) return;
  std::ranges::sort(rows, {}, [](const changed_row& row) { return std::pair(row.row, row.client); });
  const double most = longest(rows);
  const auto least_divisor = kappa_ > 0 ? kappa_ : 2 * bad + 1;
  for (auto first = rows.begin(); first != rows.end();) {
    const auto last = std::find_if(first, rows.end(), [&](const auto& next) { return next.row != first->row; });
    const std::span owners(first, last);
    const auto values_of_row = target.subspan(first->row * cols, cols);
    first = last;
    std::vector<std::span<const float>> values;
    for (const auto& owner : owners) values.push_back(owner.values);
    if (const auto made = rule.aggregate(std::move(values), bad)) {
      std::ranges::transform(*made, values_of_row.begin(), [](double value) { return static_cast<float>(value); });
      continue;
    }
    const auto divisor = static_cast<double>(std::max(owners.size(), least_divisor));
    for (std::size_t j = 0; j < cols; ++j) {
      double sum = 0.0;
      for (const auto& owner : owners) sum += std::min(1.0, most / owner.norm) * static_cast<double>(owner.values[j]);
      values_of_row[j] = static_cast<float>(sum / divisor);
    }
  }
}

void row_rule::aggregate(const pipeline& rule, std::span<const models::delta* const> changes, std::size_t bad,
                         models::shared_parameters& target) const {
  for (std::size_t t = 0; t < shared_->count(); ++t)
    if ((*shared_)[t].index != models::row_index::none) aggregate_tensor(t, rule, changes, bad, target.tensor(t));
}

}  // namespace furlong::federated::robust
