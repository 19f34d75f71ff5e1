#include "federated/processes/admission.hpp"

namespace furlong::federated::processes {

std::string_view to_string(admission_refusal reason) {
  switch (reason) {
    case admission_refusal::protocol: return "protocol";
    case admission_refusal::untrusted: return "untrusted";
    case admission_refusal::expired: return "expired";
    case admission_refusal::denied: return "denied";
    case admission_refusal::not_a_node: return "not-a-node";
    case admission_refusal::too_many: return "too-many";
    case admission_refusal::timed_out: return "timed-out";
    case admission_refusal::refused_us: return "refused-us";
    case admission_refusal::lost: return "lost";
    case admission_refusal::not_its_clients: return "not-its-clients";
    case admission_refusal::bad_frame: return "bad-frame";
    case admission_refusal::out_of_turn: return "out-of-turn";
    case admission_refusal::other_kernels: return "other-kernels";
    case admission_refusal::other_store: return "other-store";
  }
  return "?";
}

}  // namespace furlong::federated::processes
