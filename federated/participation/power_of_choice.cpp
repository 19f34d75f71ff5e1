#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "federated/participation/weighted_draw.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

/// The loss that counts: what was reported last, and infinity for clients without a usable report, selected or
/// not (as in the paper's algorithm, where a loss stays infinite until the client has reported).
float known_loss(const client_record& of) {
  const bool unknown = (of.folded == 0 && of.loss == 0.0F) || !std::isfinite(of.loss);
  return unknown ? std::numeric_limits<float>::infinity() : of.loss;
}

class power_of_choice_policy final : public selection_policy {
 public:
  explicit power_of_choice_policy(const experiment& e) : e_(e), draw_(*e.participants) {}

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) override {
    const auto asked_for = e_.settings.participation->candidates;
    const auto candidates = asked_for > 0 ? std::max(asked_for, of.count) : 2 * of.count;
    auto chosen = draw_.first_eligible(of, candidates, selection_stream(e_, of));
    const auto kept = std::min<std::size_t>(of.count, chosen.size());
    // Of equal losses, those never asked, then those asked longest ago; client numbers decide the rest.
    const auto rank = [&](std::uint32_t client) {
      const auto& record = ledger[client];
      return std::tuple(-known_loss(record), record.last_selection, client);
    };
    std::ranges::partial_sort(chosen, chosen.begin() + static_cast<std::ptrdiff_t>(kept), {}, rank);
    chosen.resize(kept);
    std::ranges::sort(chosen);
    return chosen;
  }

 private:
  const experiment& e_;
  weighted_draw draw_;
};

}  // namespace

policy_entry power_of_choice_entry() {
  return {.kind = "power-of-choice",
          .doc =
              "Draws candidates in proportion to their examples and takes those with the highest loss that they last "
              "reported, those without a loss first (Cho, Wang, Joshi 2020: rpow-d).",
          .traits = {.needs_examples = true, .draws_candidates = true, .sees_losses = true},
          .build = [](const experiment& e, const participation_ledger&) -> std::unique_ptr<selection_policy> {
            return std::make_unique<power_of_choice_policy>(e);
          }};
}

}  // namespace furlong::federated
