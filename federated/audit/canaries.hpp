// Canary clients: training clients of a run whose updates are made to be recognized (Nasr et al. 2023, "Tight auditing
// of differentially private machine learning": Dirac canaries; Andrew et al. 2023, "One-shot empirical privacy
// estimation for federated learning").
//
// In each round every canary has some coordinates of the update to itself, and signs for them: its direction. Both are
// drawn again for each round, so that what a model learns steadily looks like noise. A canary that is in reports a
// change in its direction, far longer than privacy.clip, which must clip it. One that is out reports what the relation
// of the claim makes of a client: zeros, or where a client is replaced the opposite change. Both are counted equally.
//
// The attack sees what the account says is released: the noisy sum of each round. Along a canary's direction it is 0 or
// the bound, and the noise; the log odds of the rounds add up.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/result.hpp"
#include "federated/audit/audit_bound.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/privacy/accountant.hpp"

namespace furlong::federated::privacy {

/// How likely one coordinate of a round's sum is if the client is in, over its being out, as a logarithm.
/// @param along the sum along the client's direction, in clipping bounds
/// @param rate probability that the client takes part in the round
[[nodiscard]] double log_odds_of(const mechanism& claim, double rate, double along);

/// The canaries of a run, and what the attack has found out so far.
class canaries {
 public:
  virtual ~canaries() = default;
  /// Their numbers, ascending.
  [[nodiscard]] virtual const std::vector<std::uint32_t>& clients() const = 0;
  /// In the order of clients(). While the run goes on not to be called.
  [[nodiscard]] virtual const std::vector<judged_canary>& judged() const = 0;
};

/// Makes `count` training clients that have examples canaries, drawn and tossed by the seed of the settings: replaces
/// the algorithm of `e` by one that behaves likewise for all others. Clients then work on whole tensors, which takes
/// longer and changes no result of theirs, and limits that follow the norms of earlier updates are off: a canary is as
/// long as privacy.clip allows. Fails (kind usage) for fewer than 8 canaries, where there are too few clients, where
/// clients send no model, and in asynchronous runs, whose sums mix the directions of several versions.
/// @param claim as mechanism_of() says it of the settings
/// @param count 0: half of the training clients, at most as many as the model has shared values
[[nodiscard]] result<std::shared_ptr<const canaries>> plant_canaries(experiment& e, const mechanism& claim,
                                                                     std::size_t count);

}  // namespace furlong::federated::privacy
