#include "federated/privacy/accountant.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "federated/privacy/gaussian.hpp"
#include "federated/privacy/loss_distribution.hpp"
#include "federated/privacy/renyi.hpp"

namespace furlong::federated::privacy {

namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
/// With less noise a release hides nothing, and its losses do not fit the numbers that they are computed in.
constexpr double least_noise = 0.02;
/// Beyond it the fixed-size bound costs more to compute than it can gain.
constexpr double most_fixed_order = 256;

double divergence_of(const mechanism& of, double order) {
  const double mu = 1.0 / of.noise;
  switch (of.how) {
    case sampling::poisson: return poisson_divergence(mu, of.rate, order);
    case sampling::truncated_poisson: return truncated_divergence(mu, of.rate, of.clients, of.cap, order);
    default: return gaussian_divergence(mu, order);
  }
}

/// The pair that dominates a release of cohorts of fixed size, for replacing a client.
///
/// Such sums are (1 - rate) M0 + rate M1 and (1 - rate) M0 + rate M1', where M0 are those of the cohorts without the
/// client. Each of M0, M1 and M1' becomes another one by replacing a client of each cohort, so by advanced joint
/// convexity (Balle, Barthe, Gaboardi 2018, theorem 2) delta(epsilon) is at most that of `first` for epsilon >= 0. The
/// neighbours can be exchanged, and H_a(P, Q) = 1 - a + a H_1/a(Q, P): so it is at most that of `second` below 0. These
/// are the cases of Zhu, Dong, Wang 2022, "Optimal accounting of differential privacy via characteristic function",
/// for random subsets. What composes is a pair with both branches (their theorem 10). `first` alone is attained by two
/// data sets, but does not bound all rounds of others (Lebeda, Regehr, Kamath, Steinke 2024).
mixed_pair replaced_pair(double mu, double rate) {
  return {.first = {mu, rate, 0.0}, .second = {mu, 0.0, rate}, .joined = true};
}

/// The pair that dominates a release, for removing (`up`) or adding the client.
mixed_pair pair_of(const mechanism& of, bool up) {
  if (of.how == sampling::fixed_size) return replaced_pair(2.0 / of.noise, of.rate);
  const double mu = 1.0 / of.noise;
  mixed_pair made{.first = {mu, up ? of.rate : 0.0, up ? 0.0 : of.rate}};
  if (of.how != sampling::truncated_poisson) return made;
  // If the client is drawn, the others reach the cap by themselves with this probability; then, and only then, it takes
  // the place of another one, if it is kept. Replacing in both directions bounds that.
  made.share = binomial_tail(of.clients - 1, of.rate, of.cap);
  if (made.share <= 0.0) return made;
  const double kept = binomial_tail(of.clients, of.rate, of.cap + 1) * static_cast<double>(of.cap) / made.share /
                      static_cast<double>(of.clients);
  made.second = {2 * mu, kept, kept};
  return made;
}

double loss_epsilon(const mechanism& of, std::uint64_t releases, double delta) {
  double most = 0.0;
  for (const bool up : {true, false}) {
    if (!up && of.how == sampling::fixed_size) break;  // the same pair
    const repeated_pair pairs[] = {{pair_of(of, up), releases}};
    most = std::max(most, composed_epsilon(pairs, delta));
  }
  return most;
}

double unsampled_epsilon(const mechanism& of, std::uint64_t releases, double delta) {
  const double sensitivity = of.how == sampling::fixed_size ? 2.0 : 1.0;
  return gaussian_epsilon(sensitivity * std::sqrt(static_cast<double>(releases)) / of.noise, delta);
}

}  // namespace

std::string_view to_string(sampling how) {
  switch (how) {
    case sampling::poisson: return "poisson";
    case sampling::truncated_poisson: return "truncated-poisson";
    case sampling::fixed_size: return "fixed-size";
    case sampling::none: break;
  }
  return "none";
}

std::string_view relation_of(sampling how) {
  switch (how) {
    case sampling::poisson:
    case sampling::truncated_poisson: return "add-or-remove-one";
    case sampling::fixed_size: return "replace-one";
    case sampling::none: break;
  }
  return "zero-out-one";
}

std::uint64_t tree_releases(const mechanism& of, std::uint64_t participations) {
  if (of.tree == 0) return participations;
  std::uint64_t levels = 0;
  for (std::uint64_t rounds = 1; rounds <= of.tree; rounds *= 2)
    levels += std::min(participations, (rounds + of.apart - 1) / of.apart);
  return participations * levels;
}

privacy_accountant::privacy_accountant(const mechanism& of) : of_(of) {
  // Without a cap that can bind, and without chance, the simpler cases are the same mechanisms.
  if (of_.how == sampling::truncated_poisson && of_.cap >= of_.clients) of_.how = sampling::poisson;
  if (of_.noise < least_noise) return;
  for (const double order : default_orders())
    if (of_.how != sampling::fixed_size || order <= most_fixed_order) orders_.push_back(order);
  if (of_.how == sampling::fixed_size) {
    divergences_ = fixed_size_divergences(2.0 / of_.noise, of_.rate, orders_);
  } else {
    for (const double order : orders_) divergences_.push_back(divergence_of(of_, order));
  }
}

privacy_bound privacy_accountant::renyi(std::uint64_t releases, double delta) const {
  if (of_.noise < least_noise) return {unbounded, "rdp", unbounded, 0.0};
  auto composed = divergences_;
  for (auto& one : composed) one *= static_cast<double>(tree_releases(of_, releases));
  const auto found = epsilon_from_divergences(orders_, composed, delta);
  return {found.epsilon, "rdp", found.epsilon, found.order};
}

privacy_bound privacy_accountant::bound(std::uint64_t releases, double delta) const {
  if (releases == 0) return {0.0, "gaussian", 0.0, 0.0};
  if (of_.noise < least_noise) return {unbounded, "gaussian", unbounded, 0.0};
  auto made = renyi(releases, delta);
  const auto improve = [&](double epsilon, std::string_view by) {
    if (epsilon < made.epsilon || (epsilon == made.epsilon && by == "gaussian")) {
      made.epsilon = epsilon;
      made.accountant = by;
    }
  };
  if (of_.how != sampling::none && of_.rate < 1.0) improve(loss_epsilon(of_, releases, delta), "pld");
  // Not for a cap, by which a client can take another one's place.
  if (of_.how != sampling::truncated_poisson)
    improve(unsampled_epsilon(of_, tree_releases(of_, releases), delta), "gaussian");
  return made;
}

std::uint64_t privacy_accountant::most_releases(double epsilon, double delta, std::uint64_t limit) const {
  const auto fits = [&](std::uint64_t releases) { return bound(releases, delta).epsilon <= epsilon; };
  const auto search = [&](std::uint64_t good, std::uint64_t bad, const auto& is_good) {
    while (bad - good > 1) {
      const auto middle = good + (bad - good) / 2;
      (is_good(middle) ? good : bad) = middle;
    }
    return good;
  };
  if (limit == 0 || fits(limit)) return limit;
  // The Rényi bound is cheap, and not far below the answer.
  const auto cheap = search(0, limit, [&](std::uint64_t n) { return renyi(n, delta).epsilon <= epsilon; });
  auto good = cheap;
  std::uint64_t step = std::max<std::uint64_t>(1, cheap / 8);
  while (good + step < limit && fits(good + step)) {
    good += step;
    step *= 2;
  }
  return search(good, std::min(good + step, limit), fits);
}

double noise_for(mechanism of, std::uint64_t releases, double epsilon, double delta) {
  const auto with = [&](double noise) {
    of.noise = noise;
    return privacy_accountant(of);
  };
  const auto fits = [&](double noise) { return with(noise).bound(releases, delta).epsilon <= epsilon; };
  const auto fits_by_renyi = [&](double noise) { return with(noise).renyi(releases, delta).epsilon <= epsilon; };
  const auto search = [](double low, double high, double precision, const auto& is_enough) {
    while (high > low * (1.0 + precision)) {
      const double middle = std::sqrt(low * high);
      (is_enough(middle) ? high : low) = middle;
    }
    return high;
  };
  constexpr double most = 1e6;
  double high = 1.0;
  while (!fits_by_renyi(high)) {
    if (high >= most) return unbounded;
    high *= 2.0;
  }
  // The Rényi bound is not far above the answer.
  high = search(least_noise, high, 0.01, fits_by_renyi);
  double low = high;
  do low = std::max(least_noise, 0.8 * low);
  while (low > least_noise && fits(low));
  return search(low, std::min(high, low / 0.8), 1e-4, fits);
}

}  // namespace furlong::federated::privacy
