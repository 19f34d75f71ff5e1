// The actor behind an operator port.
#pragma once

#include <memory>
#include <mutex>

#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/link_options.hpp"

namespace furlong::actors::aggregator_transport {

/// Guards a listener's on_open: one call at a time, and none after shut(). Thread-safe.
class open_gate {
 public:
  explicit open_gate(link_opened_callback on_open) : on_open_(std::move(on_open)) {}

  /// Empty events after shut(): the channel has no owner, and is closed.
  [[nodiscard]] net::channel_events opened(const net::channel_ptr& channel) {
    const std::scoped_lock lock(mutex_);
    return on_open_ ? on_open_(channel) : net::channel_events{};
  }
  void shut() {
    const std::scoped_lock lock(mutex_);
    on_open_ = nullptr;
  }

 private:
  std::recursive_mutex mutex_;  ///< on_open may close its listener
  link_opened_callback on_open_;
};

/// Spawns a link for each request of a connecting process, and answers with it.
acceptor_actor::behavior_type acceptor_behavior(acceptor_actor::pointer self, const link_options& options,
                                                const std::shared_ptr<open_gate>& gate);

}  // namespace furlong::actors::aggregator_transport
