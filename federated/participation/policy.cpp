#include "federated/participation/policy.hpp"

namespace furlong::federated {

std::unique_ptr<selection_policy> make_policy(const experiment& e, const participation_ledger& ledger) {
  switch (e.settings.participation.policy) {
    case policy_kind::uniform: break;
    case policy_kind::weight: return make_by_weight(e);
    case policy_kind::round_robin: return make_round_robin(e, ledger);
    case policy_kind::least_recent: return make_least_recent(e, ledger);
    case policy_kind::power_of_choice: return make_power_of_choice(e);
  }
  return make_uniform(e);
}

}  // namespace furlong::federated
