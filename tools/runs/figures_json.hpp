// Figures as JSON, for a run's files and its dashboard.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <string>

#include "federated/evaluation/evaluation.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::tools {

using json = nlohmann::ordered_json;

/// An indented object for a file or stdout. Invalid UTF-8 in names is replaced.
[[nodiscard]] inline std::string json_text(const json& object) {
  return object.dump(2, ' ', false, json::error_handler_t::replace);
}

/// {"rmse": ..., "accuracy": ..., "auc": ..., "accuracy_words": ..., "accuracy_no_end": ..., "perplexity": ..., "loss":
/// ..., "examples": ..., "clients": ..., "unscored": ...}, those that apply; of a custom objective the model's own
/// metrics by name, of rankings their figures.
[[nodiscard]] inline json to_json(const federated::group_metrics& metrics) {
  json out;
  if (metrics.rmse) out["rmse"] = *metrics.rmse;
  if (metrics.accuracy) out["accuracy"] = *metrics.accuracy;
  if (metrics.auc) out["auc"] = *metrics.auc;
  if (metrics.accuracy_words) out["accuracy_words"] = *metrics.accuracy_words;
  if (metrics.accuracy_no_end) out["accuracy_no_end"] = *metrics.accuracy_no_end;
  if (metrics.perplexity) out["perplexity"] = *metrics.perplexity;
  if (metrics.attack_success) out["attack_success"] = *metrics.attack_success;
  for (const auto& metric : metrics.custom) out[metric.name] = metric.value;
  out["loss"] = metrics.loss;
  out["examples"] = metrics.examples;
  out["clients"] = metrics.clients;
  if (metrics.unscored > 0) out["unscored"] = metrics.unscored;
  return out;
}

/// Counts by name, without zeros: {"norm-bound": 3}.
template <class Name, std::size_t Count>
[[nodiscard]] json counts_json(const std::array<std::uint64_t, Count>& counts) {
  json by_name = json::object();
  for (std::size_t i = 0; i < Count; ++i)
    if (counts[i] > 0) by_name[std::string(federated::to_string(static_cast<Name>(i)))] = counts[i];
  return by_name;
}

// Figures as text.

/// A number with this many decimals; from 10^9 on, which only diverged runs reach, as 2.54e+31.
[[nodiscard]] inline std::string figure_text(double figure, int digits) {
  constexpr double large = 1e9;
  return std::abs(figure) < large ? fmt::format("{:.{}f}", figure, digits) : fmt::format("{:.3g}", figure);
}

/// A rate per second. Centralized training has one client, which takes long.
[[nodiscard]] inline std::string rate_text(double rate) {
  return rate < 10 ? fmt::format("{:.2g}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace furlong::tools
