// The slot for selection policies, which select the clients to train. A policy is one source file and one line of the
// table in policy.cpp; another program adds one with register_policy().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/settings/policy_traits.hpp"
#include "federated/state/ledger.hpp"

namespace furlong::federated {

class scenario_view;

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

  /// At most `count` eligible clients, each once, ascending; fewer only when no more are eligible, or if the policy
  /// draws the cohort (policy_traits::draws_cohort), or leaves out those without examples (needs_examples). Another
  /// answer ends the run.
  [[nodiscard]] virtual std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) = 0;
  /// These clients were selected, in this order; the ledger is already updated. For policies that keep an order; when a
  /// run is resumed they restore it from the ledger.
  virtual void asked(const std::vector<std::uint32_t>& /*clients*/) {}
};

/// One line of the table: how scenarios name and build a policy.
struct policy_entry {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options = {};  ///< keys participation.NAME
  policy_traits traits = {};
  /// Checks combinations of keys; empty: no check.
  std::function<void(scenario_view&)> check = {};
  /// @param e must outlive the policy
  /// @param ledger as it stands when a run starts or is resumed; looked at now
  std::function<std::unique_ptr<selection_policy>(const experiment& e, const participation_ledger& ledger)> build = {};
  /// Changes whenever its results may: runs are not resumed, and federations not joined, with another one. One word,
  /// such as "1.2". Empty: that of the program (registered entries), or furlong's (built-in ones).
  std::string version = {};
};

/// All policies: the built-in ones and those registered since, in that order. Not to be called while others register.
[[nodiscard]] const std::vector<policy_entry>& registered_policies();
/// Adds a policy of another library; a kind that is taken is replaced. Call before scenarios are read, from one thread.
/// Throws std::invalid_argument when it cannot be built.
void register_policy(policy_entry entry);
/// The entry of a kind, or null.
[[nodiscard]] const policy_entry* find_policy(std::string_view kind);

/// How long a task of a client takes in the simulated world, without pauses and stragglers, in seconds. Nothing under
/// the real clock.
[[nodiscard]] std::optional<double> task_seconds(const experiment& e, std::uint32_t client);

/// The policy of the settings.
[[nodiscard]] std::unique_ptr<selection_policy> make_policy(const experiment& e, const participation_ledger& ledger);

[[nodiscard]] policy_entry uniform_entry();
[[nodiscard]] policy_entry by_weight_entry();
[[nodiscard]] policy_entry round_robin_entry();
[[nodiscard]] policy_entry least_recent_entry();
[[nodiscard]] policy_entry power_of_choice_entry();
[[nodiscard]] policy_entry poisson_entry();

}  // namespace furlong::federated
