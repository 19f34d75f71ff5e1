// A network in virtual time: hosts, links between them, which deliver in order, and their faults.
//
// Each draw has a key: a latency its two hosts and the ordinal of the message between them, a pause the host and its
// ordinal, a loss the link and its ordinal. So one message more changes what is between these hosts, not all that
// happens after it.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "base/random.hpp"
#include "federated/protocol/control.hpp"
#include "federated/protocol/gateway_machine.hpp"
#include "federated/simulation/network/event_queue.hpp"

namespace furlong::federated::network {

using host = std::uint32_t;
using update_ptr = std::shared_ptr<const client_update>;
using partial_ptr = std::shared_ptr<const partial_aggregate>;

/// From a node: the client of this task dropped out, as its fate says.
struct client_dropped {
  task_id task;
  drop_stage stage = drop_stage::train;
};

using message = protocol::with_control<client_dropped, broadcast_ptr, update_ptr, partial_ptr>;

class fabric;

/// Uniform in [low, high); `low` if there is nothing between them.
[[nodiscard]] inline virtual_time draw_time(random_stream& stream, virtual_time low, virtual_time high) {
  return high <= low ? low : low + static_cast<virtual_time>(stream.below(static_cast<std::uint32_t>(high - low)));
}

/// A connection between two hosts; side 0 opened it.
class link : public std::enable_shared_from_this<link> {
 public:
  /// On its way; without content: the other side has closed.
  struct parcel {
    virtual_time arrives = 0;
    std::optional<message> content;
  };
  struct end {
    host at = 0;
    std::function<void(message&&)> on_message;
    std::function<void()> on_closed;
    bool closed = false;
    std::deque<parcel> inbox;
    virtual_time last = 0;  ///< arrival of the newest parcel
  };

  /// `faults`: draws what is lost with it, and when its sides give up.
  link(fabric& in, host from, host to, random_stream faults) : in_(in), faults_(faults) {
    ends_[0].at = from, ends_[1].at = to;
  }

  [[nodiscard]] end& side(int which) { return ends_[which]; }
  void send(int from, message what);
  /// What was sent arrives, then the other side hears of the end.
  void close(int from);
  /// The process at this side was killed: some of what it sent last may not arrive.
  void kill(int from);
  /// This side gives up on the other: nothing of what was not delivered arrives.
  void give_up(int from);
  /// The same, and what is on its way to the other side arrives there before it hears of the end.
  void leave(int from);
  /// Nothing arrives any more, and either side detects it by itself, within `patience`.
  void silence(virtual_time patience);
  /// Both sides are told of the end at once; some of what was on its way is lost.
  void cut();
  /// Delivers what a partition held back.
  void resume();
  [[nodiscard]] random_stream& faults() { return faults_; }

 private:
  void put(int to, std::optional<message> what);
  void deliver(int to);
  void lose_some(int to);
  void notice(int at);

  fabric& in_;
  random_stream faults_;
  end ends_[2];
  bool dead_ = false;  ///< carries nothing
};
using link_ptr = std::shared_ptr<link>;

/// One side of a link, as its owner sees it.
struct port {
  link_ptr through;
  int side = 0;

  [[nodiscard]] bool open() const { return through && !through->side(side).closed; }
  void send(message what) const {
    if (through) through->send(side, std::move(what));
  }
  void close() const {
    if (through) through->close(side);
  }
};

/// Hosts and their connectivity.
class fabric {
 public:
  /// `patience`: silence for so long means that the other side is gone. A message takes a time drawn from
  /// [least_latency, most_latency].
  fabric(std::uint64_t seed, virtual_time patience, virtual_time least_latency, virtual_time most_latency)
      : seed_(seed), patience_(patience), least_latency_(least_latency), most_latency_(most_latency) {}

  event_queue clock;
  /// Listeners by host; none: connections fail.
  std::map<host, std::function<void(link_ptr)>> listeners;

  [[nodiscard]] virtual_time patience() const { return patience_; }
  /// Of the next message from one host to the other.
  [[nodiscard]] virtual_time latency(host sender, host receiver);
  /// The next pause of this host, from [low, high).
  [[nodiscard]] virtual_time pause(host sleeper, virtual_time low, virtual_time high);

  void connect(host from, host to, std::function<void(link_ptr)> made, std::function<void()> failed);
  void kill(host gone);
  /// No message passes between these two hosts for a while.
  void part(host one, host other, virtual_time length);
  /// No message passes between this host and any other until it is healed.
  void isolate(host one);
  void heal(host one);
  /// This host does nothing for a while: what is sent to it waits, and the others lose patience with it.
  void stop(host one, virtual_time length);
  /// When it goes on; now or earlier: it is at work.
  [[nodiscard]] virtual_time stopped_until(host one) const;
  /// Now, or when this host goes on: in the order of the calls.
  void when_running(host one, std::function<void()> what);
  /// When messages between them pass again; now or earlier: they do.
  [[nodiscard]] virtual_time parted_until(host one, host other) const;
  /// Open links of a host, in the order in which they were made.
  [[nodiscard]] std::vector<link_ptr> links_of(host at);

 private:
  /// What a stream draws; the high bits of a stream's part are its ordinal.
  enum class draw_kind : std::uint32_t { latency = 0, pause = 1, faults = 2 };
  static constexpr unsigned kind_bits = 2;

  [[nodiscard]] random_stream stream_of(draw_kind kind, host sender, host receiver, std::uint32_t ordinal = 0) const {
    return {seed_, purpose::processes, sender, receiver, static_cast<std::uint32_t>(kind) | ordinal << kind_bits};
  }
  void wake(host one);
  void time_out_links(host one, host other, const link_ptr& through);

  std::uint64_t seed_;
  virtual_time patience_;
  virtual_time least_latency_;
  virtual_time most_latency_;
  std::map<std::pair<host, host>, virtual_time> parted_;
  std::set<host> isolated_;
  std::map<host, virtual_time> stopped_;
  std::map<host, std::deque<std::function<void()>>> waiting_;  ///< for stopped hosts to go on
  std::vector<std::weak_ptr<link>> links_;
  std::map<std::pair<host, host>, random_stream> latencies_;    ///< by sender and receiver
  std::map<host, random_stream> pauses_;                        ///< of hosts
  std::map<std::pair<host, host>, std::uint32_t> connections_;  ///< that were made so far, by their two ends
};

}  // namespace furlong::federated::network
