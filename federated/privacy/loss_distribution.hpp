// Privacy loss distributions of Gaussian mechanisms under sampling, and their composition by FFT.
//
// A pair of distributions P, Q that dominates a mechanism is represented by the distribution of log(dP/dQ) under P.
// Composition adds losses, so it convolves their distributions; delta(epsilon) = E[max(0, 1 - exp(epsilon - loss))]
// (Koskela, Jälkö, Honkela 2020, "Computing tight differential privacy guarantees using FFT").
//
// Losses are placed on a grid by "connecting the dots" (Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022): each
// interval's mass goes to its two ends so that the masses under P and under Q are kept. delta is then exact at the grid
// points, and an upper bound in between; what is cut off is counted as a certain loss.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace furlong::federated::privacy {

/// P = (1 - up) N(0, 1) + up N(mu, 1) and Q = (1 - down) N(0, 1) + down N(-mu, 1). Poisson sampling at q: up = q, down
/// = 0 for removing a client, 0 and q for adding it, q and q for both at once.
struct loss_pair {
  double mu = 0.0;  ///< sensitivity over deviation
  double up = 0.0;
  double down = 0.0;
};
/// A mixture of at most two pairs: the second one with probability `share`. Its index is revealed.
struct mixed_pair {
  loss_pair first;
  loss_pair second = {};
  double share = 0.0;
  /// No mixture, but the losses of `first` above 0 and those of `second` below 0; what is left is no loss. So
  /// delta(epsilon) is that of `first` for epsilon >= 0 and that of `second` below, which must agree at 0.
  bool joined = false;
};
/// A pair, released `count` times.
struct repeated_pair {
  mixed_pair of;
  std::uint64_t count = 1;
};

/// The smallest epsilon >= 0 at which the composed pairs are (epsilon, delta)-indistinguishable in this direction;
/// infinity if there is none. An upper bound, but for rounding: within about 1e-4 (relative, beyond 1) of the exact
/// value for delta >= 1e-10.
[[nodiscard]] double composed_epsilon(std::span<const repeated_pair> pairs, double delta);
/// The delta of an epsilon >= 0.
[[nodiscard]] double composed_delta(std::span<const repeated_pair> pairs, double epsilon);

}  // namespace furlong::federated::privacy
