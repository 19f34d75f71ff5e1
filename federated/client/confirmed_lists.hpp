// Which sums a client has helped to open, under secure aggregation: for each version of its tasks the list of clients
// whose updates were in the sum. Two sums over the same updates but one would show that one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/digest.hpp"
#include "base/result.hpp"

namespace furlong::federated {

/// A client's task of this version is in a sum over a list of clients.
struct confirmed_list {
  std::uint32_t client = 0;
  std::uint64_t version = 0;  ///< of the task: a server says to which version it applies a sum, and can say anything
  digest list{};              ///< of all that identifies the sum (secure_tasks::sum_of())
};

/// The newest lists of each client of a process for one run. Not thread-safe.
class confirmed_lists {
 public:
  /// Of a client. A task of an older version than these is in no further sum: its list may be forgotten.
  static constexpr std::size_t most_versions = 8;

  /// Whether the client may confirm this list: of the version it has confirmed no other one.
  [[nodiscard]] bool admits(const confirmed_list& added) const;
  /// @pre admits(of)
  void add(const confirmed_list& added);
  /// Lists added since the last call: they must be durable before anybody hears of them.
  [[nodiscard]] std::vector<confirmed_list> take_new() { return std::exchange(new_, {}); }

 private:
  std::unordered_map<std::uint32_t, std::vector<std::pair<std::uint64_t, digest>>> by_client_;  ///< ascending
  std::vector<confirmed_list> new_;
};

/// Those of a node, and what makes them durable. Empty without secure aggregation.
struct confirmed_sums {
  std::shared_ptr<confirmed_lists> lists = {};
  std::function<result<void>(std::span<const confirmed_list>)> keep = {};
};

}  // namespace furlong::federated
