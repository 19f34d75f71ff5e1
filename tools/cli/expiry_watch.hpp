// Warns of certificates that expire during a process.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actors/tls/credentials.hpp"

namespace furlong::tools {

/// Warnings about certificates over time, each issued once. Not thread-safe.
class expiry_notices {
 public:
  /// @param now  certificates that expire within expiry_notice were reported at the start; their expiry is reported
  /// again
  expiry_notices(const std::vector<actors::tls::tier_credentials>& tiers, actors::tls::instant now);
  /// The warnings due at `now`.
  [[nodiscard]] std::vector<std::string> due(actors::tls::instant now);

 private:
  struct watched {
    std::filesystem::path file;
    actors::tls::instant until;
    bool announced;  ///< its coming expiry was reported
    bool expired;
  };
  std::vector<watched> watched_;
};

/// Checks once a minute and logs warnings. A session outlives its certificates: without a warning it would end one day
/// and could not be replaced.
class expiry_watch {
 public:
  explicit expiry_watch(const std::vector<actors::tls::tier_credentials>& tiers);

 private:
  expiry_notices notices_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread looking_;  // last member, so that it is destroyed first
};

}  // namespace furlong::tools
