#include "tools/cli/expiry_watch.hpp"

#include <spdlog/spdlog.h>

namespace furlong::tools {

namespace tls = actors::tls;

namespace {

constexpr std::chrono::minutes look_every{1};

}  // namespace

expiry_notices::expiry_notices(const std::vector<tls::tier_credentials>& tiers, tls::instant now) {
  for (const auto& tier : tiers)
    watched_.push_back({tier.certificate, tier.until, tier.until - now <= tls::expiry_notice, false});
}

std::vector<std::string> expiry_notices::due(tls::instant now) {
  std::vector<std::string> said;
  for (auto& entry : watched_) {
    const auto place = entry.file.string() + ": ";
    if (entry.until <= now && !std::exchange(entry.expired, true))
      said.push_back(place + "expired at " + tls::to_string(entry.until) +
                     ": open sessions continue, but peers reject new ones; issue a new certificate with "
                     "furlong certs issue, and restart this process");
    else if (entry.until > now && entry.until - now <= tls::expiry_notice && !std::exchange(entry.announced, true))
      said.push_back(place + "expires at " + tls::to_string(entry.until) +
                     "; issue a new certificate with furlong certs issue, and restart this process before");
  }
  return said;
}

expiry_watch::expiry_watch(const std::vector<tls::tier_credentials>& tiers) : notices_(tiers, tls::wall_clock()) {
  if (tiers.empty()) return;
  looking_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock hold(mutex_);
    while (!stop.stop_requested()) {
      for (const auto& text : notices_.due(tls::wall_clock())) spdlog::warn("{}", text);
      wake_.wait_for(hold, stop, look_every, [] { return false; });
    }
  });
}

}  // namespace furlong::tools
