// Warns of certificates that expire while a process runs.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "actors/tls/credentials.hpp"

namespace furlong::tools {

/// What is to be said of certificates as time goes on, each thing once. Not thread-safe.
class expiry_notices {
 public:
  /// @param now  what expires within expiry_notice was told at the start, and is told again when it has expired
  expiry_notices(const std::vector<actors::tls::tier_credentials>& tiers, actors::tls::instant now);
  /// What there is to say at `now`.
  [[nodiscard]] std::vector<std::string> due(actors::tls::instant now);

 private:
  struct watched {
    std::filesystem::path file;
    actors::tls::instant until;
    bool announced;  ///< that it will expire
    bool expired;
  };
  std::vector<watched> all_;
};

/// Looks once a minute, and writes to the log. A session outlives its certificates: without this it would end one day,
/// and none would follow.
class expiry_watch {
 public:
  explicit expiry_watch(const std::vector<actors::tls::tier_credentials>& tiers);

 private:
  expiry_notices notices_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::jthread looking_;  // last, so that it ends first
};

}  // namespace furlong::tools
