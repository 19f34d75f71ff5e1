// Laws of aggregation rules: sums of drawn updates in other orders and groupings, and what is reported of them.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <optional>
#include <stdexcept>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "tools/conformance/laws.hpp"
#include "tools/conformance/random_updates.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::accumulator;
using federated::accumulator_state;
using federated::client_update;

constexpr std::size_t drawn_updates = 40;
constexpr int shuffles = 10;
constexpr int halvings = 40;
/// The largest norm that updates have here, as a share of aggregation.max_norm.
constexpr double largest_share = 0.99;

/// As of updates of an asynchronous run, some of which started from older versions.
double freshness_of(const client_update& update) { return 1.0 / std::sqrt(1.0 + update.id.client % 4); }

bool same_bits(std::span<const float> first, std::span<const float> second) {
  return first.size() == second.size() &&
         (first.empty() || std::memcmp(first.data(), second.data(), first.size_bytes()) == 0);
}

bool same_aggregates(const federated::aggregate& first, const federated::aggregate& second) {
  return first.usable == second.usable && first.reference == second.reference &&
         same_bits(first.change.values(), second.change.values());
}

class rule_trial {
 public:
  explicit rule_trial(const federated::experiment& setup)
      : settings_(*setup.settings.aggregation),
        shared_(setup.parts.shared),
        reference_(federated::first_reference(settings_, shared_)),
        seed_(setup.settings.seed) {}

  /// Draws updates that are as large as the rule accepts.
  void prepare() {
    std::size_t largest = 1;
    for (const auto& spec : shared_->tensors()) largest = std::max(largest, spec.size());
    double size = std::min(1.0, largest_share * settings_.max_norm / std::sqrt(static_cast<double>(largest)));
    for (int halved = 0; halved < halvings; ++halved, size /= 2) {
      updates_ = random_updates(5, drawn_updates, shared_, static_cast<float>(size));
      for (auto& update : updates_) update.weight = std::min(update.weight, settings_.max_weight);
      const auto sum = empty();
      if (std::ranges::none_of(updates_, [&](const client_update& update) { return sum->fold(update).has_value(); }))
        return;
    }
    updates_.clear();
    throw std::runtime_error("encode() accepts none of the updates that were tried");
  }
  [[nodiscard]] bool is_prepared() const { return !updates_.empty(); }

  [[nodiscard]] std::string fault_of_order() const {
    const auto expected = folded(updates_);
    random_stream draws(6, purpose::test);
    auto shuffled = updates_;
    std::vector<std::unique_ptr<accumulator>> sums;
    for (int trial = 0; trial < shuffles; ++trial) {
      draws.shuffle(std::span(shuffled));
      sums.push_back(folded(shuffled));
      if (sums.back()->save() != expected->save()) return "the same updates in another order have another sum";
    }
    if (!holds_updates()) return {};
    const auto made = expected->report();
    if (std::ranges::all_of(sums, [&](const auto& sum) { return same_aggregates(sum->report(), made); })) return {};
    return "the same updates in another order have another aggregate";
  }

  [[nodiscard]] std::string fault_of_grouping() const {
    const auto expected = folded(updates_)->save();
    random_stream draws(7, purpose::test);
    for (int trial = 0; trial < shuffles; ++trial)
      if (fold_tree(0, updates_.size(), draws) != expected)
        return "sums of parts of the updates, saved and added, are not the sum of all";
    return {};
  }

  [[nodiscard]] verdict examine_rows() const {
    if (std::ranges::none_of(shared_->tensors(),
                             [](const models::tensor_spec& spec) { return spec.index != models::row_index::none; }))
      return skipped("no shared tensor has rows");
    auto dense = updates_;
    for (auto& update : dense) update.change = models::to_dense(update.change);
    return kept_unless(same_result(*folded(dense), *folded(updates_))
                           ? ""
                           : "an update that lists its changed rows and its dense copy have other sums");
  }

  [[nodiscard]] std::string fault_of_report() const {
    const auto words = folded(updates_)->save();
    const auto nothing = empty()->save();
    const auto sum = empty();
    std::optional<federated::aggregate> first;
    for (int report = 0; report < 3; ++report) {
      const auto fresh = report == 2 ? empty() : nullptr;
      accumulator& asked = fresh ? *fresh : *sum;
      if (auto merged = asked.merge(words); !merged) return merged.error().text();
      auto made = asked.report();
      if (asked.save() != nothing) return "after report() the sum is not empty";
      if (first && (!same_bits(first->change.values(), made.change.values()) || first->reference != made.reference ||
                    first->usable != made.usable))
        return "the same sum is reported in another way when it is reported again";
      if (!first) first = std::move(made);
    }
    return {};
  }

  [[nodiscard]] std::string fault_of_empty_sum() const {
    const auto made = empty()->report();
    if (made.usable) return "a sum of no updates is usable";
    if (std::ranges::any_of(made.change.values(), [](float value) { return value != 0.0F; }))
      return "a sum of no updates moves the model";
    return {};
  }

  [[nodiscard]] std::string fault_of_aggregates() const {
    for (const std::size_t count : {1U, 2U, 3U, 40U})
      for (const float factor : {1.0F, 1e-6F, 0.0F}) {
        auto few = updates_;
        few.resize(count);
        for (auto& update : few)
          for (float& value : update.change.values) value *= factor;
        const auto made = folded(few)->report();
        if (!made.reference.empty() && made.reference.size() != reference_.size())
          return fmt::format("report() gives {} constants for the next round, and first_reference() {}",
                             made.reference.size(), reference_.size());
        if (!made.usable) continue;
        const auto values = made.change.values();
        if (values.size() != shared_->size())
          return fmt::format("the aggregate of {} updates has {} values, and the model shares {}", count, values.size(),
                             shared_->size());
        if (!std::ranges::all_of(values, [](float value) { return std::isfinite(value); }))
          return fmt::format("the aggregate of {} updates of values up to {} is not finite", count, factor);
      }
    return {};
  }

  [[nodiscard]] verdict examine_weights() const {
    if (settings_.rule.traits.weighs_examples) return skipped("its traits say that updates are weighed by examples");
    auto reweighed = updates_;
    for (auto& update : reweighed) update.weight = 1 + (update.weight * 7) % settings_.max_weight;
    return kept_unless(same_result(*folded(reweighed), *folded(updates_))
                           ? ""
                           : "updates of other weights have another sum, and the traits do not say weighs_examples");
  }

  [[nodiscard]] verdict examine_units() const {
    const auto rule = make_rule(settings_, shared_, reference_, seed_);
    const double units = rule->units_in_one();
    if (units <= 0) return skipped("units_in_one() is 0: its words are no sums of values, and take no noise");
    if (rule->words() != shared_->size())
      return kept_unless(fmt::format("units_in_one() is {}, and there are {} words for {} values", units, rule->words(),
                                     shared_->size()));
    std::vector<std::int64_t> sum(rule->words(), 0);
    const auto change = models::to_dense(updates_.front().change);
    if (rule->encode(change, {.id = updates_.front().id, .weight = 1}, sum)) return skipped("the update is refused");
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for (std::size_t i = 0; i < (*shared_)[t].size(); ++i) {
        const double expected = units * static_cast<double>(change.values_of(t)[i]);
        const auto word = static_cast<double>(sum[shared_->offset(t) + i]);
        if (std::abs(word - expected) > 1.0 + 1e-6 * std::abs(expected))
          return kept_unless(
              fmt::format("the value {} adds {} units, and units_in_one() is {}", change.values_of(t)[i], word, units));
      }
    return {};
  }

  /// Every update in turn becomes one that changes nothing, which leaves the number of updates as it is.
  [[nodiscard]] verdict examine_sensitivity() const {
    const double declared = settings_.rule.traits.sensitivity;
    if (declared <= 0) return skipped("its traits state no sensitivity, so privacy.noise is refused for it");
    const double norm = std::min(1.0, settings_.max_norm / 2);
    random_stream draws(8, purpose::test);
    for (const std::size_t count : {1U, 4U, 16U})
      for (const bool alike : {false, true}) {
        const auto drawn = updates_of_norm(shared_, count, norm, alike, draws);
        const auto with = aggregate_of(drawn);
        for (std::size_t i = 0; with && i < count; ++i) {
          auto changed = drawn;
          std::ranges::fill(changed[i].change.values, 0.0F);
          const auto without = aggregate_of(changed);
          if (!without) continue;
          std::vector<float> moved(shared_->size());
          std::ranges::transform(with->values(), without->values(), moved.begin(), std::minus());
          const double measured = norm_of(moved) * static_cast<double>(count) / norm;
          if (measured > declared * (1 + 1e-3) + 1e-6)
            return kept_unless(
                fmt::format("an update among {} moves the aggregate by {:.4g} times its norm / {}, and "
                            "the traits state a sensitivity of {}",
                            count, measured, count, declared));
        }
      }
    return {};
  }

  /// One addend times the most updates is below 2^62, so no order of additions can overflow.
  [[nodiscard]] verdict examine_capacity() const {
    if (empty()->save().words.size() == accumulator::header_words)
      return skipped("it has no words that could overflow: it holds the updates");
    const auto capacity = std::min<std::uint64_t>(settings_.max_updates, settings_.rule.traits.most_updates);
    const double largest_word = std::ldexp(1.0, 62) / static_cast<double>(capacity);
    double norm = largest_share * settings_.max_norm;
    for (int halved = 0; halved < halvings; ++halved, norm /= 2) {
      auto update = concentrated_update(shared_, norm);
      if (settings_.rule.traits.weighs_examples) update.weight = settings_.max_weight;
      const auto sum = empty();
      if (sum->fold(update)) continue;
      for (const auto word : rule_words(sum->save()))
        if (std::abs(static_cast<double>(word)) > largest_word)
          return kept_unless(
              fmt::format("an update of norm {:.4g} and weight {} adds {}, and a sum of {} of them is "
                          "beyond 2^62",
                          norm, update.weight, word, capacity));
      return {};
    }
    return skipped("the updates that were tried are refused");
  }

  [[nodiscard]] verdict examine_refusal() const {
    const auto before = folded(updates_)->save();
    bool any = false;
    for (const double share : {1e-3, 0.1, 0.3, 1.0}) {
      const auto update = concentrated_update(shared_, share * largest_share * settings_.max_norm);
      const auto copy = empty();
      if (auto merged = copy->merge(before); !merged) return kept_unless(merged.error().text());
      if (!copy->fold(update)) continue;
      any = true;
      if (copy->save() != before) return kept_unless("an update that encode() refuses changes the sum");
    }
    return any ? verdict() : skipped("encode() refuses none of the updates that were tried");
  }

  /// Small and large, light and heavy, fresh and stale updates, none beyond the bounds of validate().
  [[nodiscard]] verdict examine_acceptance() const {
    if (!settings_.rule.traits.takes_all) return skipped("its traits do not say takes_all");
    for (const double share : {0.0, 1e-3, 0.1, 1.0})
      for (const std::uint32_t weight : {1U, settings_.max_weight})
        for (const double freshness : {1.0, 1e-3}) {
          auto update = concentrated_update(shared_, share * largest_share * settings_.max_norm);
          update.weight = weight;
          if (const auto refused = empty()->fold(update, freshness))
            return kept_unless(fmt::format("an update of norm {:.4g}, weight {} and freshness {} is refused: {}",
                                           share * largest_share * settings_.max_norm, weight, freshness,
                                           to_string(*refused)));
        }
    return {};
  }

 private:
  [[nodiscard]] std::unique_ptr<accumulator> empty() const {
    return federated::make_accumulator(settings_, shared_, reference_, seed_);
  }

  [[nodiscard]] bool holds_updates() const { return settings_.rule.traits.holds_updates; }
  /// Whether the rule has the same words; where it holds updates, which may differ in what must not count, also whether
  /// it reports the same of them.
  [[nodiscard]] bool same_result(accumulator& first, accumulator& second) const {
    return rule_words(first.save()) == rule_words(second.save()) &&
           (!holds_updates() || same_aggregates(first.report(), second.report()));
  }

  static void fold_into(accumulator& sum, const client_update& update) {
    if (const auto refused = sum.fold(update, freshness_of(update)))
      throw std::runtime_error("encode() refuses an update that it accepted before: " +
                               std::string(to_string(*refused)));
  }
  [[nodiscard]] std::unique_ptr<accumulator> folded(const std::vector<client_update>& updates) const {
    auto sum = empty();
    for (const auto& update : updates) fold_into(*sum, update);
    return sum;
  }

  /// Of updates [first, last), along a drawn binary tree; each leaf saves and restores before every update.
  accumulator_state fold_tree(std::size_t first, std::size_t last, random_stream& draws) const {
    const auto merge = [](accumulator& sum, const accumulator_state& part) {
      if (auto merged = sum.merge(part); !merged) throw std::runtime_error(merged.error().text());
    };
    auto sum = empty();
    if (last - first > 3 && draws.below(4) != 0) {
      const auto middle = first + 1 + draws.below(static_cast<std::uint32_t>(last - first - 1));
      merge(*sum, fold_tree(middle, last, draws));
      merge(*sum, fold_tree(first, middle, draws));
      return sum->take();
    }
    for (std::size_t i = first; i < last; ++i) {
      const auto saved = sum->save();
      sum = empty();
      merge(*sum, saved);
      fold_into(*sum, updates_[i]);
    }
    return sum->take();
  }

  static std::vector<std::int64_t> rule_words(const accumulator_state& state) {
    return {state.words.begin() + accumulator::header_words, state.words.end()};
  }

  [[nodiscard]] std::optional<models::shared_parameters> aggregate_of(const std::vector<client_update>& updates) const {
    const auto sum = empty();
    for (const auto& update : updates)
      if (sum->fold(update)) return std::nullopt;
    auto made = sum->report();
    if (!made.usable) return std::nullopt;
    return std::move(made.change);
  }

  const federated::aggregation_settings& settings_;
  models::layout_ptr shared_;
  std::vector<double> reference_;
  std::uint64_t seed_;
  std::vector<client_update> updates_;
};

}  // namespace

findings check_rule(const federated::experiment& setup) {
  findings made;
  rule_trial trial(setup);
  made.examine(
      {"aggregates", "aggregates of one update or many, large, tiny or zero, are finite and complete",
       "correct report(): divide by nothing that may be 0, and set the change of all shared tensors and all constants"},
      [&] {
        trial.prepare();
        return kept_unless(trial.fault_of_aggregates());
      });
  const auto examine = [&](law subject, const std::function<verdict()>& question) {
    made.examine(std::move(subject),
                 [&] { return trial.is_prepared() ? question() : skipped("no update to aggregate"); });
  };
  const std::string additive = "add integers that depend on the update alone to the words, as mean.cpp does";
  examine({"order", "the sum is the same in any order of updates, to the last bit", additive},
          [&] { return kept_unless(trial.fault_of_order()); });
  examine({"grouping", "sums of any groups of updates, saved, restored and added, are the sum of all", additive},
          [&] { return kept_unless(trial.fault_of_grouping()); });
  examine({"rows", "an update by rows counts as its dense copy", "use for_each_run() to go over an update's values"},
          [&] { return trial.examine_rows(); });
  examine({"report", "a sum is reported in the same way by every instance, and is empty afterwards",
           "let report() depend on the words alone, and clear them"},
          [&] { return kept_unless(trial.fault_of_report()); });
  examine({"empty-sum", "a sum of no updates is not usable, and moves nothing",
           "set usable to false in report() if the count is 0"},
          [&] { return kept_unless(trial.fault_of_empty_sum()); });
  examine({"weights", "updates count alike, whatever their weight, unless the traits say weighs_examples",
           "set weighs_examples, so that aggregation.max_weight bounds weights, or do not use the weight"},
          [&] { return trial.examine_weights(); });
  examine({"units", "words are the sums of values in units of 1 / units_in_one()",
           "return the factor between values and words, or 0 if words are no such sums"},
          [&] { return trial.examine_units(); });
  examine({"sensitivity", "an update moves the aggregate no further than its traits state",
           "state the largest factor as sensitivity: privacy.noise is sized by it"},
          [&] { return trial.examine_sensitivity(); });
  examine({"capacity", "no sum of as many updates as a round may have overflows",
           "choose the unit of words from max_norm, max_weight and max_updates, or lower most_updates in the traits"},
          [&] { return trial.examine_capacity(); });
  examine({"refusal", "an update that is refused leaves the sum as it was",
           "decide in encode() whether the update can be added before anything is added"},
          [&] { return trial.examine_refusal(); });
  examine({"acceptance", "no update that validate() accepts is refused if the traits say takes_all",
           "leave out takes_all, so that workers ask encode() before they keep an update"},
          [&] { return trial.examine_acceptance(); });
  return made;
}

}  // namespace furlong::tools::conformance
