// Which clients cannot train any more because their nodes failed, so that a run ends when nobody is left.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "federated/state/store_claim.hpp"

namespace furlong::federated::protocol {

/// Training clients whose node ended because a part of the run failed on it: an algorithm or a model that a program
/// registered. No node can end a run by that claim: others go on, and the server waits for clients that are away, or
/// have not come yet. Once all training clients have left so, waiting is in vain. Not thread-safe.
class failed_clients {
 public:
  /// @param training ascending; must outlive the object
  explicit failed_clients(std::span<const std::uint32_t> training)
      : training_(training), failed_(training.size(), false) {}

  /// A node with these clients is connected.
  void on_attached(const client_range& clients) { mark(clients, false); }
  /// It is not any more. `failure`: why it does not come back; empty: it may.
  void on_detached(const client_range& clients, const std::string& failure) {
    mark(clients, !failure.empty());
    if (!failure.empty()) last_ = failure;
  }

  /// What the last node said, if all training clients have failed.
  [[nodiscard]] std::optional<std::string> failure_of_all() const {
    return count_ > 0 && count_ == training_.size() ? std::optional(last_) : std::nullopt;
  }

 private:
  void mark(const client_range& clients, bool has_failed) {
    const auto first = std::ranges::lower_bound(training_, clients.first);
    const auto end = std::ranges::upper_bound(training_, clients.last);
    for (auto client = first; client != end; ++client) {
      const auto index = static_cast<std::size_t>(client - training_.begin());
      if (failed_[index] == has_failed) continue;
      failed_[index] = has_failed;
      if (has_failed)
        ++count_;
      else
        --count_;
    }
  }

  std::span<const std::uint32_t> training_;
  std::vector<bool> failed_;  ///< by position in training_
  std::size_t count_ = 0;     ///< of those that failed
  std::string last_;
};

}  // namespace furlong::federated::protocol
