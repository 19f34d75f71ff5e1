// Digests of layouts and models: they identify a layout on the wire and on disk, and results of runs.
#pragma once

#include "base/digest.hpp"
#include "models/layout.hpp"
#include "models/parameters.hpp"

namespace furlong::models {

/// Identifies a layout: the digest of its signature(), so of names, shapes and order.
[[nodiscard]] digest layout_digest(const layout& shape);
/// `model_sha256` of summary.json: the layout's signature, then all values as little-endian float32.
[[nodiscard]] digest model_sha256(const shared_parameters& model);

}  // namespace furlong::models
