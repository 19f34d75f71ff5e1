#include "federated/simulation/network/link.hpp"

#include <algorithm>

namespace furlong::federated::network {

void link::send(int from, message what) {
  if (ends_[from].closed || dead_ || ends_[1 - from].closed) return;
  put(1 - from, std::move(what));
}

void link::put(int to, std::optional<message> what) {
  auto& there = ends_[to];
  there.last = std::max(there.last, in_.clock.now() + in_.latency(ends_[1 - to].at, there.at));
  there.inbox.push_back({there.last, std::move(what)});
  in_.clock.at(there.last, [self = shared_from_this(), to] { self->deliver(to); });
}

/// Each event delivers one message; when some were lost there are more events than messages.
void link::deliver(int to) {
  auto& there = ends_[to];
  if (dead_ || there.closed || there.inbox.empty() || there.inbox.front().arrives > in_.clock.now()) return;
  const auto until = std::max(in_.parted_until(ends_[0].at, ends_[1].at), in_.stopped_until(there.at));
  if (until >= never) return;  // resume() delivers it
  if (until > in_.clock.now()) return in_.clock.at(until, [self = shared_from_this(), to] { self->deliver(to); });
  auto what = std::move(there.inbox.front().content);
  there.inbox.pop_front();
  if (!what) return notice(to);
  there.on_message(std::move(*what));
}

void link::resume() {
  for (int to = 0; to < 2; ++to)
    for (const auto& held : ends_[to].inbox)
      in_.clock.at(held.arrives, [self = shared_from_this(), to] { self->deliver(to); });
}

void link::notice(int at) {
  auto& here = ends_[at];
  if (std::exchange(here.closed, true)) return;
  here.inbox.clear();
  const auto on_closed = std::exchange(here.on_closed, nullptr);
  here.on_message = nullptr;
  if (on_closed) on_closed();
}

void link::close(int from) {
  auto& here = ends_[from];
  if (std::exchange(here.closed, true)) return;
  here.inbox.clear();
  here.on_closed = nullptr;
  if (!dead_ && !ends_[1 - from].closed) put(1 - from, std::nullopt);
}

void link::lose_some(int to) {
  auto& inbox = ends_[to].inbox;
  inbox.resize(faults_.below(static_cast<std::uint32_t>(inbox.size()) + 1));
}

void link::kill(int from) {
  if (ends_[from].closed) return;
  lose_some(1 - from);
  close(from);
  ends_[from].on_message = nullptr;
}

void link::give_up(int from) {
  if (ends_[from].closed) return;
  ends_[1 - from].inbox.clear();
  if (!dead_ && !ends_[1 - from].closed) put(1 - from, std::nullopt);
  notice(from);
}

void link::leave(int from) {
  if (ends_[from].closed) return;
  if (!dead_ && !ends_[1 - from].closed) put(1 - from, std::nullopt);
  notice(from);
}

void link::silence(virtual_time patience) {
  dead_ = true;
  for (int at = 0; at < 2; ++at)
    in_.clock.after(draw_time(faults_, 0, patience), [self = shared_from_this(), at] { self->notice(at); });
}

void link::cut() {
  for (int at = 0; at < 2; ++at) {
    if (ends_[at].closed) continue;
    lose_some(at);
    put(at, std::nullopt);
  }
}

virtual_time fabric::latency(host sender, host receiver) {
  if (most_latency_ <= least_latency_) return least_latency_;
  const auto [found, is_new] =
      latencies_.try_emplace({sender, receiver}, stream_of(draw_kind::latency, sender, receiver));
  return draw_time(found->second, least_latency_, most_latency_);
}

virtual_time fabric::pause(host sleeper, virtual_time low, virtual_time high) {
  const auto [found, is_new] = pauses_.try_emplace(sleeper, stream_of(draw_kind::pause, sleeper, sleeper));
  return draw_time(found->second, low, high);
}

void fabric::connect(host from, host to, std::function<void(link_ptr)> made, std::function<void()> failed) {
  clock.after(latency(from, to), [this, from, to, made = std::move(made), failed = std::move(failed)] {
    if (parted_until(from, to) > clock.now()) return clock.after(patience_, failed);
    if (stopped_until(to) > clock.now() + patience_) return clock.after(patience_, failed);
    if (const auto until = std::max(stopped_until(from), stopped_until(to)); until > clock.now())
      return clock.at(until, [this, from, to, made, failed] { connect(from, to, made, failed); });
    const auto listener = listeners.find(to);
    if (listener == listeners.end()) return failed();
    const auto ordinal = connections_[{from, to}]++;
    auto between_them = std::make_shared<link>(*this, from, to, stream_of(draw_kind::faults, from, to, ordinal));
    std::erase_if(links_, [](const auto& old) { return old.expired(); });
    links_.push_back(between_them);
    const auto accept = listener->second;
    accept(between_them);
    made(between_them);
  });
}

std::vector<link_ptr> fabric::links_of(host at) {
  std::vector<link_ptr> found;
  for (const auto& one : links_)
    if (auto there = one.lock(); there && (there->side(0).at == at || there->side(1).at == at))
      if (!there->side(0).closed || !there->side(1).closed) found.push_back(std::move(there));
  return found;
}

void fabric::kill(host gone) {
  listeners.erase(gone);
  for (const auto& one : links_of(gone))
    for (int side = 0; side < 2; ++side)
      if (one->side(side).at == gone) one->kill(side);
}

virtual_time fabric::parted_until(host one, host other) const {
  if (isolated_.contains(one) || isolated_.contains(other)) return never;
  const auto at = parted_.find(std::minmax(one, other));
  return at == parted_.end() ? 0 : at->second;
}

virtual_time fabric::stopped_until(host one) const {
  const auto at = stopped_.find(one);
  return at == stopped_.end() ? 0 : at->second;
}

void fabric::stop(host one, virtual_time length) {
  stopped_[one] = std::max(stopped_[one], clock.now() + length);
  for (const auto& through : links_of(one))
    clock.after(draw_time(through->faults(), patience_ / 2, patience_ + 50 * millisecond), [this, one, through] {
      if (stopped_until(one) > clock.now()) through->leave(through->side(0).at == one ? 1 : 0);
    });
}

void fabric::when_running(host one, std::function<void()> what) {
  auto& waiting = waiting_[one];
  if (waiting.empty() && stopped_until(one) <= clock.now()) return what();
  waiting.push_back(std::move(what));
  if (waiting.size() == 1) wake(one);
}

void fabric::wake(host one) {
  clock.at(stopped_until(one), [this, one] {
    if (stopped_until(one) > clock.now()) return wake(one);
    for (auto& what : std::exchange(waiting_[one], {})) what();
  });
}

/// Both sides of a link that nothing passes give up on each other.
void fabric::time_out_links(host one, host other, const link_ptr& through) {
  for (int side = 0; side < 2; ++side)
    clock.after(patience_ + draw_time(through->faults(), 0, 50 * millisecond), [this, one, other, through, side] {
      if (parted_until(one, other) > clock.now()) through->give_up(side);
    });
}

void fabric::part(host one, host other, virtual_time length) {
  auto& until = parted_[std::minmax(one, other)];
  until = std::max(until, clock.now() + length);
  for (const auto& between_them : links_of(one))
    if (between_them->side(0).at == other || between_them->side(1).at == other)
      time_out_links(one, other, between_them);
}

void fabric::isolate(host one) {
  isolated_.insert(one);
  for (const auto& through : links_of(one)) time_out_links(through->side(0).at, through->side(1).at, through);
}

void fabric::heal(host one) {
  if (isolated_.erase(one) == 0) return;
  for (const auto& through : links_of(one)) through->resume();
}

}  // namespace furlong::federated::network
