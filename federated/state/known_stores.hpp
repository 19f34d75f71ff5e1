// The private stores of clients' nodes, as the server remembers them: detects a node without the private values that
// belong to the model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "federated/state/ledger.hpp"
#include "federated/state/store_claim.hpp"

namespace furlong::federated {

class known_stores {
 public:
  /// The store that these clients' node had last.
  struct entry {
    client_range clients;
    std::uint64_t store = 0;
    std::uint64_t openings = 0;
    std::uint64_t since = 0;  ///< server version at which it became theirs
    std::string node;         ///< its node's name, for messages; may be empty
    friend auto operator<=>(const entry&, const entry&) = default;
  };

  known_stores() = default;
  /// `entries` by client, and apart.
  explicit known_stores(std::vector<entry> entries, std::uint64_t lost = 0)
      : entries_(std::move(entries)), lost_(lost) {}

  /// Why this store is not the one that some of these clients had, or is older; nothing: it matches, or no value that
  /// the model depends on is missing. Ignores whether the node accepts a loss.
  /// @param complete whether a store has the values of every update that went in (commit = "after-training")
  [[nodiscard]] std::optional<std::string> mismatch(const client_range& clients, const store_claim& claim,
                                                    const participation_ledger& ledger, bool complete) const;
  /// Records this as their store. Returns how many of them lost their values: those with an update in the model if
  /// there is a mismatch.
  std::uint64_t take(const client_range& clients, const store_claim& claim, const participation_ledger& ledger,
                     bool complete, std::uint64_t version, const std::string& node);

  [[nodiscard]] const std::vector<entry>& entries() const { return entries_; }
  /// Total number of clients whose values were lost.
  [[nodiscard]] std::uint64_t lost() const { return lost_; }
  friend bool operator==(const known_stores&, const known_stores&) = default;

 private:
  std::vector<entry> entries_;
  std::uint64_t lost_ = 0;
};

}  // namespace furlong::federated
