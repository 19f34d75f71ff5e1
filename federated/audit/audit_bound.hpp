// What guesses about canaries say of epsilon (Steinke, Nasr, Jagielski 2023, "Privacy auditing with one (1) training
// run").
//
// Each of m canaries is in a run or out of it by a fair coin of its own. From what the run releases somebody guesses of
// r canaries whether they were in, and abstains on the others; v guesses are right. If the run is (epsilon, delta)-
// differentially private, v is hardly ever far above r e^epsilon / (1 + e^epsilon).
#pragma once

#include <cstdint>
#include <span>

namespace furlong::federated::privacy {

struct guesses {
  std::uint64_t canaries = 0;
  std::uint64_t made = 0;   ///< on how many of them a guess was made
  std::uint64_t right = 0;  ///< of these
};

/// An upper bound of the probability of at least so many right guesses under (epsilon, delta)-differential privacy
/// (theorem 5.2): with W ~ Binomial(r, 1 / (1 + e^-epsilon)) it is P[W >= v] + 2 m delta max_i P[v > W >= v - i] / i.
/// Increases with epsilon. At most 1.
[[nodiscard]] double guess_probability(const guesses& of, double epsilon, double delta);
/// The largest epsilon under which guess_probability() is at most `least`: all smaller ones are refuted with confidence
/// 1 - `least`. 0 if none is. To 1e-9.
[[nodiscard]] double refuted_epsilon(const guesses& of, double delta, double least);

/// One canary after a run.
struct judged_canary {
  bool in = false;
  double log_odds = 0.0;  ///< of having been in, as the attack says: above 0 it guesses "in"
};

struct audit_bound {
  guesses best;             ///< that give the bound
  std::uint64_t tried = 0;  ///< numbers of guesses that were tried; each has its share of the error probability
  double epsilon = 0.0;     ///< the lower bound
  double p_value = 1.0;     ///< of the claim
};
/// Guesses on those canaries of which the attack is surest: on all, half, a quarter, ... of them, at least 8. The bound
/// is the best of them; the error probability 1 - `confidence` is divided among them (Bonferroni).
/// @param claimed the epsilon whose p-value is wanted
[[nodiscard]] audit_bound bound_by_canaries(std::span<const judged_canary> canaries, double claimed, double delta,
                                            double confidence);

/// How well a score separates members of a run from others: the probability that a member's is higher, ties counted
/// half, and the half width of its 95 % interval (Hanley, McNeil 1982, "The meaning and use of the area under a
/// receiver operating characteristic curve", equation 1).
struct membership_auc {
  double auc = 0.5;
  double half_width = 0.5;
};
/// Neither may be empty.
[[nodiscard]] membership_auc tell_members(std::span<const double> members, std::span<const double> others);

}  // namespace furlong::federated::privacy
