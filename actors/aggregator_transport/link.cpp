#include "actors/aggregator_transport/link.hpp"

#include <utility>

#include "actors/aggregator_transport/sockets.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

using self_pointer = link_actor::stateful_pointer<link_state>;

/// Time for the peer to confirm a link that it requested. The link also ends with its connection.
constexpr std::chrono::seconds confirmation{30};

class link_channel final : public net::channel {
 public:
  link_channel(std::shared_ptr<outbox> out, link_actor link, net::peer other)
      : out_(std::move(out)), link_(std::move(link)), other_(std::move(other)) {}
  ~link_channel() override { link_channel::close(); }
  link_channel(const link_channel&) = delete;
  link_channel& operator=(const link_channel&) = delete;

  void send(wire::encoded frame) override {
    if (out_->push(std::move(frame))) caf::anon_send(link_, wake_atom::value);
  }
  [[nodiscard]] std::size_t queued() const override { return out_->queued(); }
  void limit(std::size_t max_message) override { out_->set_max_message(max_message); }
  void close() override {
    out_->shut();
    caf::anon_send(link_, close_atom::value);
  }
  [[nodiscard]] const net::peer& other() const override { return other_; }

 private:
  std::shared_ptr<outbox> out_;
  link_actor link_;
  net::peer other_;
};

error link_error(self_pointer self, std::string reason) {
  return {error::kind::runtime, "operator link with " + self->state.start.other.address, std::move(reason), ""};
}

/// Ends the link. The peer receives the reason, unless it is unreachable or knows it.
void end(self_pointer self, std::string reason, bool tell) {
  auto& state = self->state;
  if (tell && state.counterpart) self->send(state.counterpart, goodbye{state.closing ? std::string{} : reason});
  state.out->abandon();
  state.closed(link_error(self, std::move(reason)));
  self->quit();
}

/// Ends the link and its connection: nothing is delivered any more.
void end_disconnected(self_pointer self, std::string reason) {
  cut_connections(self->state.start.connection);
  end(self, std::move(reason), false);
}

/// Sends pieces within the credits; then ends if it is closing.
void pump(self_pointer self) {
  auto& state = self->state;
  if (!state.events) return;
  if (state.out->overflowed())
    return end(self, "more than " + std::to_string(state.out->limit()) + " bytes wait to be sent", true);
  if (const auto bytes = state.out->too_long(); bytes > 0)
    return end(self,
               "a frame of " + std::to_string(bytes) + " bytes was to be sent; network.max_message is " +
                   std::to_string(state.out->max_message()),
               true);
  while (state.out->in_flight() < link_credits) {
    auto next = state.out->cut();
    if (!next) break;
    self->send(state.counterpart, std::move(*next));
  }
  if (state.closing && state.out->drained()) end(self, "closed by this side", true);
}

/// Runs a user's callback: an exception must not leave the actor.
template <class Callback>
bool call(self_pointer self, Callback callback) {
  try {
    callback();
    return true;
  } catch (const std::exception& why) {
    end(self, std::string("its user failed: ") + why.what(), true);
    return false;
  }
}

void open(self_pointer self) {
  auto& state = self->state;
  if (state.events) return;
  state.events.emplace();
  auto channel = std::make_shared<link_channel>(state.out, link_actor(self), state.start.other);
  // Release the callback: the link may last long.
  const auto on_open = std::exchange(state.start.on_open, nullptr);
  if (call(self, [&] { state.events = on_open(channel); })) pump(self);
}

void on_piece(self_pointer self, const piece& next) {
  auto& state = self->state;
  if (!state.events) return;
  std::optional<std::string> broken;
  state.in->limit(state.out->max_message());
  const bool handed_over = call(self, [&] {
    broken = state.in->add(next, [&](net::received frame) {
      if (state.events->on_frame) state.events->on_frame(std::move(frame));
    });
  });
  if (!handed_over) return;
  if (broken) return end(self, std::move(*broken), true);
  self->send(state.counterpart, credit{1});
}

void on_credit(self_pointer self, const credit& got) {
  if (!self->state.events) return;
  for (std::uint32_t i = 0; i < got.pieces; ++i) {
    if (!self->state.out->acknowledge()) return end(self, "the other side sent too many credits", true);
  }
  pump(self);
}

void on_close(self_pointer self) {
  auto& state = self->state;
  if (std::exchange(state.closing, true)) return;
  if (!state.events) return self->quit();
  self->delayed_send(self, state.start.options.linger, late_atom::value);
  pump(self);
}

/// Monitors the peer once it is known.
void on_counterpart(self_pointer self, remote_link counterpart) {
  self->state.counterpart = std::move(counterpart);
  self->monitor(self->state.counterpart);
}

}  // namespace

link_state::~link_state() { closed({error::kind::runtime, "operator link", "it was ended", ""}); }

void link_state::closed(const error& why) {
  const auto callbacks = std::exchange(events, std::nullopt);
  if (!callbacks || !callbacks->on_closed) return;
  try {
    callbacks->on_closed(why);
  } catch (const std::exception&) {
    // The link has already ended.
  }
}

link_actor::behavior_type link_behavior(self_pointer self, std::shared_ptr<link_start> start) {
  auto& state = self->state;
  state.start = std::move(*start);
  state.out = std::make_shared<outbox>(state.start.options.queue_limit, state.start.options.max_message);
  state.in.emplace(state.start.options.max_message);
  self->set_down_handler([self](const caf::down_msg& down) {
    if (down.source != self->state.counterpart) return;
    if (down.reason == caf::exit_reason::remote_link_unreachable)
      end_disconnected(self, "the connection is lost: the other side ended, or was silent for too long");
    else
      end(self, "the other side is gone: " + self->system().render(down.reason), false);
  });
  if (state.start.counterpart) {
    on_counterpart(self, std::exchange(state.start.counterpart, remote_link{}));
    self->delayed_send(self, confirmation, late_atom::value);
  }
  return {
      [self](const piece& next) { on_piece(self, next); },
      [self](const credit& got) { on_credit(self, got); },
      [self](const goodbye& got) {
        end(self, got.why.empty() ? "closed by the other side" : "the other side closed: " + got.why, false);
      },
      [self](const link_ready&) { open(self); },
      [self](const link_opened& with, const std::string& name, const std::string& connection) {
        self->state.start.other.name = name;
        self->state.start.connection = connection;
        on_counterpart(self, with.link);
        self->send(with.link, link_ready{});
        open(self);
      },
      [self](wake_atom) { pump(self); },
      [self](close_atom) { on_close(self); },
      [self](late_atom) {
        if (self->state.closing)
          end_disconnected(self, "closed by this side before all was sent");
        else if (!self->state.events)
          self->quit();
      },
  };
}

}  // namespace furlong::actors::aggregator_transport
