// A network in virtual time for tests: hosts, links that are first in first out, and what goes wrong with them.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/random.hpp"
#include "federated/protocol/gateway_machine.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::tests::net {

using federated::virtual_time;
using host = std::uint32_t;

constexpr virtual_time millisecond = 1000;
constexpr virtual_time second = federated::microseconds_per_second;

/// What happens when; at the same time in the order in which it was asked for.
class event_queue {
 public:
  [[nodiscard]] virtual_time now() const { return now_; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  void at(virtual_time when, std::function<void()> what) {
    entries_.push({std::max(when, now_), next_++, std::move(what)});
  }
  void after(virtual_time wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }
  /// False when nothing is left.
  bool step() {
    if (entries_.empty()) return false;
    auto what = std::move(const_cast<entry&>(entries_.top()).what);  // popped before anybody sees it
    now_ = entries_.top().when;
    entries_.pop();
    ++steps_;
    what();
    return true;
  }

 private:
  struct entry {
    virtual_time when;
    std::uint64_t order;
    std::function<void()> what;
    bool operator<(const entry& other) const { return std::pair(when, order) > std::pair(other.when, other.order); }
  };
  std::priority_queue<entry> entries_;
  virtual_time now_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t steps_ = 0;
};

using update_ptr = std::shared_ptr<const federated::client_update>;
/// A partial aggregate, with what the test wants to know of its members.
struct partial_with_members {
  federated::partial_aggregate partial;
  std::map<federated::task_id, update_ptr> members;
};
using partial_ptr = std::shared_ptr<const partial_with_members>;

namespace protocol = federated::protocol;
using message = std::variant<protocol::hello, protocol::branch_hello, protocol::welcome, protocol::redirect,
                             protocol::assignment, protocol::task_failures, protocol::verdicts, protocol::checkpointed,
                             protocol::attached, protocol::detached, protocol::close_request, protocol::withdrawal,
                             protocol::withdrawn, protocol::settled, protocol::tasks_lost, protocol::ready,
                             protocol::farewell, protocol::evaluation_request, protocol::evaluation_scores,
                             federated::broadcast_ptr, update_ptr, partial_ptr>;

class fabric;

/// A connection between two hosts; side 0 opened it.
class link : public std::enable_shared_from_this<link> {
 public:
  struct end {
    host at = 0;
    std::function<void(message&&)> on_message;
    std::function<void()> on_closed;
    bool closed = false;
    std::deque<std::optional<message>> inbox;  ///< on their way to here; nothing: the other side has closed
    virtual_time last = 0;                     ///< arrival of the newest of them
  };

  link(fabric& in, host from, host to) : in_(in) { ends_[0].at = from, ends_[1].at = to; }

  [[nodiscard]] end& side(int which) { return ends_[which]; }
  void send(int from, message what);
  /// What was sent arrives, then the other side hears of the end.
  void close(int from);
  /// The process at this side is gone: some of what it sent last may not arrive.
  void kill(int from);
  /// This side gives up on the other: nothing of what was not delivered arrives.
  void give_up(int from);
  /// The same, and what is on its way to the other side arrives there before it hears of the end.
  void leave(int from);
  /// Nothing arrives any more, and either side finds out by itself, within `patience`.
  void silence(virtual_time patience);
  /// Both sides are told of the end at once; some of what was on its way is lost.
  void cut();

 private:
  void put(int to, std::optional<message> what);
  void deliver(int to);
  void lose_some(int to);
  void notice(int at);

  fabric& in_;
  end ends_[2];
  bool dead_ = false;  ///< carries nothing
};
using link_ptr = std::shared_ptr<link>;

/// One side of a link, from where its owner stands.
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

/// Hosts, and who can talk to whom.
class fabric {
 public:
  fabric(std::uint64_t seed, virtual_time patience) : draw_(seed, purpose::test, 31), patience_(patience) {}

  event_queue clock;
  /// Who answers at a host; nothing: nobody.
  std::map<host, std::function<void(link_ptr)>> listeners;

  /// In [low, high).
  [[nodiscard]] virtual_time between(virtual_time low, virtual_time high) {
    return low + static_cast<virtual_time>(draw_.below(static_cast<std::uint32_t>(high - low)));
  }
  [[nodiscard]] random_stream& draw() { return draw_; }
  /// Silence for so long means that the other side is gone.
  [[nodiscard]] virtual_time patience() const { return patience_; }
  [[nodiscard]] virtual_time latency() { return between(millisecond, 40 * millisecond); }

  void connect(host from, host to, std::function<void(link_ptr)> made, std::function<void()> failed);
  void kill(host gone);
  /// No message passes between these two hosts for a while.
  void part(host one, host other, virtual_time length);
  /// This host does nothing for a while: what is sent to it waits, and the others lose patience with it.
  void stop(host one, virtual_time length);
  /// When it goes on; now or earlier: it is at work.
  [[nodiscard]] virtual_time stopped_until(host one) const;
  /// Now, or when this host goes on: in the order in which it was asked for.
  void when_at_work(host one, std::function<void()> what);
  /// When messages between them pass again; now or earlier: they do.
  [[nodiscard]] virtual_time parted_until(host one, host other) const;
  /// Open links of a host, in the order in which they were made.
  [[nodiscard]] std::vector<link_ptr> links_of(host at);

 private:
  void wake(host one);

  random_stream draw_;
  virtual_time patience_;
  std::map<std::pair<host, host>, virtual_time> parted_;
  std::map<host, virtual_time> stopped_;
  std::map<host, std::deque<std::function<void()>>> waiting_;  ///< for stopped hosts to go on
  std::vector<std::weak_ptr<link>> links_;
};

}  // namespace furlong::tests::net
