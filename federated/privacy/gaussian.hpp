// The privacy of Gaussian noise alone, exactly.
#pragma once

namespace furlong::federated::privacy {

/// P[X > x] for a standard normal X; relative precision in both tails.
[[nodiscard]] double normal_tail(double x);
/// Its logarithm; does not underflow.
[[nodiscard]] double log_normal_tail(double x);

/// The smallest delta with which N(0, 1) and N(mu, 1) are (epsilon, delta)-indistinguishable (Balle, Wang 2018,
/// "Improving the Gaussian mechanism for differential privacy", theorem 8). Composed Gaussian mechanisms are one with
/// mu^2 = the sum of their (sensitivity / deviation)^2.
[[nodiscard]] double gaussian_delta(double mu, double epsilon);
/// The smallest epsilon >= 0 of gaussian_delta() <= delta; 0 < delta < 1.
[[nodiscard]] double gaussian_epsilon(double mu, double delta);

}  // namespace furlong::federated::privacy
