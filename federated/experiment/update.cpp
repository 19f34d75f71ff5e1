#include "federated/experiment/update.hpp"

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

std::string_view to_string(drop_stage stage) {
  switch (stage) {
    case drop_stage::download: return "download";
    case drop_stage::train: return "train";
    case drop_stage::upload: return "upload";
  }
  return "unknown";
}

std::string_view to_string(outcome what) {
  switch (what) {
    case outcome::folded: return "folded";
    case outcome::rejected: return "rejected";
    case outcome::late: return "late";
    case outcome::surplus: return "surplus";
    case outcome::dropped: return "dropped";
    case outcome::abandoned: return "abandoned";
  }
  return "unknown";
}

}  // namespace furlong::federated
