// What a server tells its nodes and aggregators of a scenario.
#pragma once

#include <string>

#include "scenarios/scenario.hpp"

namespace furlong::scenarios {

/// The resolved scenario without what is the server's own affair, or of a simulation only: paths, devices, dropout,
/// events, expectations. The numbers of rounds and of clients a round are settled. Parsing it gives the same model,
/// algorithm and data. `fit()` must have been called.
[[nodiscard]] std::string node_toml(const scenario& of);

/// Reads what a server sent. A node names its own paths: a scenario that does is an error (kind usage), as is one with
/// any other problem, of which the first is told.
[[nodiscard]] result<scenario> parse_node_scenario(const std::string& text,
                                                   const std::vector<setting_override>& own = {});

}  // namespace furlong::scenarios
