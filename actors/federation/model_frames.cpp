#include "actors/federation/model_frames.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

namespace furlong::actors::federation {

void model_frames::send(net::channel& to, std::deque<std::uint64_t>& has, const federated::broadcast_ptr& from) {
  if (std::ranges::find(has, from->version) != has.end()) return;
  const std::lock_guard lock(mutex_);
  auto at = std::ranges::find(entries_, from->version, [](const entry& one) { return one.from->version; });
  if (at == entries_.end()) {
    auto frame = encoder_.encode(*from, how_);
    if (!frame) {
      spdlog::critical("a model cannot be sent: {}", frame.error().text());
      return;
    }
    entries_.push_back({from, std::move(*frame)});
    if (entries_.size() > models_kept) entries_.pop_front();
    at = std::prev(entries_.end());
  }
  to.send(at->frame);
  has.push_back(from->version);
  if (has.size() > models_kept) has.pop_front();
}

void send_control(net::channel& to, const wire::control& message) {
  auto frame = wire::encoder::encode(message);
  if (!frame) {
    spdlog::critical("a message cannot be sent: {}", frame.error().text());
    return;
  }
  to.send(std::move(*frame));
}

}  // namespace furlong::actors::federation
