// Who is asked to train: selection policies. A new one is one file, one line here and one in policy.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/participation/ledger.hpp"

namespace furlong::federated {

/// One selection: `count` clients are wanted, and who may be asked.
struct selection {
  std::uint32_t count = 0;
  std::uint64_t round = 0;    ///< server version: keys the draws, with `ordinal`
  std::uint64_t ordinal = 0;  ///< tasks given out in the run so far
  /// Whether a client can be asked now. Called for a client at most once; costs more than anything else here.
  std::function<bool(std::uint32_t client)> eligible;
  /// Filled by the policy: clients it looked at.
  std::uint64_t probed = 0;
};

/// Chooses clients, keyed by the seed. Uses what the ledger says; one thread at a time.
class selection_policy {
 public:
  virtual ~selection_policy() = default;

  /// At most `count` eligible clients, each once, ascending; fewer only when no more are eligible.
  [[nodiscard]] virtual std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) = 0;
  /// Says that these were asked, in this order; the ledger knows already. Policies that keep an order of their own
  /// listen; when a run is resumed they restore it from the ledger.
  virtual void asked(const std::vector<std::uint32_t>& /*clients*/) {}
};

/// The policy of the settings. `e` and `ledger` (as it stands when a run starts or is resumed) are looked at now;
/// `e` must outlive the policy.
[[nodiscard]] std::unique_ptr<selection_policy> make_policy(const experiment& e, const participation_ledger& ledger);

/// Every eligible client alike, without replacement. O(looked at), whatever the size of the population.
[[nodiscard]] std::unique_ptr<selection_policy> make_uniform(const experiment& e);
/// In proportion to a client's number of training examples, one after the other without replacement.
[[nodiscard]] std::unique_ptr<selection_policy> make_by_weight(const experiment& e);
/// One after the other by number, going on where the last selection ended.
[[nodiscard]] std::unique_ptr<selection_policy> make_round_robin(const experiment& e,
                                                                 const participation_ledger& ledger);
/// Those asked longest ago first; those never asked in a drawn order before them.
[[nodiscard]] std::unique_ptr<selection_policy> make_least_recent(const experiment& e,
                                                                  const participation_ledger& ledger);
/// Draws d candidates in proportion to their examples and takes those with the highest loss that they last reported,
/// never asked ones first (Cho, Wang, Joshi 2020, "Client selection in federated learning": rpow-d).
[[nodiscard]] std::unique_ptr<selection_policy> make_power_of_choice(const experiment& e);

}  // namespace furlong::federated
