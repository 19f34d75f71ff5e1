// Warnings about clients whose examples have no finite score.
#pragma once

#include <cstdint>
#include <mutex>
#include <set>
#include <span>
#include <spdlog/spdlog.h>

#include "federated/evaluation/evaluation.hpp"

namespace furlong::actors {

/// Names each client once, and a limited number of them. Thread-safe.
class unscored_warnings {
 public:
  void warn(const federated::population& clients, std::uint64_t version,
            std::span<const federated::unscored_client> unscored) {
    const std::scoped_lock held(lock_);
    for (const auto& one : unscored) {
      if (named_.size() >= most_named || !named_.insert(one.client).second) continue;
      spdlog::warn(
          "evaluation of version {}: client {} ({}) of the group {} has no finite {}: no figure counts it; look "
          "at its data for values that are not finite or far too large",
          version, one.client, clients.client_name(one.client),
          federated::group_names.at(static_cast<std::size_t>(one.in)), one.figure);
      if (named_.size() == most_named) spdlog::warn("further clients without a finite score are not named here");
    }
  }

 private:
  static constexpr std::size_t most_named = 20;
  std::mutex lock_;
  std::set<std::uint32_t> named_;
};

}  // namespace furlong::actors
