#include "tools/cli/expiry_watch.hpp"

#include <spdlog/spdlog.h>

namespace furlong::tools {

namespace tls = actors::tls;

namespace {

constexpr std::chrono::minutes look_every{1};

}  // namespace

expiry_notices::expiry_notices(const std::vector<tls::tier_credentials>& tiers, tls::instant now) {
  for (const auto& one : tiers)
    all_.push_back({one.certificate, one.until, one.until - now <= tls::expiry_notice, false});
}

std::vector<std::string> expiry_notices::due(tls::instant now) {
  std::vector<std::string> said;
  for (auto& one : all_) {
    const auto place = one.file.string() + ": ";
    if (one.until <= now && !std::exchange(one.expired, true))
      said.push_back(place + "expired at " + tls::to_string(one.until) +
                     ": open sessions continue, but peers reject new ones; issue a new certificate with "
                     "furlong certs issue, and restart this process");
    else if (one.until > now && one.until - now <= tls::expiry_notice && !std::exchange(one.announced, true))
      said.push_back(place + "expires at " + tls::to_string(one.until) +
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
