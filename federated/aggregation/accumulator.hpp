// The sum of a round's updates: a header that every rule has, the words of an aggregation rule (rule.hpp) for the
// model's tensors, and those of the tensors that an algorithm adds (group_sums.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/aggregation/group_sums.hpp"
#include "federated/experiment/client_set.hpp"
#include "federated/experiment/update.hpp"

namespace furlong::federated {

class aggregation_rule;
struct aggregation_settings;

/// Aggregates the updates of one round. O(model) memory for any number of updates. Not thread-safe.
///
/// A blind one adds words that are masked (privacy.secure_aggregation), modulo 2^64: count(), weight() and loss_fixed()
/// are masked too, and report() has no meaning before open().
///
/// Where the rule or the algorithm needs single updates it holds these too: O(updates) memory.
class accumulator {
 public:
  /// The words before the rule's: count, weight and loss.
  static constexpr std::size_t header_words = 3;
  static constexpr std::size_t count_word = 0;
  static constexpr std::size_t weight_word = 1;
  static constexpr std::size_t loss_word = 2;

  /// Empty. A null `rule` aggregates nothing of the model: its delta is zero.
  accumulator(const aggregation_settings& settings, models::layout_ptr shared, std::unique_ptr<aggregation_rule> rule,
              group_sums groups = {});
  ~accumulator();

  /// Adds an update that validate() accepted, scaled by `freshness` in (0, 1] (staleness weight of asynchronous runs:
  /// it scales the step and leaves the update's share). Returns the reason if the rule cannot; the accumulator is then
  /// unchanged. An update of weight 0 adds nothing. Throws models::broken_part if the rule throws (the sum has no
  /// meaning then, and the run ends); report() likewise.
  [[nodiscard]] std::optional<rejection> fold(const client_update& update, double freshness = 1.0);
  /// After a successful fold of an update of weight > 0: how far it moved each tensor, if the rule weighs updates by
  /// distance; else empty.
  [[nodiscard]] std::span<const double> distances() const;
  /// The result of the round; empties the accumulator. Throws as fold().
  /// @param divisor a public number by which means are divided in place of the number of updates, and which takes its
  ///                place in the result: under differential privacy that number is private; 0: there is none
  [[nodiscard]] aggregate report(std::uint64_t divisor = 0);
  /// Calls visit(group, words, units in 1) for the words of the model, whose group is `of_model`, and for those of each
  /// group of the algorithm. A model's units are 0 if its rule is not linear (aggregation_rule::units_in_one).
  void visit_sums(function_ref<void(std::size_t group, std::span<std::int64_t> words, double units)> visit);
  static constexpr std::size_t of_model = SIZE_MAX;

  /// Adds the content of another accumulator of the same rule, layout and reference. Fails, unchanged, if the words do
  /// not fit this rule or exceed its capacity.
  [[nodiscard]] result<void> merge(const accumulator_state& other);
  /// The same; an empty accumulator swaps its words with `other` instead of adding.
  [[nodiscard]] result<void> merge(accumulator_state&& other);
  /// The content. Merging it into an empty accumulator gives this one back.
  [[nodiscard]] accumulator_state save() const;
  /// Moves the content out; empties the accumulator.
  [[nodiscard]] accumulator_state take();
  [[nodiscard]] bool is_empty() const { return count() == 0 && held_.empty(); }
  /// From now on it holds every update for the algorithm (algorithm_traits::sees_updates), also those of no weight.
  void keep_updates() { keeps_updates_ = true; }
  /// From now on it holds every update, and holds back those of these clients: they are counted and not added. Null:
  /// of no clients.
  void defer(const client_set* clients) { deferred_ = clients; }
  /// Adds the updates that were held back, changed by `corrupt`, in the order of their tasks. One that the rule refuses
  /// is added as it was.
  void add_deferred(function_ref<void(models::delta& change)> corrupt);
  /// From now on it adds masked words; `noisy`: whose clients added noise to them.
  void set_blind(bool noisy) {
    blind_ = true;
    noisy_ = noisy;
  }
  [[nodiscard]] bool is_blind() const { return blind_; }
  /// Replaces the content by the sum of `members` updates, without masks. Fails (kind runtime), empty, if it cannot be
  /// one: a client sent words that it should not have, which one is unknown.
  [[nodiscard]] result<void> open(std::vector<std::int64_t> sum, std::uint64_t members);
  /// Number of aggregated updates, including merged ones.
  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(words_[count_word]); }
  [[nodiscard]] std::uint64_t weight() const { return static_cast<std::uint64_t>(words_[weight_word]); }
  /// Sum of the aggregated losses, in units of 2^-20.
  [[nodiscard]] std::int64_t loss_fixed() const { return words_[loss_word]; }

 private:
  [[nodiscard]] result<void> check_fit(const accumulator_state& other) const;
  [[nodiscard]] bool has_room(std::uint32_t weight) const;
  void count_update(const client_update& update);
  [[nodiscard]] std::optional<rejection> encode(const client_update& update, double freshness);
  [[nodiscard]] bool is_deferred(const client_update& update) const {
    return deferred_ != nullptr && deferred_->contains(update.id.client);
  }
  /// The rule's words, and those of the groups.
  [[nodiscard]] std::span<std::int64_t> sum() { return std::span(words_).subspan(header_words, rule_words_); }
  [[nodiscard]] std::span<std::int64_t> added() { return std::span(words_).subspan(header_words + rule_words_); }

  models::layout_ptr shared_;
  std::string kind_;  ///< of the rule
  std::unique_ptr<aggregation_rule> rule_;
  group_sums groups_;
  std::size_t rule_words_;
  std::vector<std::int64_t> words_;
  std::uint64_t max_count_;
  std::uint64_t max_total_weight_;
  std::vector<client_update> held_;
  const client_set* deferred_ = nullptr;
  bool rule_holds_;  // single updates
  bool keeps_updates_ = false;
  bool blind_ = false;
  bool noisy_ = false;
};

/// An empty accumulator for a run's updates, blind under secure aggregation. `reference` is the broadcast's.
[[nodiscard]] std::unique_ptr<accumulator> make_accumulator(const experiment& e, const std::vector<double>& reference);
/// The same, which is never blind: encodes updates that are to be masked.
[[nodiscard]] std::unique_ptr<accumulator> make_open_accumulator(const experiment& e,
                                                                 const std::vector<double>& reference);
/// Number of words of its content.
[[nodiscard]] std::size_t accumulated_words(const experiment& e);
/// The same, and the number of the rule's constants, which is that of the first round's.
[[nodiscard]] rule_sizes rule_sizes_of(const experiment& e);
/// Bytes of the single updates that the rule needs when a round ends, at most; 0: it needs none. Aggregators below it
/// forward them, and save nothing.
[[nodiscard]] std::uint64_t held_bytes(const experiment& run);
/// An accumulator of the model's tensors only, by the rule of the settings.
/// @param seed of the run
[[nodiscard]] std::unique_ptr<accumulator> make_accumulator(const aggregation_settings& settings,
                                                            const models::layout_ptr& shared,
                                                            const std::vector<double>& reference,
                                                            std::uint64_t seed = 0);

}  // namespace furlong::federated
