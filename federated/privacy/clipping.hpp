// Clipping of updates, to a fixed bound or to one that follows a quantile of their norms.
//
// Adaptive clipping (Andrew, Thakkar, McMahan, Ramaswamy 2021, "Differentially private learning with adaptive
// clipping", algorithm 1): each update also says whether its norm is within the bound C, by +1/2 or -1/2. From their
// noisy mean, plus 1/2, the server has the share b of updates within the bound, and moves it towards the quantile:
// C <- C exp(-lr (b - quantile)). The bound is broadcast as the tensor of the group "clip-bound", what clients say is
// reported in that of "clip-below": wire, checkpoint and exact sums treat both as tensors of the algorithm.
//
// The sums of updates and of what clients say are released together. With noise sigma_b on the latter, of sensitivity
// 1/2, and z_sum C on the former, the whole costs what one sum with noise z does, where 1/z^2 = 1/z_sum^2 +
// 1/(2 sigma_b)^2 (their theorem 1).
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated {

/// The groups that clipping adds to those of the algorithm: none with a fixed bound.
[[nodiscard]] std::vector<tensor_group> clip_groups(const privacy_settings& settings);

/// The bound that clients clip to who receive these values: privacy.clip, or what the server has made of it.
[[nodiscard]] double clip_bound(const experiment& e, const models::shared_parameters& down);
/// The same, from the server's added tensors.
[[nodiscard]] double clip_bound_of(const experiment& e, const models::shared_parameters& added);
/// An adaptive bound does not fall below it.
[[nodiscard]] double least_clip_bound(const privacy_settings& settings);
/// longest_update() of updates that start from these values: also with what they say of their norm.
[[nodiscard]] double longest_update(const experiment& e, const models::shared_parameters& down);
/// What an update of this client that started from these values must satisfy.
[[nodiscard]] update_bounds bounds_of(const experiment& e, const broadcast& from, std::uint32_t client);

/// Scales the whole update, all tensors together, to the bound; nothing without privacy.clip. With an adaptive bound,
/// also says whether it was within it.
void clip_update(const experiment& e, const models::shared_parameters& down, models::delta& change);

/// The noise of the two sums.
struct split_noise {
  double sum = 0.0;    ///< z_sum: of the updates, in bounds
  double below = 0.0;  ///< sigma_b, on the sum of what clients say
};
/// @param cohort the planned number of updates: without privacy.clip_noise sigma_b is a 20th of it
[[nodiscard]] split_noise noise_of(const privacy_settings& settings, std::uint64_t cohort);
/// Fails (kind usage) if the noise on what clients say alone exceeds the privacy that privacy.noise asks for.
[[nodiscard]] result<void> check_split(const privacy_settings& settings, std::uint64_t cohort);

/// True for the group of what clients say.
[[nodiscard]] bool is_clip_report(const tensor_group& group);
/// After the noise, before the algorithm's step: moves the bound, between a millionth of privacy.clip
/// and aggregation.max_norm.
void move_clip_bound(const experiment& e, const aggregate& round, models::shared_parameters& added);

}  // namespace furlong::federated
