// Tells the files of a run's data from others.
#pragma once

#include <string>

#include "tools/session.hpp"

namespace furlong::tools {

/// SHA-256 in hex over the lengths and bytes of the files that the data were read from, and of the availability trace;
/// empty where all is generated, or on nodes. Where the files are does not matter.
/// Fails (kind data) when one cannot be read any more.
[[nodiscard]] result<std::string> data_sha256(const session& of);

}  // namespace furlong::tools
