#include "federated/rounds/divergence.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>
#include <utility>

#include "federated/privacy/server_noise.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

/// Compares a loss with its first value, which it becomes when there was none. The reason if it is beyond.
std::string check_loss(std::string_view name, double loss, std::optional<double>& first, double diverged_at) {
  if (!std::isfinite(loss)) return std::string(name) + " is not finite";
  if (!first) {
    first = loss;
  } else if (diverged_at > 0 && *first > 0 && loss > diverged_at * *first) {
    return std::string(name) + " grew from " + short_number(*first) + " to " + short_number(loss);
  }
  return {};
}

bool all_finite(std::span<const float> values) {
  return values.empty() || std::isfinite(models::kernels().norm_squared(values.data(), values.size()));
}

/// Counts the updates that were rejected because training diverged, in versions in which nearly all were. The reason if
/// they are too many.
std::string check_rejections(const participation_settings& how, const round_report& report, std::uint64_t sound,
                             std::uint64_t& in_a_row) {
  constexpr std::uint64_t least_rejected = 100;
  constexpr std::uint64_t rounds = 10;
  constexpr std::uint64_t share = 9;  // rejected updates for each that was not
  const auto rejected =
      static_cast<std::uint64_t>(std::ranges::count_if(report.refused, [](const refused_member& member) {
        return member.why == rejection::not_finite || member.why == rejection::norm_bound ||
               member.why == rejection::attention_range;
      }));
  if (rejected + sound == 0) return {};
  in_a_row = rejected >= share * sound ? in_a_row + rejected : 0;
  const std::uint64_t cohort = how.mode == participation_mode::async ? how.buffer : how.per_round;
  if (in_a_row < std::max(least_rejected, rounds * cohort)) return {};
  return "nearly all updates of the last versions were rejected as too large or not finite (" +
         std::to_string(in_a_row) + ")";
}

/// The groups of a report, in the order of their numbers.
std::array<const std::optional<group_metrics>*, 4> groups_of(const evaluation_report& figures) {
  return {&figures.validation, &figures.seen, &figures.unseen, &figures.train};
}

/// Of the group with this number: "the validation loss", "the loss of seen clients".
std::string name_of(std::string_view figure, std::size_t number) {
  if (number == static_cast<std::size_t>(group::validation)) return "the validation " + std::string(figure);
  return "the " + std::string(figure) + " of " + std::string(group_names.at(number)) + " clients";
}

/// Whether chance can be left out of a comparison with a constant prediction. If a model explains a tenth of the
/// variance of 1,000 ratings, the difference is five of its standard errors. Of classes only the examples count that
/// the constant gets wrong, of tokens those that it gets right: one class or token may be rare.
bool is_large_enough(const group_metrics& metrics, const constant_prediction& constant) {
  constexpr double least_examples = 1000.0;
  constexpr double least_compared = 100.0;
  const auto n = static_cast<double>(metrics.examples);
  if (n < least_examples) return false;
  return !constant.accuracy || n * (constant.loss ? 1.0 - *constant.accuracy : *constant.accuracy) >= least_compared;
}

bool is_clearly_better(const group_metrics& metrics, const constant_prediction& constant) {
  constexpr double most_left = 0.9;        // of the constant's loss, or of its errors
  constexpr double times_as_often = 1.25;  // right, where no loss of a constant is known
  if (constant.loss && metrics.loss <= most_left * *constant.loss) return true;
  if (!constant.accuracy || !metrics.accuracy) return false;
  if (!constant.loss) return *metrics.accuracy >= times_as_often * *constant.accuracy;
  return 1.0 - *metrics.accuracy <= most_left * (1.0 - *constant.accuracy);
}

/// In every figure: classifiers that are too sure have a loss above the constant's, and are useful all the same.
bool is_no_better(const group_metrics& metrics, const constant_prediction& constant) {
  return !constant.loses_to_most && (!constant.loss || metrics.loss >= *constant.loss) &&
         (!constant.accuracy || !metrics.accuracy || *metrics.accuracy <= *constant.accuracy);
}

/// Compares a group with a constant prediction, and records where it is clearly better. The reason if it was better
/// before and is not now.
std::string check_level(std::size_t number, const group_metrics& metrics, bool& beat_constant) {
  if (!metrics.constant || !is_large_enough(metrics, *metrics.constant)) return {};
  const auto& constant = *metrics.constant;
  if (is_clearly_better(metrics, constant)) beat_constant = true;
  if (!beat_constant || !is_no_better(metrics, constant)) return {};
  const bool in_accuracy = constant.accuracy && metrics.accuracy;
  return name_of(in_accuracy ? "accuracy" : "loss", number) + (in_accuracy ? " fell" : " rose") +
         " to the level of a constant prediction: " + short_number(in_accuracy ? *metrics.accuracy : metrics.loss) +
         ", a constant has " + short_number(in_accuracy ? *constant.accuracy : *constant.loss);
}

/// More than half of the clients of a group. Of a group of one client that one would decide.
bool lacks_scores(const group_metrics& metrics) { return metrics.unscored > metrics.clients && metrics.unscored > 1; }

}  // namespace

void watch_training(const experiment& e, server_state& state, const round_report& report, const round_facts& facts) {
  auto& losses = state.losses;
  if (!losses.diverged.empty()) return;
  if (!all_finite(state.model.values()) || !all_finite(state.added.values())) {
    losses.diverged = "the model is not finite";
  } else if (const auto loss = keeps_client_losses(e.settings) ? facts.median_loss() : std::nullopt) {
    losses.diverged = check_loss("the training loss", *loss, losses.training, e.settings.diverged_at);
  }
  auto refused = check_rejections(*e.settings.participation, report, facts.sound(), losses.rejected_in_a_row);
  if (losses.diverged.empty()) losses.diverged = std::move(refused);
}

void watch_scores(server_state& state, const evaluation_report& figures) {
  const auto groups = groups_of(figures);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& metrics = *groups[i];
    if (!state.losses.diverged.empty() || !metrics || !lacks_scores(*metrics)) continue;
    state.losses.diverged = std::to_string(metrics->unscored) + " of " +
                            std::to_string(metrics->unscored + metrics->clients) + " clients of the group " +
                            std::string(group_names.at(i)) + " have no finite score";
  }
}

void watch_evaluation(const experiment& e, server_state& state, const evaluation_report& figures) {
  watch_scores(state, figures);
  auto& losses = state.losses;
  losses.scoring = scoring_id(*e.settings.evaluation);
  const bool ends_with_last = state.best == nullptr;
  const auto groups = groups_of(figures);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const auto& metrics = *groups[i];
    if (!losses.diverged.empty() || !metrics || metrics->clients == 0) continue;
    losses.diverged = check_loss(name_of("loss", i), metrics->loss, losses.evaluation[i], e.settings.diverged_at);
    auto fell = check_level(i, *metrics, losses.beat_constant[i]);
    if (losses.diverged.empty() && e.settings.diverged_at > 0 && ends_with_last) losses.diverged = std::move(fell);
  }
}

std::optional<std::string> divergence_of(const server_state& state) {
  if (!state.losses.diverged.empty()) return state.losses.diverged;
  const auto chosen = state.chosen();
  if (!all_finite(chosen.model.values())) return "the model is not finite";
  const auto& counts = state.counts;
  const auto broken = counts.rejected[static_cast<std::size_t>(rejection::not_finite)];
  if (broken > counts.folded)
    return std::to_string(broken) + " updates were not finite, " + std::to_string(counts.folded) + " were aggregated";
  return std::nullopt;
}

}  // namespace furlong::federated
