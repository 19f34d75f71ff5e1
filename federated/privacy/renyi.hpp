// Rényi differential privacy of one release, by order (Mironov 2017). Releases compose by adding their divergences.
//
// The sensitivity is that of the neighbouring relation: with noise z times the clipping bound, adding, removing or
// zeroing a client is 1/z deviations, replacing it 2/z.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace furlong::federated::privacy {

/// Orders over which bounds are minimized: 1.1 to 10.9 in steps of 0.1, 11 to 63, then 128 to 1024.
[[nodiscard]] std::span<const double> default_orders();

/// The Gaussian mechanism, sensitivity `mu` deviations: order mu^2 / 2 (Mironov 2017, proposition 7).
[[nodiscard]] double gaussian_divergence(double mu, double order);
/// Its Poisson sampling at `rate`, for adding or removing a client: the larger of both directions (Mironov, Talwar,
/// Zhang 2019, "Rényi differential privacy of the sampled Gaussian mechanism", theorems 4 and 5), by numerical
/// integration of their equation 5 to about 1e-14.
[[nodiscard]] double poisson_divergence(double mu, double rate, double order);
/// Poisson sampling of which at most `cap` clients are kept at random, out of `clients` (with the client in question).
/// Where others alone reach the cap, a client takes the place of another one, which is twice as far: the bound is the
/// mixture of both cases.
[[nodiscard]] double truncated_divergence(double mu, double rate, std::uint64_t clients, std::uint64_t cap,
                                          double order);
/// A cohort of fixed size, `rate` of all clients without replacement, for replacing a client: `mu` is twice the
/// clipping bound over the deviation (Wang, Balle, Kasiviswanathan 2019, "Subsampled Rényi differential privacy and
/// analytical moments accountant", theorem 27; between integers linear by their corollary 10). One bound per order.
[[nodiscard]] std::vector<double> fixed_size_divergences(double mu, double rate, std::span<const double> orders);

/// P[at least `count` of `trials` succeed], each with `rate`.
[[nodiscard]] double binomial_tail(std::uint64_t trials, double rate, std::uint64_t count);

struct renyi_bound {
  double epsilon = 0.0;
  double order = 0.0;  ///< that gives it
};
/// The smallest epsilon over the orders for these (composed) divergences: Canonne, Kamath, Steinke 2020, "The discrete
/// Gaussian for differential privacy", proposition 12; 0 where delta^2 > 1 - exp(-divergence) (Bretagnolle, Huber).
[[nodiscard]] renyi_bound epsilon_from_divergences(std::span<const double> orders, std::span<const double> divergences,
                                                   double delta);

}  // namespace furlong::federated::privacy
