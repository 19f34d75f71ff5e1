// An experiment on ratings whose numbers may be rounded before they are sent.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "federated/experiment/quantized_traffic.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "tests/support/experiments.hpp"

namespace furlong::tests {

/// User vectors are private under algorithms that keep values; where errors of rounding are carried, so are these.
[[nodiscard]] inline federated::experiment rounded_experiment(const federated::run_settings& settings,
                                                              std::shared_ptr<const federated::population> clients) {
  const bool keeps = settings.algorithm->traits.keeps_state;
  auto made = make_experiment(settings, std::move(clients), {},
                              keeps ? std::vector<std::string>{"user"} : std::vector<std::string>{});
  if (federated::carries_errors(settings)) federated::add_unsent(made.parts);
  return made;
}

}  // namespace furlong::tests
