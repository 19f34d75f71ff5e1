// Hosts a role (federated/processes) in an actor: its sessions are channels, its clock is the steady one.
#pragma once

#include <map>
#include <memory>
#include <spdlog/spdlog.h>
#include <stdexcept>
#include <string>
#include <utility>

#include "actors/federation/interfaces.hpp"
#include "actors/federation/model_frames.hpp"
#include "federated/processes/surroundings.hpp"

namespace furlong::actors::federation {

/// Events of a session, as a role hears them.
[[nodiscard]] inline processes::peer_facts facts_of(const session_opened& opened) {
  const auto& peer = opened.channel->other();
  return {peer.name, peer.address, opened.trusted};
}
[[nodiscard]] inline net::peer peer_of(const processes::peer_facts& peer) { return {peer.name, peer.address}; }

/// To the process's log.
inline void write(processes::log_level level, const std::string& text) {
  using enum processes::log_level;
  const auto severity = level == debug     ? spdlog::level::debug
                        : level == info    ? spdlog::level::info
                        : level == warning ? spdlog::level::warn
                                           : spdlog::level::err;
  spdlog::log(severity, "{}", text);
}

/// @tparam Surroundings processes::surroundings, or what a role asks beyond them
template <class Surroundings>
class role_host : public Surroundings {
 public:
  /// The channels are the host's: they close with its actor.
  void open(protocol::session_number session, net::channel_ptr channel) { channels_[session] = std::move(channel); }
  /// The session has ended.
  void forget(protocol::session_number session) { channels_.erase(session); }
  /// What comes over one that is not is not to be read.
  [[nodiscard]] bool is_open(protocol::session_number session) const { return channels_.contains(session); }

  [[nodiscard]] federated::virtual_time now() const override { return steady_now(); }
  void send(protocol::session_number session, wire::control message) override {
    if (auto* const channel = find(session)) expect(send_parts(*channel, std::move(message)));
  }
  [[nodiscard]] bool send(protocol::session_number session, const federated::broadcast_ptr& model) override {
    auto* const channel = find(session);
    return channel == nullptr || expect(frames()->send(*channel, model));
  }
  void close(protocol::session_number session) override {
    if (auto* const channel = find(session)) channel->close();
    channels_.erase(session);
  }
  void log(processes::log_level level, const std::string& text) override { write(level, text); }

  // What not every role asks for.
  void wake(federated::virtual_time) override { throw std::logic_error("has no timer"); }
  void connect(protocol::session_number, const std::string&) override { throw std::logic_error("opens no sessions"); }
  void send(protocol::session_number, const processes::outgoing_update_ptr&) override {
    throw std::logic_error("sends no updates");
  }
  void send(protocol::session_number, const processes::partial_ptr&) override {
    throw std::logic_error("sends no partial aggregates");
  }
  void send_dropped(protocol::session_number, const federated::task_id&, federated::drop_stage) override {
    throw std::logic_error("no client of a real process drops out");
  }

 protected:
  /// The run's; asked for only when a model is sent.
  [[nodiscard]] virtual const std::shared_ptr<model_frames>& frames() const {
    throw std::logic_error("sends no models");
  }
  /// A message cannot be encoded, for which others would wait.
  virtual void on_unsendable(const error& reason) = 0;

  [[nodiscard]] net::channel* find(protocol::session_number session) const {
    const auto found = channels_.find(session);
    return found == channels_.end() ? nullptr : found->second.get();
  }
  /// Whether it was sent.
  bool expect(const result<void>& sent) {
    if (!sent) on_unsendable(sent.error());
    return sent.has_value();
  }

 private:
  std::map<protocol::session_number, net::channel_ptr> channels_;
};

}  // namespace furlong::actors::federation
