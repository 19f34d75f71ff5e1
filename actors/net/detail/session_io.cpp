// Input and output of a session.
#include <algorithm>
#include <new>
#include <utility>

#include "actors/net/detail/session.hpp"

namespace furlong::actors::net::detail {

namespace {

/// Bytes that one connection may process before others on the thread get their turn.
constexpr std::size_t turn_bytes = 256 << 10;
/// Overhead of a small frame in the consumer's queue, in bytes.
constexpr std::size_t frame_overhead = 256;

connect_failure lost(std::string reason) { return failed_by(failure_cause::lost, std::move(reason)); }

}  // namespace

/// Owned by the bytes of a small frame.
struct session::small_hold {
  small_hold(std::weak_ptr<session> which, std::size_t count) : of(std::move(which)), bytes(count) {}
  small_hold(const small_hold&) = delete;
  small_hold& operator=(const small_hold&) = delete;
  ~small_hold() {
    if (const auto alive = of.lock()) alive->release_small(bytes);
  }

  std::weak_ptr<session> of;
  std::size_t bytes;
};

// ---- in -------------------------------------------------------------------------------------------------------------

bool session::may_read() {
  if ((stage_ != stage::greeting && stage_ != stage::open) || asking_ || starved_) return false;
  if (reader_.inside_frame() || unread_ <= settings_.max_unread) return true;
  starved_ = true;
  // Between the two lines above the consumer may have released frames without noticing that reading waits.
  if (unread_ <= settings_.max_unread) {
    starved_ = false;
    return true;
  }
  on_pause();
  return false;
}

void session::pump_in() {
  std::size_t turn = 0;
  while (!reading_ && may_read()) {
    if (turn >= turn_bytes) {
      reading_ = true;
      return later([](session& self) {
        self.reading_ = false;
        self.pump_in();
      });
    }
    const auto step = stream_->read(reader_.space());
    switch (step.state) {
      case io_state::done:
        last_in_ = clock::now();
        turn += step.bytes;
        if (!on_bytes(step.bytes)) return;
        break;
      case io_state::wait_read: return wait_in(tcp::socket::wait_read);
      case io_state::wait_write: return wait_in(tcp::socket::wait_write);
      case io_state::ended: return end(lost("the connection was lost: the other side ended it"), closing::drop);
      case io_state::failed: return end(stream_->problem(), closing::none);
    }
  }
}

void session::wait_in(tcp::socket::wait_type what) {
  reading_ = true;
  socket_.async_wait(what, [self = shared_from_this()](const error_code& failed) {
    self->reading_ = false;
    if (!failed) self->pump_in();
  });
}

/// False if the session stops reading.
bool session::on_bytes(std::size_t count) {
  auto answer = frame_reader::answer::broken;
  reader_.limit(max_message_);  // another thread may set it while this one reads
  try {
    answer = reader_.filled(count);
  } catch (const std::bad_alloc&) {
    end(lost("no memory for a frame of " + std::to_string(reader_.wanted()) + " bytes"), closing::tell);
    return false;
  }
  note_progress();
  switch (answer) {
    case frame_reader::answer::more: return true;
    case frame_reader::answer::ask:
      if (stage_ == stage::greeting) open();
      return ask_for_room();
    case frame_reader::answer::busy: busy_at_ = last_in_; [[fallthrough]];
    case frame_reader::answer::heartbeat:
      if (stage_ == stage::greeting) open();
      return true;
    case frame_reader::answer::frame:
      if (stage_ == stage::greeting) open();
      deliver();
      return true;
    case frame_reader::answer::closed: {
      const auto& why = reader_.text();
      const auto cause = opened_ ? failure_cause::lost : failure_cause::rejected;
      end(failed_by(cause, why.empty() ? "the other side closed" : "the other side closed: " + why), closing::none);
      return false;
    }
    case frame_reader::answer::broken: break;
  }
  end({failure_cause::protocol, {error::kind::data, "", reader_.text(), ""}}, closing::tell);
  return false;
}

/// Heartbeats between the pieces of a frame are no progress of the frame.
void session::note_progress() {
  if (!reader_.inside_frame()) return;
  if (!std::exchange(in_frame_, true)) {
    frame_began_ = frame_moved_ = last_in_;
    frame_bytes_ = frame_base_ = 0;
  }
  if (std::exchange(frame_bytes_, reader_.arrived()) != reader_.arrived()) frame_moved_ = last_in_;
}

void session::deliver() {
  in_frame_ = false;
  auto frame = reader_.take();
  const auto size = frame.bytes().size();
  if (room_ == nullptr || size <= small_frame) {
    const auto counted = std::min(size, small_frame) + frame_overhead;
    unread_ += counted;
    frame.hold(std::make_shared<small_hold>(weak_from_this(), counted));
  }
  if (!events_.on_frame) return;
  try {
    events_.on_frame(std::move(frame));
  } catch (...) {
    end(lost("a frame could not be handled"), closing::tell);
  }
}

bool session::ask_for_room() {
  const auto bytes = reader_.wanted();
  if (bytes > room_->capacity()) {
    end(failed_by(failure_cause::protocol, "a frame of " + std::to_string(bytes) +
                                               " bytes is more than the whole budget of " +
                                               std::to_string(room_->capacity())),
        closing::tell);
    return false;
  }
  if (auto reservation = room_->try_reserve(bytes)) {
    on_granted(std::move(reservation));
    return stage_ == stage::open;
  }
  on_pause();
  if (stage_ != stage::open) return false;
  asking_ = true;
  ticket_ = room_->reserve(bytes, [weak = weak_from_this()](budget::reservation reservation) {
    if (const auto self = weak.lock())
      self->later([held = std::move(reservation)](session& there) mutable {
        if (!there.asking_) return;
        there.on_granted(std::move(held));
        there.pump_in();
      });
  });
  return false;
}

void session::on_granted(std::shared_ptr<const void> reservation) {
  asking_ = false;
  try {
    reader_.grant(std::move(reservation));
  } catch (const std::bad_alloc&) {
    return end(lost("no memory for a frame of " + std::to_string(reader_.wanted()) + " bytes"), closing::tell);
  }
  last_in_ = frame_began_ = frame_moved_ = clock::now();
}

/// Tells the peer that this side is busy, and the connection alive.
void session::on_pause() {
  writer_.push_heartbeat(piece_kind::busy);
  heartbeat_at_ = clock::now();
  pump_out();
}

void session::release_small(std::size_t bytes) {
  const auto left = unread_.fetch_sub(bytes) - bytes;
  // Continue at half of the limit, so that reading does not stop for every frame.
  if (left > settings_.max_unread / 2 || !starved_.exchange(false) || closed_) return;
  later([](session& self) {
    self.last_in_ = clock::now();
    self.pump_in();
  });
}

// ---- out ------------------------------------------------------------------------------------------------------------

void session::send(wire::encoded frame) {
  if (closed_ || overflowed_) return;
  const auto size = frame.size();
  const auto before = queued_.fetch_add(size);
  if (size > max_message_ || (before > 0 && before + size > settings_.max_queued)) overflowed_ = true;
  {
    const std::lock_guard lock(mutex_);
    if (!overflowed_) inbox_.push_back(std::move(frame));
    if (std::exchange(scheduled_, true)) return;
  }
  later([](session& self) { self.pump_out(); });
}

void session::limit(std::size_t max_message) { max_message_ = max_message; }

void session::take_inbox() {
  std::vector<wire::encoded> came;
  {
    const std::lock_guard lock(mutex_);
    came.swap(inbox_);
    scheduled_ = false;
  }
  if (!came.empty() && writer_.empty()) out_moved_ = clock::now();
  for (auto& frame : came) writer_.push(std::move(frame));
}

void session::pump_out() {
  if (stage_ < stage::flushing) take_inbox();
  if (overflowed_ && stage_ < stage::flushing)
    return end(lost("it reads too slowly, or a frame is too long: " + std::to_string(queued_) + " bytes wait"),
               closing::tell);
  std::size_t turn = 0;
  while (!writing_ && stage_ > stage::handshake && stage_ < stage::draining) {
    const auto chunk = writer_.next();
    if (chunk.empty()) {
      if (stage_ == stage::flushing) end(lost("closed by this side"), closing::none);
      return;
    }
    if (turn >= turn_bytes) {
      writing_ = true;
      return later([](session& self) {
        self.writing_ = false;
        self.pump_out();
      });
    }
    const auto step = stream_->write(chunk);
    switch (step.state) {
      case io_state::done:
        queued_ -= writer_.consumed(step.bytes);
        last_out_ = out_moved_ = clock::now();
        turn += step.bytes;
        break;
      case io_state::wait_read: return wait_out(tcp::socket::wait_read);
      case io_state::wait_write: return wait_out(tcp::socket::wait_write);
      case io_state::ended: return end(lost("the connection was lost: the other side ended it"), closing::drop);
      case io_state::failed: return end(stream_->problem(), closing::none);
    }
  }
}

void session::wait_out(tcp::socket::wait_type what) {
  writing_ = true;
  socket_.async_wait(what, [self = shared_from_this()](const error_code& failed) {
    self->writing_ = false;
    if (!failed) self->pump_out();
  });
}

}  // namespace furlong::actors::net::detail
