#include "federated/update.hpp"

namespace furlong::federated {

std::string_view to_string(rejection why) {
  switch (why) {
    case rejection::unknown_task: return "unknown-task";
    case rejection::stale_version: return "stale-version";
    case rejection::duplicate: return "duplicate";
    case rejection::wrong_shape: return "wrong-shape";
    case rejection::not_finite: return "not-finite";
    case rejection::norm_bound: return "norm-bound";
    case rejection::weight_bound: return "weight-bound";
    case rejection::attention_range: return "attention-range";
    case rejection::client_failed: return "client-failed";
  }
  return "unknown";
}

}  // namespace furlong::federated
