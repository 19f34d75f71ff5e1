#include "federated/privacy/clipping.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/exact_math.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

constexpr auto bound_name = "clip-bound";
constexpr auto below_name = "clip-below";
constexpr float said_within = 0.5F;

const placed_group* find_clip_group(const experiment& e, std::string_view name) {
  if (e.settings.privacy->clip_quantile <= 0) return nullptr;
  const auto at = std::ranges::find(e.groups, name, &placed_group::name);
  return at == e.groups.end() ? nullptr : &*at;
}

}  // namespace

std::vector<tensor_group> clip_groups(const privacy_settings& settings) {
  if (settings.clip_quantile <= 0 || settings.clip <= 0) return {};
  const models::tensor_spec one{.name = "value", .rows = 1, .cols = 1};
  return {{.name = bound_name,
           .where = place::broadcast,
           .specs = {one},
           .first = first_value::constant,
           .constant = static_cast<float>(settings.clip),
           .exact = true},
          {.name = below_name,
           .where = place::report,
           .specs = {one},
           .rule = sum_rule::uniform_mean,
           .max_norm = said_within,
           .exact = true}};
}

double clip_bound(const experiment& e, const models::shared_parameters& down) {
  const auto* group = find_clip_group(e, bound_name);
  return group == nullptr ? e.settings.privacy->clip : static_cast<double>(down.tensor(group->in_down)[0]);
}

double clip_bound_of(const experiment& e, const models::shared_parameters& added) {
  const auto* group = find_clip_group(e, bound_name);
  return group == nullptr ? e.settings.privacy->clip : static_cast<double>(added.tensor(group->in_server)[0]);
}

double least_clip_bound(const privacy_settings& settings) { return 1e-6 * settings.clip; }

double longest_update(const experiment& e, const models::shared_parameters& down) {
  const double fixed = longest_update(e.settings);
  if (!std::isfinite(fixed) || find_clip_group(e, bound_name) == nullptr) return fixed;
  return exact::hypot(longest_clipped(clip_bound(e, down)), static_cast<double>(said_within));
}

update_bounds bounds_of(const experiment& e, const broadcast& from, std::uint32_t client) {
  std::optional<std::uint64_t> examples;
  if (e.participants) examples = e.participants->count(client, part::train);
  return bounds_of(e, longest_update(e, from.model), from.limits, examples);
}

void clip_update(const experiment& e, const models::shared_parameters& down, models::delta& change) {
  const double bound = clip_bound(e, down);
  if (bound <= 0) return;
  const double norm = std::sqrt(models::kernels().norm_squared(change.values.data(), change.values.size()));
  if (norm > bound) {
    const auto factor = static_cast<float>(bound / norm);
    for (auto& value : change.values) value *= factor;
  }
  if (const auto* below = find_clip_group(e, below_name))
    change.values[change.pieces[below->in_up].value_begin] = norm <= bound ? said_within : -said_within;
}

split_noise noise_of(const privacy_settings& settings, std::uint64_t cohort) {
  if (settings.clip_quantile <= 0 || settings.noise <= 0) return {.sum = settings.noise};
  split_noise made;
  made.below = settings.clip_noise > 0 ? settings.clip_noise : static_cast<double>(cohort) / 20;
  const double of_below = 1 / (2 * made.below);
  const double left = 1 / (settings.noise * settings.noise) - of_below * of_below;
  made.sum = left > 0 ? 1 / std::sqrt(left) : std::numeric_limits<double>::infinity();
  return made;
}

result<void> check_split(const privacy_settings& settings, std::uint64_t cohort) {
  if (std::isfinite(noise_of(settings, cohort).sum)) return {};
  return fail(error::kind::usage, "privacy.clip_noise",
              "is " + std::to_string(noise_of(settings, cohort).below) +
                  (settings.clip_noise > 0 ? "" : ", a 20th of the cohort") +
                  ", with which finding the quantile alone costs more than privacy.noise allows",
              "set it above half of privacy.noise, better a multiple of it");
}

bool is_clip_report(const tensor_group& group) { return group.name == below_name; }

void move_clip_bound(const experiment& e, const aggregate& round, models::shared_parameters& added) {
  const auto* bound = find_clip_group(e, bound_name);
  const auto* below = find_clip_group(e, below_name);
  if (bound == nullptr || below == nullptr) return;
  const auto& how = *e.settings.privacy;
  const double share = static_cast<double>(round.added.tensor(below->in_reported)[0]) + said_within;
  const double moved = clip_bound_of(e, added) * exact::exp(-how.clip_lr * (share - how.clip_quantile));
  added.tensor(bound->in_server)[0] = static_cast<float>(
      std::clamp(moved, least_clip_bound(how), std::max(how.clip, e.settings.aggregation->max_norm)));
}

}  // namespace furlong::federated
