// Two ends of operator links, each with an actor system of its own, in one process.
#pragma once

#include <caf/all.hpp>
#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <vector>

#include "actors/aggregator_transport/configure.hpp"
#include "actors/aggregator_transport/connect.hpp"
#include "actors/aggregator_transport/listener.hpp"

namespace furlong::tests {

namespace aggregator_transport = actors::aggregator_transport;
namespace net = actors::net;
using namespace std::chrono_literals;

/// Longer than anything that should happen takes, on a machine that does other things too.
constexpr std::chrono::seconds patience{20};

/// An actor system configured for links.
class site {
 public:
  explicit site(const aggregator_transport::operator_network& network) : config_(network), system_(config_) {}
  [[nodiscard]] caf::actor_system& system() { return system_; }

 private:
  struct configuration : caf::actor_system_config {
    explicit configuration(const aggregator_transport::operator_network& network) {
      set("scheduler.max-threads", std::size_t{2});
      if (auto done = aggregator_transport::configure_operator(*this, network); !done)
        throw std::runtime_error(done.error().text());
    }
  };
  configuration config_;
  caf::actor_system system_;
};

/// What was told of one link. Thread-safe.
class witness {
 public:
  /// To be returned by an on_open. The link does not keep `me` alive: with its last witness it is closed.
  static net::channel_events watch(const std::shared_ptr<witness>& me, const net::channel_ptr& channel) {
    me->change([&] { me->channel_ = channel; });
    const std::weak_ptr<witness> weak = me;
    return {[weak](net::received frame) {
              if (const auto who = weak.lock()) who->change([&] { who->frames_.push_back(std::move(frame)); });
            },
            [weak](const error& why) {
              const auto who = weak.lock();
              if (!who) return;
              who->change([&] { who->closed_.push_back(why); });
              who->drop();
            }};
  }

  void failed(const error& why) {
    change([&] { failed_ = why; });
  }

  /// False when it does not come true in time. The predicate may use the members, not the functions.
  template <class Predicate>
  [[nodiscard]] bool wait(Predicate predicate, std::chrono::milliseconds limit = patience) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, limit, predicate);
  }
  [[nodiscard]] bool wait_open() {
    return wait([this] { return channel_ != nullptr; });
  }
  [[nodiscard]] bool wait_frames(std::size_t count) {
    return wait([this, count] { return frames_.size() >= count; });
  }
  [[nodiscard]] bool wait_closed(std::chrono::milliseconds limit = patience) {
    return wait([this] { return !closed_.empty(); }, limit);
  }
  /// Open or failed.
  [[nodiscard]] bool wait_settled() {
    return wait([this] { return channel_ != nullptr || failed_.has_value(); });
  }
  [[nodiscard]] bool wait_failed() {
    return wait([this] { return failed_.has_value(); });
  }

  [[nodiscard]] net::channel_ptr channel() { return look(channel_); }
  [[nodiscard]] std::vector<error> closed() { return look(closed_); }
  [[nodiscard]] std::optional<error> failure() { return look(failed_); }
  [[nodiscard]] std::vector<net::received> frames() { return look(frames_); }
  /// Lets go of the channel.
  void drop() {
    net::channel_ptr last;
    change([&] { last.swap(channel_); });
  }

 private:
  template <class Change>
  void change(Change apply) {
    {
      const std::scoped_lock lock(mutex_);
      apply();
    }
    changed_.notify_all();
  }
  template <class T>
  [[nodiscard]] T look(const T& member) {
    const std::scoped_lock lock(mutex_);
    return member;
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  net::channel_ptr channel_;
  std::vector<net::received> frames_;
  std::vector<error> closed_;
  std::optional<error> failed_;
};
using witness_ptr = std::shared_ptr<witness>;

inline aggregator_transport::link_opened_callback watched_by(const witness_ptr& who) {
  return [weak = std::weak_ptr(who)](const net::channel_ptr& channel) {
    const auto one = weak.lock();
    return one ? witness::watch(one, channel) : net::channel_events{};
  };
}

/// Begins to connect to this machine.
inline witness_ptr connect(site& from, std::uint16_t port, const aggregator_transport::link_options& options = {},
                           std::chrono::milliseconds within = patience) {
  auto who = std::make_shared<witness>();
  aggregator_transport::operator_connect(from.system(), {"127.0.0.1", port, within}, options, watched_by(who),
                                         [who](const error& why) { who->failed(why); });
  return who;
}

/// A port at which all links are watched, in the order in which they open.
class port {
 public:
  explicit port(site& at, const aggregator_transport::link_options& options = {}, std::uint16_t number = 0)
      : shared_(std::make_shared<shared>()) {
    auto opened = aggregator_transport::operator_listener::open(at.system(), "127.0.0.1", number, options,
                                                                [s = shared_](const net::channel_ptr& channel) {
                                                                  auto who = std::make_shared<witness>();
                                                                  auto events = witness::watch(who, channel);
                                                                  {
                                                                    const std::scoped_lock lock(s->mutex);
                                                                    s->links.push_back(who);
                                                                  }
                                                                  s->changed.notify_all();
                                                                  return events;
                                                                });
    if (!opened) throw std::runtime_error(opened.error().text());
    listener_ = std::move(*opened);
  }

  [[nodiscard]] std::uint16_t number() const { return listener_->port(); }
  [[nodiscard]] aggregator_transport::operator_listener& listener() { return *listener_; }
  /// The n-th link that was opened; nullptr when there is none in time.
  [[nodiscard]] witness_ptr link(std::size_t n, std::chrono::milliseconds limit = patience) {
    std::unique_lock lock(shared_->mutex);
    return shared_->changed.wait_for(lock, limit, [&] { return shared_->links.size() > n; }) ? shared_->links[n]
                                                                                             : nullptr;
  }

 private:
  struct shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::vector<witness_ptr> links;
  };
  std::shared_ptr<shared> shared_;
  std::unique_ptr<aggregator_transport::operator_listener> listener_;
};

}  // namespace furlong::tests
