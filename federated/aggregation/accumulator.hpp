// Aggregation rules as accumulators of integers.
//
// Every rule keeps a vector of 64-bit words that only ever add up. So folding in any order, merging along any tree, and
// saving and restoring in between give the same bits, and a partial aggregate is just these words.
//
// Fixed point: a value v of weight w is added as round(v * w * 2^k). The power k is chosen per rule from the norm bound
// and the weight bound (updates beyond them are rejected before), so that no sum can overflow; the rounding error is at
// most 2^-(k+1) per update.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "federated/settings.hpp"
#include "federated/update.hpp"
#include "models/parameters.hpp"
#include "models/result.hpp"

namespace furlong::federated {

/// What a round's updates amount to.
struct aggregate {
  models::shared_parameters change;  ///< to be added to the model (by the server optimizer)
  std::uint64_t count = 0;           ///< updates folded
  std::uint64_t weight = 0;          ///< sum of their weights
  double loss = 0.0;                 ///< mean loss per weighted example
  std::vector<double> reference;     ///< the rule's constants for the next round
  double mixing = 1.0;               ///< how much of a client's change is in `change` at most: FedAsync's alpha s(tau)
  bool usable = true;                ///< false: the sum says nothing (no weight, or attention out of range)
};

/// Folds the updates of one round. O(model) memory however many it folds. One thread at a time.
class accumulator {
 public:
  virtual ~accumulator() = default;
  accumulator(const accumulator&) = delete;
  accumulator& operator=(const accumulator&) = delete;

  /// Adds an update that validate() has passed, scaled by `freshness` in (0, 1] (staleness weight of asynchronous runs:
  /// it shortens the step, and leaves the update's share as it is); or says why this rule cannot. Then it is unchanged.
  [[nodiscard]] virtual std::optional<rejection> fold(const client_update& update, double freshness = 1.0) = 0;
  /// After a fold that refused nothing, of an update of weight > 0: how far it moved each tensor, where the rule weighs
  /// updates by that; else empty.
  [[nodiscard]] virtual std::span<const double> distances() const { return {}; }
  /// The result of the round. Leaves the accumulator empty.
  [[nodiscard]] virtual aggregate report() = 0;

  /// Adds what another accumulator of the same rule, layout and reference has folded. Fails, unchanged, when the words
  /// do not fit this rule or claim more than it can hold.
  [[nodiscard]] result<void> merge(const accumulator_state& other);
  /// The same; an empty accumulator takes the words over instead of adding them, and leaves its own in `other`.
  [[nodiscard]] result<void> merge(accumulator_state&& other);
  /// The content. Merging it into an empty accumulator gives this one back.
  [[nodiscard]] accumulator_state save() const { return {words_}; }
  /// The content, moved out; leaves the accumulator empty.
  [[nodiscard]] accumulator_state take();
  /// Updates folded so far, those of merged states included.
  [[nodiscard]] std::uint64_t count() const { return static_cast<std::uint64_t>(words_[count_word]); }
  [[nodiscard]] std::uint64_t weight() const { return static_cast<std::uint64_t>(words_[weight_word]); }
  /// Sum of the losses folded so far, in units of 2^-20.
  [[nodiscard]] std::int64_t loss_fixed() const { return words_[loss_word]; }

 protected:
  // The first words of every rule.
  static constexpr std::size_t count_word = 0;
  static constexpr std::size_t weight_word = 1;
  static constexpr std::size_t loss_word = 2;
  static constexpr std::size_t header_words = 3;
  static constexpr double loss_unit = 0x1p-20;

  /// `words` in all; at most `max_count` updates and `max_total_weight` weight.
  accumulator(std::size_t words, std::uint64_t max_count, std::uint64_t max_total_weight);

  [[nodiscard]] result<void> check_fit(const accumulator_state& other) const;
  [[nodiscard]] bool has_room(std::uint32_t weight) const;
  void count_update(const client_update& update);
  /// Fills the fields that every rule reports, and clears the header.
  void report_header(aggregate& out);

  std::vector<std::int64_t> words_;
  std::uint64_t max_count_;
  std::uint64_t max_total_weight_;
};

/// A new, empty accumulator of the rule that the settings name. `reference` is the broadcast's.
[[nodiscard]] std::unique_ptr<accumulator> make_accumulator(const aggregation_settings& settings,
                                                            const models::layout_ptr& shared,
                                                            const std::vector<double>& reference);
/// The constants of the first round.
[[nodiscard]] std::vector<double> first_reference(const aggregation_settings& settings,
                                                  const models::layout_ptr& shared);

}  // namespace furlong::federated
