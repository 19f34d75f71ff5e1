#include "federated/privacy/server_noise.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/discrete_gaussian.hpp"
#include "federated/privacy/noise_share.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

using privacy::lattice_noise;

std::uint64_t divisor_of(const experiment& e) {
  return public_divisor(e.settings, e.participants ? e.participants->training().size() : 0);
}

bool on_clients(const run_settings& settings) {
  return settings.privacy->noise > 0 && settings.privacy->noise_at == noise_place::client;
}

/// The server adds it to the words of sums.
bool adds_to_words(const run_settings& settings) {
  return settings.privacy->noise > 0 && settings.privacy->key && !on_clients(settings);
}

/// Noise on the words of a sum, by segment.
class word_noise {
 public:
  /// @param parts of so many shares is one drawn at a time
  /// @param steps of rounding, of one client (deviation_with_rounding)
  word_noise(const experiment& e, double bound, accumulator& sum, std::uint64_t parts, double steps)
      : e_(e), sum_(sum), of_(noise_of(*e.settings.privacy, divisor_of(e))), parts_(parts) {
    std::vector<privacy::word_segment> updates;
    sum.visit_sums([&](std::size_t group, std::span<std::int64_t> words, double units) {
      if (!is_report(group)) updates.push_back({words, units});
    });
    updates_ = privacy::deviation_with_rounding(updates, of_.sum, longest_clipped(bound), parts, steps);
  }

  void add(int sign, word_source& from) {
    sum_.visit_sums([&](std::size_t group, std::span<std::int64_t> words, double units) {
      privacy::add_noise_share({words, units}, is_report(group) ? of_.below : updates_, parts_, sign, from);
    });
  }

 private:
  [[nodiscard]] bool is_report(std::size_t group) const {
    return group != accumulator::of_model && is_clip_report(e_.groups[group]);
  }

  const experiment& e_;
  accumulator& sum_;
  split_noise of_;
  std::uint64_t parts_;
  double updates_ = 0.0;  ///< deviation on the sum of updates
};

}  // namespace

std::uint64_t public_divisor(const run_settings& settings, std::uint64_t clients) {
  if (settings.privacy->noise <= 0) return 0;
  const auto& how = *settings.participation;
  if (how.mode == participation_mode::async) return how.async == async_kind::model ? 0 : how.buffer;
  const auto& noise = *settings.privacy;
  // Simulations of fixed cohorts keep the results that they had before there was a public divisor.
  const bool counts = !noise.key && noise.mechanism == noise_mechanism::gaussian && noise.clip_quantile <= 0 &&
                      noise.noise_at == noise_place::server;
  if (!how.policy.traits.draws_cohort) return counts ? 0 : how.per_round;
  return static_cast<std::uint64_t>(std::max(1.0, std::round(how.rate * static_cast<double>(clients))));
}

std::size_t fewest_reports(const run_settings& settings) {
  const auto& how = *settings.participation;
  if (how.mode == participation_mode::async)
    return on_clients(settings) ? std::max<std::size_t>(how.min_reports, 1) : 1;
  const bool always =
      (how.policy.traits.draws_cohort || settings.privacy->mechanism == noise_mechanism::tree) && !on_clients(settings);
  return settings.privacy->noise > 0 && always ? 0 : std::max<std::size_t>(how.min_reports, 1);
}

bool keeps_client_losses(const run_settings& settings) { return settings.privacy->noise <= 0; }

std::vector<noise_term> noise_terms(const privacy_settings& settings, std::uint64_t version, std::uint64_t began) {
  if (settings.mechanism != noise_mechanism::tree) return {{version, 0, 1}};
  const auto since = version - (settings.key ? began : 0);
  const auto leaf = (settings.tree_rounds > 0 ? since % settings.tree_rounds : since) + 1;
  const auto level = static_cast<unsigned>(std::countr_zero(leaf));
  std::vector<noise_term> terms = {{version, level, 1}};
  // It replaces the nodes that end 1, 2, 4, ... rounds before.
  for (unsigned lower = 0; lower < level; ++lower) terms.push_back({version - (std::uint64_t{1} << lower), lower, -1});
  return terms;
}

aggregate report_sum(const experiment& e, const server_state& state, std::uint64_t began, accumulator& sum) {
  if (adds_to_words(e.settings)) {
    word_noise noise(e, clip_bound_of(e, state.added), sum, 1, 1.0);
    for (const auto& term : noise_terms(*e.settings.privacy, state.version, began)) {
      secret_stream stream(*e.settings.privacy->key, purpose::server_noise, term.version, term.level);
      noise.add(term.sign, stream);
    }
  }
  return sum.report(divisor_of(e));
}

void add_client_noise(const experiment& e, const models::shared_parameters& down, const task_id& of, accumulator& sum) {
  if (!on_clients(e.settings)) return;
  word_noise noise(e, clip_bound(e, down), sum, fewest_reports(e.settings), 0.5);
  if (e.settings.privacy->key) {
    secret_stream stream(draw_secret_key(), purpose::noise_shares);
    noise.add(1, stream);
  } else {
    seeded_words stream(random_stream(e.settings.seed, purpose::noise_shares, static_cast<std::uint32_t>(of.version),
                                      of.client, of.attempt));
    noise.add(1, stream);
  }
}

void add_server_noise(const experiment& e, const server_state& state, aggregate& round) {
  const auto& rule = *e.settings.aggregation;
  const auto& how = *e.settings.privacy;
  const double once = rule.noise_at == noise_place::server ? rule.noise : 0.0;
  const auto of = noise_of(how, round.count);
  const bool done = adds_to_words(e.settings) || on_clients(e.settings) || round.count == 0;
  const double of_sum = done ? 0.0 : round.mixing * of.sum * clip_bound_of(e, state.added);
  const double of_model = rule.rule.traits.sensitivity * of_sum;
  if (once == 0.0 && of_sum == 0.0) return;
  const auto count = static_cast<double>(std::max<std::uint64_t>(round.count, 1));
  for (const auto& term : noise_terms(how, state.version, 0)) {
    random_stream stream(e.settings.seed, purpose::server_noise, static_cast<std::uint32_t>(term.version), 0,
                         term.level);
    const double alone = term.version == state.version ? once : 0.0;
    const auto add = [&](std::span<float> values, double deviation) {
      const auto factor = static_cast<float>(term.sign * deviation);
      for (auto& value : values) value += factor * stream.normal();
    };
    add(round.change.values(), exact::hypot(alone, of_model / count));
    for (const auto& group : e.groups)
      for (std::size_t i = 0; group.in_reported != placed_group::nowhere && i < group.count(); ++i)
        add(round.added.tensor(group.in_reported + i),
            is_clip_report(group) ? (done ? 0.0 : of.below / count)
                                  : exact::hypot(alone, of_sum / (group.rule == sum_rule::sum ? 1.0 : count)));
  }
}

result<void> check_noise(const experiment& e, std::uint64_t clients) {
  const auto& how = *e.settings.privacy;
  if (how.noise <= 0) return {};
  const auto& rule = e.settings.aggregation->rule;
  if (e.parts.sends_model && rule.traits.sensitivity <= 0)
    return fail(error::kind::usage, "privacy.noise",
                "is above 0, and how far one update moves the aggregate of aggregation.rule = \"" + rule.kind +
                    "\" is not stated",
                "choose another rule, or state the sensitivity in its traits");
  const auto of = noise_of(how, public_divisor(e.settings, clients));
  if (auto fits = check_split(how, public_divisor(e.settings, clients)); !fits) return fits;
  if (!how.key && !on_clients(e.settings)) return {};
  const auto sum = make_accumulator(e, {});
  const double reports = e.settings.participation->per_round * e.settings.participation->over_selection;
  double most = 0.0;
  double most_of_shares = 0.0;
  double least_share = std::numeric_limits<double>::infinity();
  bool is_linear = true;
  // An adaptive bound can grow to the largest norm of a tensor. (A round whose shares do not fit is then abandoned.)
  const bool grows = how.clip_quantile > 0 && !on_clients(e.settings);
  const double lowest = how.clip_quantile > 0 ? least_clip_bound(how) : how.clip;
  const double bound = longest_clipped(grows ? std::max(how.clip, e.settings.aggregation->max_norm) : how.clip);
  sum->visit_sums([&](std::size_t group, std::span<std::int64_t>, double units) {
    const bool below = group != accumulator::of_model && is_clip_report(e.groups[group]);
    const double deviation = units * (below ? of.below : of.sum * bound);
    const double shares = std::sqrt(static_cast<double>(fewest_reports(e.settings)));
    most = std::max(most, deviation);
    most_of_shares = std::max(most_of_shares, 10 * deviation / shares * std::sqrt(reports));
    least_share = std::min(least_share, units * (below ? of.below : of.sum * lowest) / shares);
    is_linear = is_linear && units > 0;
  });
  if (!is_linear)
    return fail(error::kind::usage, "privacy.noise_key",
                "is a secret one, and the sums of aggregation.rule = \"" + e.settings.aggregation->rule.kind +
                    "\" take no noise on their words",
                "choose another rule, or noise_key = \"seed\"");
  if (on_clients(e.settings)) {
    // Sums are below 2^62 (mean.cpp), and with so many steps the sum of shares is as private as one Gaussian
    // (noise_share.hpp).
    constexpr double fewest_steps = 1024;
    if (1.01 * most_of_shares <= 0x1p61 && least_share >= fewest_steps) return {};
    return fail(error::kind::usage, "privacy.noise_at",
                "is \"client\", and the shares of the noise do not fit the words of exact sums",
                least_share < fewest_steps ? "raise privacy.noise or privacy.clip"
                                           : "lower privacy.noise, or raise algorithm.aggregation.max_norm");
  }
  // Roundings add far less than the rest of the range.
  if (1.01 * most > lattice_noise::most_deviation)
    return fail(error::kind::usage, "privacy.noise", "times privacy.clip is too much for the words of exact sums",
                "lower privacy.clip or privacy.noise, or raise algorithm.aggregation.max_norm");
  return {};
}

}  // namespace furlong::federated
