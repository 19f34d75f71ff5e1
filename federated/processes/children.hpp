// The aggregators that attach to a process of a run: to its server, or to another aggregator.
//
//   1. An aggregator connects and says hello. Nothing else may come first                  -> place
//   2. There is room: it gets a number, and is welcome                                     -> add
//      or it is redirected to another operator port, or refused
//   3. Its messages go to the parent with its number                                       -> hear
//   4. Its session ends: what it had aggregated and not sent is lost                       -> lose
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/processes/kernel_choice.hpp"
#include "federated/processes/models_sent.hpp"
#include "federated/processes/surroundings.hpp"
#include "federated/protocol/client_routes.hpp"

namespace furlong::federated::processes {

/// Why an aggregator is rejected if topology.fan_in others are attached and none of them accepts it.
inline constexpr const char* no_room =
    "as many aggregators as topology.fan_in allows are here, and none of them has an operator port";

/// The role whose children they are. Children are called for by number: theirs, as the parent assigned it.
class children_parent {
 public:
  children_parent() = default;
  children_parent(const children_parent&) = delete;
  children_parent& operator=(const children_parent&) = delete;
  virtual ~children_parent() = default;

  /// Why an aggregator with these kernels may not take part; nullopt: it may. May drop other children.
  [[nodiscard]] virtual std::optional<std::string> judge_kernels(const kernel_offer& offer) = 0;
  [[nodiscard]] virtual protocol::aggregator_place place(const protocol::branch_hello& hello) = 0;
  /// Admits it. The welcome has its number.
  [[nodiscard]] virtual protocol::welcome add(const protocol::branch_hello& hello) = 0;
  virtual void hear(std::uint32_t child, protocol::upward&& content) = 0;
  /// It is not there any more.
  virtual void lose(std::uint32_t child, const std::string& reason) = 0;
  /// The run cannot go on, says a child.
  virtual void fail_run(const error& reason) = 0;
};

class children {
 public:
  /// `host` and `parent` must outlive it. `clients`: size of the population.
  children(surroundings& host, children_parent& parent, std::uint64_t clients)
      : host_(host), parent_(parent), clients_(clients) {}

  void on_opened(session_number session, peer_facts peer);
  void on_message(session_number session, protocol::control&& message);
  void on_partial(session_number session, partial_aggregate&& partial);
  /// A message that no aggregator sends, and one that cannot be decoded: they end the session.
  void on_unexpected(session_number session);
  void on_undecodable(session_number session, const error& reason) { end(session, reason.text()); }
  void on_closed(session_number session, const session_end& end);

  /// Nothing if that child is not here. A close notice that is not final ends its session; lose() is not called.
  void send(std::uint32_t child, const protocol::downward& content);
  /// Ends the session of a child that may still be connected, but is not trusted any more; lose() is not called.
  void drop(std::uint32_t child, const std::string& reason) { send(child, protocol::close_notice{reason, false}); }
  /// The run is over: who attaches from now on is told so.
  void leave() { leaving_ = true; }
  /// All sessions end, also of those that are not admitted.
  void end_all(const protocol::close_notice& notice);

  [[nodiscard]] std::size_t size() const { return numbers_.size(); }
  [[nodiscard]] bool contains(std::uint32_t child) const { return numbers_.contains(child); }

 private:
  struct link {
    peer_facts peer;
    std::optional<std::uint32_t> number = {};  ///< once admitted
    models_sent models = {};
  };

  void admit(session_number session, const protocol::branch_hello& hello);
  void turn_away(session_number session, protocol::control&& message);
  void take(session_number session, std::uint32_t child, protocol::control&& message);
  void end(session_number session, const std::string& reason);
  void forget(session_number session, const std::string& reason);

  surroundings& host_;
  children_parent& parent_;
  std::uint64_t clients_;
  std::map<session_number, link> links_;
  std::map<std::uint32_t, session_number> numbers_;  ///< of those admitted
  bool leaving_ = false;
};

}  // namespace furlong::federated::processes
