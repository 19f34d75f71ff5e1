// The federation's figures for Prometheus.
#pragma once

#include <string>

#include "tools/dashboard/federation_status.hpp"

namespace furlong::tools::dashboard {

/// The content type that goes with metrics_text().
inline constexpr const char* metrics_type = "text/plain; version=0.0.4; charset=utf-8";
/// Nodes that have series of their own; there are no more, so that the number of series stays bounded.
inline constexpr std::size_t most_node_series = 1000;

/// Text format 0.0.4. Names begin with "furlong_", counters end in "_total", units are seconds and bytes. Names of
/// nodes are labels, with what is not UTF-8 replaced by U+FFFD.
[[nodiscard]] std::string metrics_text(const federation_status& status);

}  // namespace furlong::tools::dashboard
