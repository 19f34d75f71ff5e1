#include "federated/attack/collusion.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/dense_values.hpp"
#include "federated/attack/attack.hpp"
#include "federated/attack/client_attack.hpp"
#include "federated/attack/crafted_update.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/attack.hpp"
#include "federated/state/broadcasts.hpp"
#include "federated/world/attackers.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

namespace {

/// The updates of a round, as the bad clients see them.
class collusion {
 public:
  collusion(const experiment& run, const server_state& state, const update_limits& limits,
            std::span<const client_update> updates)
      : run_(run),
        limits_(limits),
        longest_(longest_update(run, sent_model(run, state.last()))),
        trial_(make_open_accumulator(run, state.reference)) {
    for (const auto& update : updates)
      if (update.weight > 0) (is_attacked_by(run, state.version, update.id.client) ? bad_ : honest_).push_back(&update);
    if (!limits_.known() && run.settings.aggregation->norm_bound != norm_bound_kind::fixed) stay_inconspicuous();
  }

  /// False: nothing can be made of what they know, and they send their own updates.
  [[nodiscard]] bool is_possible() const { return !bad_.empty() && !known().empty(); }

  std::vector<double> craft() {
    const auto& settings = *run_.settings.attack;
    const auto& sources = known();
    std::vector<std::vector<float>> rooms(sources.size());
    known_updates seen{.bad = bad_.size(), .honest = honest_.size()};
    for (std::size_t i = 0; i < sources.size(); ++i) seen.rows.push_back(values_of(sources[i]->change, rooms[i]));
    if (settings.entry->searches) prepare_trial(seen);
    return settings.entry->craft(settings, seen, [this](std::span<const double> update) { return harm_of(update); });
  }

  /// The change of a bad client with the crafted values of the model's tensors.
  [[nodiscard]] models::delta with(std::span<const double> crafted, const models::delta& own) const {
    auto change = models::to_dense(own);
    std::size_t next = 0;
    for (std::size_t t = 0; t < run_.parts.shared->count(); ++t)
      for (auto& value : change.values_of(t)) value = static_cast<float>(crafted[next++]);
    fit_to_bounds(run_, limits_, longest_, change);
    return change;
  }

 private:
  /// Without limits, a version with an update far beyond all others is abandoned (fault_of): the longest honest one is
  /// the limit.
  void stay_inconspicuous() {
    for (const auto* update : honest_) {
      update_size size;
      static_cast<void>(validate(*update, *run_.parts.up, *run_.settings.aggregation, {.groups = run_.groups}, &size));
      limits_.norm = std::max(limits_.norm, size.norm);
      limits_.row = std::max(limits_.row, size.row);
    }
  }
  [[nodiscard]] const std::vector<const client_update*>& known() const {
    return run_.settings.attack->options.text("knows") == "all" ? honest_ : bad_;
  }
  [[nodiscard]] std::span<const float> values_of(const models::delta& change, std::vector<float>& room) const {
    std::vector<std::size_t> tensors(run_.parts.shared->count());
    std::iota(tensors.begin(), tensors.end(), std::size_t{0});
    return dense_values(*run_.parts.shared, change, tensors, room);
  }

  /// The sum of the honest updates, and their mean.
  void prepare_trial(const known_updates& seen) {
    for (const auto* update : honest_) static_cast<void>(trial_->fold(*update));
    honest_sum_ = trial_->take();
    mean_.assign(run_.parts.shared->size(), 0.0);
    for (const auto row : seen.rows)
      for (std::size_t i = 0; i < row.size(); ++i)
        mean_[i] += static_cast<double>(row[i]) / static_cast<double>(seen.rows.size());
  }
  double harm_of(std::span<const double> crafted) {
    if (!trial_->merge(honest_sum_)) return 0.0;
    for (const auto* update : bad_) {
      client_update sent{.id = update->id, .weight = update->weight, .change = with(crafted, update->change)};
      static_cast<void>(trial_->fold(sent));
    }
    const auto made = trial_->report();
    if (!made.usable) return 0.0;
    double distance = 0.0;
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const double difference = static_cast<double>(made.change.values()[i]) - mean_[i];
      distance += difference * difference;
    }
    return std::sqrt(distance);
  }

  const experiment& run_;
  update_limits limits_;
  double longest_;
  std::unique_ptr<accumulator> trial_;
  std::vector<const client_update*> bad_;
  std::vector<const client_update*> honest_;
  accumulator_state honest_sum_;
  std::vector<double> mean_;
};

bool is_colluded(const experiment& run, std::uint64_t version) {
  const auto& attack = *run.settings.attack;
  return run.around != nullptr && run.parts.sends_model && attack.attacks(version) && attack.entry->colludes();
}

}  // namespace

void hold_back_bad_updates(const experiment& run, std::uint64_t version, accumulator& sum) {
  sum.defer(is_colluded(run, version) ? &run.around->attackers : nullptr);
}

void add_bad_updates(const experiment& run, const server_state& state, const update_limits& limits, accumulator& sum) {
  if (!is_colluded(run, state.version)) return;
  hold_back_bad_updates(run, state.version, sum);  // of partial sums that were merged
  const auto updates = sum.save().updates;
  collusion made(run, state, limits, updates);
  const auto crafted = made.is_possible() ? made.craft() : std::vector<double>();
  sum.add_deferred([&](models::delta& change) {
    if (!crafted.empty()) change = made.with(crafted, change);
  });
}

}  // namespace furlong::federated
