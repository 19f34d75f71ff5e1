// [expect]: what must hold of a run's summary.json, so that a scenario is a test.
#pragma once

#include <filesystem>
#include <string>
#include <variant>

namespace furlong::scenarios {

enum class expectation_kind {
  at_most,   ///< the figure <= value
  at_least,  ///< the figure >= value
  equals,    ///< the figure == value: a number, a text or a truth value
  within     ///< |figure - baseline's figure| <= value |baseline's figure|
};

/// One bound on one figure. `"eval.unseen.rmse" = {at_least = 0.5, at_most = 0.9}` gives two.
struct expectation {
  std::string key;  ///< dotted key of summary.json: "eval.unseen.rmse"
  expectation_kind kind = expectation_kind::at_most;
  std::variant<double, std::string, bool> value = 0.0;  ///< text and truth value only under equals
  std::filesystem::path baseline;  ///< within: the other scenario, absolute; relative ones stand beside this file
  std::string place;               ///< "file:line:column", or "--set KEY"

  /// The bound as the scenario writes it: "at_most = 0.9", "within = 0.02, baseline = "other.toml"".
  [[nodiscard]] std::string bound() const;
  /// With its figure: "eval.unseen.rmse = {at_most = 0.9}".
  [[nodiscard]] std::string text() const { return key + " = {" + bound() + "}"; }
};

}  // namespace furlong::scenarios
