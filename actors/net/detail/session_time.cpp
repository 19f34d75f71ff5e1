// The timers of a session: heartbeats, silence, stalled frames.
#include <algorithm>
#include <string>

#include "actors/net/detail/session.hpp"

namespace furlong::actors::net::detail {

namespace {

using std::chrono::milliseconds;

std::string whole(double number) { return std::to_string(static_cast<std::size_t>(number)); }

std::string seconds(std::chrono::steady_clock::duration length) {
  const auto tenths = std::chrono::duration_cast<milliseconds>(length).count() / 100;
  return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s";
}

}  // namespace

session::clock::time_point session::sign_due() const {
  return (paused() ? heartbeat_at_ : std::max(heartbeat_at_, last_out_)) + settings_.heartbeat;
}

void session::arm() {
  const auto now = clock::now();
  switch (stage_) {
    case stage::handshake:
    case stage::greeting: due_ = born_ + settings_.opening; break;
    case stage::open: {
      // Silence and heartbeats are timed exactly; all else is checked often enough.
      due_ = now + std::min(settings_.heartbeat, settings_.timeout) / 2;
      due_ = std::min(due_, sign_due());
      if (!paused()) due_ = std::min(due_, last_in_ + settings_.heartbeat + settings_.timeout);
      due_ = std::max(due_, now + milliseconds(1));
      break;
    }
    case stage::flushing: due_ = flush_until_; break;
    case stage::draining:
    case stage::gone: return;  // end() set the timer
  }
  timer_.expires_at(due_);
  timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
    if (!stopped) self->tick();
  });
}

void session::tick() {
  const auto now = clock::now();
  switch (stage_) {
    case stage::handshake:
    case stage::greeting:
      return end(failed_by(failure_cause::timed_out, "no answer within " + seconds(settings_.opening)), closing::none);
    case stage::open: break;
    case stage::flushing:
      return end(failed_by(failure_cause::lost, "closed by this side before all was sent"), closing::none);
    case stage::draining:
    case stage::gone: return;
  }
  // A timer that is this late shows that this process was stopped, not the peer.
  if (now - due_ > settings_.timeout / 2) restart_timers(now);
  if (auto why = complaint(now)) return end(failed_by(failure_cause::lost, std::move(*why)), closing::tell);
  if (now >= sign_due()) {
    if (paused()) {
      writer_.push_heartbeat(piece_kind::busy);
    } else if (writer_.empty()) {
      writer_.push_heartbeat(piece_kind::heartbeat);
    }
    heartbeat_at_ = now;
    pump_out();
  }
  if (stage_ == stage::open) arm();
}

void session::restart_timers(clock::time_point now) {
  last_in_ = frame_began_ = frame_moved_ = out_moved_ = now;
  frame_base_ = frame_bytes_;
}

/// Minimum bytes per second of the incoming frame. While others wait for memory, a larger frame must arrive faster.
double session::minimum_rate() const {
  const auto slowest = static_cast<double>(settings_.slowest);
  if (room_ == nullptr || reader_.wanted() <= small_frame || room_->waiting() == 0) return slowest;
  const std::chrono::duration<double> turn = settings_.turn;
  return std::max(slowest, static_cast<double>(reader_.wanted()) / turn.count());
}

std::optional<std::string> session::complaint(clock::time_point now) const {
  const auto silence = settings_.heartbeat + settings_.timeout;
  if (!paused() && now - last_in_ >= silence) return "silent for " + seconds(now - last_in_);
  if (in_frame_ && !paused()) {
    if (now - frame_moved_ >= settings_.timeout)
      return "a frame has made no progress for " + seconds(now - frame_moved_);
    const std::chrono::duration<double> taken = now - frame_began_;
    const auto came = static_cast<double>(frame_bytes_ - frame_base_);
    if (taken >= settings_.timeout && came < minimum_rate() * taken.count())
      return "a frame comes too slowly: " + whole(came / taken.count()) + " bytes a second; " + whole(minimum_rate()) +
             " are the least now";
  }
  if (!writer_.empty()) {
    const auto patience = server_ ? settings_.patience : settings_.server_patience;
    if (now - std::max(out_moved_, busy_at_) >= silence || now - out_moved_ >= patience)
      return "it has read nothing for " + seconds(now - out_moved_) + ", " + std::to_string(queued_) + " bytes wait";
  }
  return std::nullopt;
}

}  // namespace furlong::actors::net::detail
