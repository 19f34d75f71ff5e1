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

std::unique_ptr<selection_policy> make_by_weight(const experiment& e) { return std::make_unique<weight_policy>(e); }

}  // namespace furlong::federated
