#include <algorithm>

#include "federated/participation/weighted_draw.hpp"

namespace furlong::federated {

namespace {

class weight_policy final : public selection_policy {
 public:
  explicit weight_policy(const experiment& e) : e_(e), draw_(*e.participants) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger&) override {
    auto chosen = draw_.first_eligible(of, of.count, selection_stream(e_, of));
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  const experiment& e_;
  weighted_draw draw_;
};

}  // namespace

policy_entry by_weight_entry() {
  return {.kind = "weight",
          .doc = "In proportion to a client's number of training examples, one after the other without replacement.",
          .traits = {.needs_examples = true},
          .build = [](const experiment& e, const participation_ledger&) -> std::unique_ptr<selection_policy> {
            return std::make_unique<weight_policy>(e);
          }};
}

}  // namespace furlong::federated
