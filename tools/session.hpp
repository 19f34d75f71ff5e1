// A scenario made ready to run: its data loaded, its model built, its parameters split.
#pragma once

#include <vector>

#include "federated/experiment.hpp"
#include "scenarios/scenario.hpp"

namespace furlong::tools {

struct session {
  scenarios::scenario scenario;
  scenarios::dataset data;
  federated::experiment experiment;
};

/// Loads the data and assembles the experiment. Fails as its parts do.
[[nodiscard]] result<session> open_session(scenarios::scenario from);

/// Prints every problem of a scenario to stderr, a line each.
void print_problems(const std::vector<scenarios::problem>& problems);

}  // namespace furlong::tools
