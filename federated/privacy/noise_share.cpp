#include "federated/privacy/noise_share.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "base/exact_math.hpp"

namespace furlong::federated::privacy {

namespace {

lattice_noise share_of(double deviation, const word_segment& of, std::uint64_t parts) {
  return lattice_noise::of_deviation(deviation * of.units / std::sqrt(static_cast<double>(parts)));
}

}  // namespace

double deviation_with_rounding(std::span<const word_segment> segments, double z, double bound, std::uint64_t parts,
                               double steps) {
  double deviation = z * bound;
  // With more noise its steps may be longer. They are 2^-23 of it at most, so that it soon stays the same.
  constexpr int most_turns = 100;
  for (int turn = 0; turn < most_turns; ++turn) {
    const double before = deviation;
    double squares = 0.0;
    for (const auto& one : segments) {
      const double step = std::ldexp(1.0, static_cast<int>(share_of(deviation, one, parts).shift));
      const double most = (steps * step + 0.5) / one.units;
      squares += static_cast<double>(one.words.size()) * most * most;
    }
    deviation = z * (bound + std::sqrt(squares));
    if (deviation == before) return deviation;
  }
  return std::numeric_limits<double>::infinity();
}

void add_noise_share(const word_segment& to, double deviation, std::uint64_t parts, int sign, word_source& from) {
  const auto noise = share_of(deviation, to, parts);
  round_to_lattice(to.words, noise);
  add_lattice_noise(to.words, noise, sign, from);
}

double distance_of_sum(double deviation, std::uint64_t clients) {
  const double factor = -2 * std::numbers::pi * std::numbers::pi * deviation * deviation;
  // Terms fall towards that of infinitely many.
  constexpr std::uint64_t exact = 10'000;
  double sum = 0.0;
  const auto terms = std::max<std::uint64_t>(clients, 1) - 1;
  for (std::uint64_t k = 1; k <= std::min(terms, exact); ++k)
    sum += exact::exp(factor * static_cast<double>(k) / static_cast<double>(k + 1));
  if (terms > exact)
    sum += static_cast<double>(terms - exact) * exact::exp(factor * static_cast<double>(exact) / (exact + 1.0));
  return 10 * sum;
}

double shared_noise_divergence(double order, double bound, double deviation, std::uint64_t clients,
                               std::uint64_t values) {
  const double distance = bound / (std::sqrt(static_cast<double>(clients)) * deviation);
  const double tau = distance_of_sum(deviation, clients);
  const auto d = static_cast<double>(values);
  const double both = distance + std::sqrt(d) * tau;
  return std::min(order / 2 * distance * distance + tau * d, order / 2 * both * both);
}

}  // namespace furlong::federated::privacy
