#include "federated/aggregation/accumulator.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <stdexcept>
#include <utility>

#include "federated/aggregation/contracts.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "models/kernels/kernels.hpp"
#include "models/model.hpp"

namespace furlong::federated {

namespace {

constexpr double loss_unit = 0x1p-20;

/// In the order of their tasks, which none depends on that adds them.
void sort_by_task(std::vector<client_update>& updates) { std::ranges::sort(updates, {}, &client_update::id); }

}  // namespace

accumulator::accumulator(const aggregation_settings& settings, models::layout_ptr shared,
                         std::unique_ptr<aggregation_rule> rule, group_sums groups)
    : shared_(std::move(shared)),
      kind_(settings.rule.kind),
      rule_(std::move(rule)),
      groups_(std::move(groups)),
      rule_words_(rule_ ? rule_->words() : 0),
      words_(header_words + rule_words_ + groups_.words(), 0),
      max_count_(std::min<std::uint64_t>(settings.max_updates, settings.rule.traits.most_updates)),
      max_total_weight_(settings.rule.traits.weighs_examples || groups_.weighs_examples()
                            ? std::uint64_t{settings.max_weight} * settings.max_updates
                            : UINT64_MAX >> 1),
      rule_holds_(rule_ != nullptr && settings.rule.traits.holds_updates) {}

accumulator::~accumulator() = default;

std::span<const double> accumulator::distances() const {
  return rule_ ? rule_->distances() : std::span<const double>();
}

std::optional<rejection> accumulator::fold(const client_update& update, double freshness) {
  if (blind_) {
    if (update.words.size() != words_.size()) return rejection::wrong_shape;
    models::kernels().add_fixed(words_.data(), update.words.data(), words_.size());
    return std::nullopt;
  }
  if (keeps_updates_ && update.weight == 0) held_.push_back(update);
  if (update.weight == 0) return std::nullopt;  // the client trained on no example
  if (!has_room(update.weight)) return rejection::weight_bound;
  if (!is_deferred(update))
    if (const auto refused = encode(update, freshness)) return refused;
  groups_.fold(update.change, update.weight, freshness, added());
  count_update(update);
  if (rule_holds_ || keeps_updates_ || deferred_ != nullptr) held_.push_back(update);
  return std::nullopt;
}

std::optional<rejection> accumulator::encode(const client_update& update, double freshness) {
  if (!rule_) return std::nullopt;
  return ask_rule(kind_, "in encode()", [&] {
    return rule_->encode(update.change, {update.id, update.weight, freshness}, sum());
  });
}

void accumulator::add_deferred(function_ref<void(models::delta&)> corrupt) {
  sort_by_task(held_);
  for (auto& update : held_) {
    if (!is_deferred(update) || update.weight == 0) continue;
    auto honest = update;
    corrupt(update.change);
    if (!encode(update, 1.0)) continue;
    update = std::move(honest);
    static_cast<void>(encode(update, 1.0));
  }
}

void accumulator::visit_sums(function_ref<void(std::size_t, std::span<std::int64_t>, double)> visit) {
  if (rule_) visit(of_model, sum(), rule_->units_in_one());
  groups_.visit(added(), visit);
}

aggregate accumulator::report(std::uint64_t divisor) {
  aggregate out;
  out.count = divisor > 0 ? divisor : count();
  out.weight = weight();
  out.loss =
      out.weight == 0 ? 0.0 : static_cast<double>(words_[loss_word]) * loss_unit / static_cast<double>(out.weight);
  std::fill_n(words_.begin(), header_words, 0);
  out.updates = std::exchange(held_, {});
  sort_by_task(out.updates);
  if (rule_) {
    ask_rule(kind_, "in report()", [&] { rule_->report(sum(), out); });
  } else {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
  }
  groups_.report(added(), out);
  if (!keeps_updates_) out.updates.clear();
  return out;
}

result<void> accumulator::check_fit(const accumulator_state& other) const {
  if (other.words.size() != words_.size())
    return fail(
        error::kind::runtime, "partial aggregate",
        "has " + std::to_string(other.words.size()) + " words where this rule keeps " + std::to_string(words_.size()),
        "run the same scenario on every aggregator");
  if (blind_) return {};
  const auto more_count = static_cast<std::uint64_t>(other.words[count_word]);
  const auto more_weight = static_cast<std::uint64_t>(other.words[weight_word]);
  if (more_count > max_count_ - count() || more_weight > max_total_weight_ - weight())
    return fail(error::kind::runtime, "partial aggregate",
                "claims " + std::to_string(more_count) + " updates of weight " + std::to_string(more_weight) +
                    ", more than the rule can hold",
                "ask fewer clients a round or lower aggregation.max_weight");
  const auto weighted = std::ranges::count_if(other.updates, [](const auto& update) { return update.weight > 0; });
  if (rule_holds_ && static_cast<std::uint64_t>(weighted) != more_count)
    return fail(error::kind::runtime, "partial aggregate",
                "counts " + std::to_string(more_count) + " updates and has " + std::to_string(weighted) +
                    ", and the rule " + kind_ + " needs each",
                "aggregate in the process of the server");
  return {};
}

result<void> accumulator::merge(const accumulator_state& other) {
  if (auto fits = check_fit(other); !fits) return fits;
  models::kernels().add_fixed(words_.data(), other.words.data(), words_.size());
  std::ranges::copy(other.updates, std::back_inserter(held_));
  return {};
}

result<void> accumulator::merge(accumulator_state&& other) {
  if (auto fits = check_fit(other); !fits) return fits;
  // The count of masked words says nothing.
  if (blind_ || count() > 0)
    models::kernels().add_fixed(words_.data(), other.words.data(), words_.size());
  else
    words_.swap(other.words);
  std::ranges::move(other.updates, std::back_inserter(held_));
  return {};
}

accumulator_state accumulator::save() const {
  accumulator_state state{words_, held_};
  sort_by_task(state.updates);
  return state;
}

accumulator_state accumulator::take() {
  accumulator_state state{std::move(words_), std::exchange(held_, {})};
  words_.assign(state.words.size(), 0);
  sort_by_task(state.updates);
  return state;
}

bool accumulator::has_room(std::uint32_t more) const {
  return count() < max_count_ && more <= max_total_weight_ - weight();
}

void accumulator::count_update(const client_update& update) {
  ++words_[count_word];
  words_[weight_word] += update.weight;
  // The loss is only reported; clamped so that no client can make it overflow.
  const double most = 0x1p62 * loss_unit / static_cast<double>(max_count_);
  const double bounded = std::clamp(std::isfinite(update.loss_sum) ? update.loss_sum : 0.0, 0.0, most);
  words_[loss_word] += std::llround(bounded / loss_unit);
}

result<void> accumulator::open(std::vector<std::int64_t> sum, std::uint64_t members) {
  blind_ = false;
  std::ranges::fill(words_, 0);
  const auto refuse = [](std::string why) {
    return fail(error::kind::runtime, "the sum of the round's updates", std::move(why));
  };
  if (auto fits = check_fit({sum}); !fits) return fits;
  const auto counted = sum[count_word];
  if (counted < 0 || static_cast<std::uint64_t>(counted) > members || sum[loss_word] < 0)
    return refuse("counts " + std::to_string(counted) + " updates, and has those of " + std::to_string(members) +
                  " clients");
  // One addend is below 2^50 (fixed_point.hpp), noise may be larger, and the sum is below 2^62.
  const auto addends = noisy_ ? 1U << 12U : std::min<std::uint64_t>(members, 1U << 12U);
  const auto most = static_cast<std::int64_t>(addends << 50U);
  const auto is_large = [most](std::int64_t word) { return word > most || word < -most; };
  if (std::any_of(sum.begin() + header_words, sum.end(), is_large))
    return refuse("has a value beyond what so many updates can add");
  words_ = std::move(sum);
  return {};
}

std::unique_ptr<accumulator> make_accumulator(const experiment& e, const std::vector<double>& reference) {
  auto made = make_open_accumulator(e, reference);
  if (e.settings.privacy->secure_aggregation)
    made->set_blind(e.settings.privacy->noise > 0 && e.settings.privacy->noise_at == noise_place::client);
  return made;
}

namespace {

/// Null if updates have nothing of the model.
std::unique_ptr<aggregation_rule> rule_of(const experiment& setup, const std::vector<double>& reference) {
  if (!setup.parts.sends_model) return nullptr;
  const auto& settings = *setup.settings.aggregation;
  return ask_rule(settings.rule.kind, "in build()", [&] {
    auto made = make_rule(settings, setup.parts.shared, reference, setup.settings.seed);
    if (!made) throw std::logic_error("it returned null");
    return made;
  });
}

}  // namespace

std::unique_ptr<accumulator> make_open_accumulator(const experiment& e, const std::vector<double>& reference) {
  auto made =
      std::make_unique<accumulator>(*e.settings.aggregation, e.parts.shared, rule_of(e, reference), group_sums(e));
  if (e.settings.algorithm->traits.sees_updates) made->keep_updates();
  return made;
}

std::size_t accumulated_words(const experiment& e) {
  const auto rule = rule_of(e, {});
  return accumulator::header_words + (rule ? rule->words() : 0) + group_sums(e).words();
}

rule_sizes rule_sizes_of(const experiment& e) {
  return {first_reference(*e.settings.aggregation, e.parts.shared).size(), accumulated_words(e)};
}

std::uint64_t held_bytes(const experiment& run) {
  if (!run.settings.aggregation->rule.traits.holds_updates) return 0;
  const auto& participation = *run.settings.participation;
  const std::uint64_t updates = participation.policy.traits.draws_cohort ? participation.cap : participation.per_round;
  return updates * run.parts.up->size() * sizeof(float);
}

std::unique_ptr<accumulator> make_accumulator(const aggregation_settings& settings, const models::layout_ptr& shared,
                                              const std::vector<double>& reference, std::uint64_t seed) {
  return std::make_unique<accumulator>(settings, shared, make_rule(settings, shared, reference, seed));
}

}  // namespace furlong::federated
