// Noise that clients add to the words of their updates, each a share of it, so that nobody sees a sum without noise.
//
// After encode() (aggregation/rule.hpp) a client's words are its values in fixed point. The client rounds them to a
// lattice and adds the discrete Gaussian with a part of the variance; sums of words add up the shares. The sum of n
// discrete Gaussians is not one, but as private within tau (Kairouz, Liu, Steinke 2021, "The distributed discrete
// Gaussian mechanism for federated learning with secure aggregation", theorem 1).
//
// Clients that drop out take their share with them: the shares must suffice for the smallest number of reports that
// closes a round. Honest ones: a client that adds no noise makes the guarantee worse for all others.
#pragma once

#include <cstdint>
#include <span>

#include "federated/privacy/discrete_gaussian.hpp"

namespace furlong::federated::privacy {

/// Words in one unit: values times `units`.
struct word_segment {
  std::span<std::int64_t> words;
  double units = 1.0;
};

/// z times the norm of what one client adds to a sum whose words are rounded for noise of this deviation: the bound,
/// and the rounding. The latter is at most half a unit per word in the client's fixed point, and `steps` steps of the
/// lattice per word.
/// @param bound L2 norm of a client's values at most, of all segments together
/// @param parts the noise is drawn in so many shares
/// @param steps 1 where the sum is rounded, 1/2 where each client rounds its own words
[[nodiscard]] double deviation_with_rounding(std::span<const word_segment> segments, double z, double bound,
                                             std::uint64_t parts, double steps);

/// Rounds the words to a lattice, and adds `sign` times one of `parts` shares of noise with this deviation, in values.
void add_noise_share(const word_segment& to, double deviation, std::uint64_t parts, int sign, word_source& from);

/// How far the sum of discrete Gaussians is from one: tau of theorem 1.
/// @param deviation of one, in steps
[[nodiscard]] double distance_of_sum(double deviation, std::uint64_t clients);
/// Rényi divergence at an order of the sum of `clients` shares, whose deviation is `deviation` steps each, for a client
/// whose `values` values have a norm of at most `bound` steps (theorem 1). Without tau, gaussian_divergence().
[[nodiscard]] double shared_noise_divergence(double order, double bound, double deviation, std::uint64_t clients,
                                             std::uint64_t values);

}  // namespace furlong::federated::privacy
