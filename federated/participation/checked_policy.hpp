// A policy whose answers are checked: it may come from another library, and a run must not go on with clients that it
// cannot have.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "federated/participation/draws.hpp"
#include "federated/participation/policy.hpp"

namespace furlong::federated {

/// The policy of the settings. One thread at a time.
class checked_policy {
 public:
  /// @param setup must outlive this one
  checked_policy(const experiment& setup, const participation_ledger& ledger);

  /// What the policy chooses. Fails, with what is wrong, if it cannot be built or throws, or if its answer is not what
  /// selection_policy::choose() says: of clients that train and are eligible, each once, ascending, and all that there
  /// are if fewer than wanted.
  [[nodiscard]] result<std::vector<std::uint32_t>> choose(selection& wanted, const participation_ledger& ledger);
  /// These clients were selected. If the policy throws, the next choose() fails.
  void asked(const std::vector<std::uint32_t>& clients);

 private:
  [[nodiscard]] tl::unexpected<error> broken(const selection& wanted, const std::string& why,
                                             const std::string& fix) const;
  [[nodiscard]] result<void> check(const selection& wanted, const std::vector<std::uint32_t>& chosen) const;
  [[nodiscard]] result<void> check_number(const selection& wanted, const std::vector<std::uint32_t>& chosen) const;

  const experiment& setup_;
  std::optional<error> failure_;  ///< it could not be built, or could not note who was selected
  std::unique_ptr<selection_policy> policy_;
  position_marks looked_at_;  ///< client numbers of this selection
  position_marks eligible_;   ///< of these, those found eligible
};

}  // namespace furlong::federated
