// The slot for aggregation rules: a rule is one source file, federated/aggregation/KIND.cpp, and one line of the table
// in rules.cpp; another program adds one with register_rule().
//
// A rule is three functions on a vector of 64-bit words. encode() adds the integers of one update to the words; words
// of several updates can be added anywhere, modulo 2^64; report() computes the aggregate from the sum. So aggregation
// in any order, over any tree, with save and restore in between, gives the same bits.
//
// A rule that is no sum holds the single updates (rule_traits::holds_updates), sorted by client: it may have no words.
// cohort_rule.hpp is the base of those here.
//
// fixed_point.hpp has the integers of floats: of the norm bound and the weight bound (updates beyond them are rejected
// before) follows a grid on which no sum can overflow.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment/update.hpp"
#include "federated/settings/rule_traits.hpp"

namespace furlong::federated {

struct aggregation_settings;
class scenario_view;

/// The context of one update.
struct fold_context {
  task_id id;
  std::uint32_t weight = 0;  ///< examples; above 0
  double freshness = 1.0;    ///< in (0, 1]: scales the step, not the update's share
};

/// What a rule draws: functions of the run's seed. They are the same at the server, at aggregators, in clients that
/// mask their updates, and in a resumed run. Clients know the seed: their draws are no secret from them.
class rule_draws {
 public:
  explicit rule_draws(std::uint64_t seed) : seed_(seed) {}

  /// Of one update, whatever else is aggregated: keyed by its client and version. `part` names several streams.
  [[nodiscard]] random_stream of_update(const task_id& task, std::uint32_t part = 0) const {
    return {seed_, purpose::aggregation, static_cast<std::uint32_t>(task.version), task.client, part};
  }
  /// Of the rule, the same in every round.
  [[nodiscard]] random_stream of_run(std::uint32_t part = 0) const {
    return {seed_, purpose::aggregation_rule, 0, 0, part};
  }

 private:
  std::uint64_t seed_;
};

/// One instance serves one accumulator, on one thread. It keeps no sums: the accumulator owns the words.
class aggregation_rule {
 public:
  virtual ~aggregation_rule() = default;

  /// Number of words; a rule may keep several sums.
  [[nodiscard]] virtual std::size_t words() const = 0;
  /// Of a rule whose words are sums of each value of the updates, all alike, times a constant: that constant. 0: of
  /// another rule, to whose words no noise can be added.
  [[nodiscard]] virtual double units_in_one() const { return 0.0; }
  /// Adds the integers of an update that validate() accepted to `sum` (words() of them), or returns the reason if the
  /// rule cannot, leaving `sum` unchanged. The delta starts with the model's shared tensors; tensors of the algorithm
  /// may follow, which are not part of the rule.
  [[nodiscard]] virtual std::optional<rejection> encode(const models::delta& change, const fold_context& of,
                                                        std::span<std::int64_t> sum) = 0;
  /// After encode(): how far the update moved each tensor, if the rule measures it; else empty.
  [[nodiscard]] virtual std::span<const double> distances() const { return {}; }
  /// Computes the aggregate from the sum: sets change, usable and reference (as many constants as first_reference() of
  /// the entry, or none); `out` has its count, weight and loss, and under rule_traits::holds_updates the updates.
  /// Clears the sum.
  virtual void report(std::span<std::int64_t> sum, aggregate& out) = 0;
};

/// Calls visit(offset, values) for each contiguous run of an update's values; `offset` is its position in the layout.
template <class Visit>
void for_each_run(const models::layout& shared, std::size_t tensor, const models::delta& change, const Visit& visit) {
  const auto values = change.values_of(tensor);
  const auto begin = shared.offset(tensor);
  if (!change.pieces[tensor].by_rows) return visit(begin, values);
  const std::size_t cols = shared[tensor].cols;
  std::size_t at = 0;
  for (const auto row : change.rows_of(tensor)) {
    visit(begin + row * cols, values.subspan(at, cols));
    at += cols;
  }
}

/// One line of the table: how scenarios name, configure and build a rule.
struct rule_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options = {};  ///< keys algorithm.aggregation.NAME
  rule_traits traits = {};
  /// @param reference the broadcast's constants; or empty, where only words() and units_in_one() are asked
  std::function<std::unique_ptr<aggregation_rule>(const aggregation_settings&, const models::layout_ptr& shared,
                                                  const std::vector<double>& reference, const rule_draws& draws)>
      build = {};
  /// The constants of the first round; empty: there never are any. Later rounds have as many, or none, which keeps
  /// those of the round before.
  std::function<std::vector<double>(const aggregation_settings&, const models::layout& shared)> first_reference = {};
  /// Checks combinations of keys; empty: no check.
  std::function<void(scenario_view&)> check = {};
  /// Changes whenever its results may: runs are not resumed, and federations not joined, with another one. One word,
  /// such as "1.2". Empty: that of the program (registered entries), or furlong's (built-in ones).
  std::string version = {};
};

/// All rules: the built-in ones, then the registered ones in order. Do not call during registration.
[[nodiscard]] const std::vector<rule_entry>& registered_rules();
/// Adds a rule, or replaces that of the same kind. Call before scenarios are read, from one thread, in every process of
/// a federation. Throws std::invalid_argument when it cannot be built, and as check_options(); names of keys of all
/// rules are taken.
void register_rule(rule_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const rule_entry* find_rule(std::string_view kind);

/// The rule of the settings for one round.
/// @param seed of the run
[[nodiscard]] std::unique_ptr<aggregation_rule> make_rule(const aggregation_settings& settings,
                                                          const models::layout_ptr& shared,
                                                          const std::vector<double>& reference, std::uint64_t seed);
/// The constants of the first round.
[[nodiscard]] std::vector<double> first_reference(const aggregation_settings& settings,
                                                  const models::layout_ptr& shared);

}  // namespace furlong::federated
