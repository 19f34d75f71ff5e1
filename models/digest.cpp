#include "models/digest.hpp"

namespace furlong::models {

digest layout_digest(const layout& shape) { return sha256_stream().add(shape.signature()).finish(); }

digest model_sha256(const shared_parameters& model) {
  return sha256_stream().add(model.shape()->signature()).add(model.values()).finish();
}

}  // namespace furlong::models
