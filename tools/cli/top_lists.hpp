// The best items of every client, for other programs.
#pragma once

#include <cstddef>
#include <string>

#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

/// Client, its name, rank from 1, item, its name and prediction, as CSV: for each client of the population the `top`
/// items of the highest predictions, without its own items, as `furlong infer --client ID` lists them. Fails (kind
/// usage) if the data have no items, and as predictions do.
[[nodiscard]] result<std::string> top_lists_csv(const trained_run& run, std::size_t top);

}  // namespace furlong::tools
