// Sends the frames of models, encoded once for all receivers, and messages in parts of bounded size.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/net/channel.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/update.hpp"
#include "wire/control.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

/// Number of versions of a model that a node or an aggregator keeps: the last ones that it received. Older ones are
/// sent again when needed.
constexpr std::size_t models_kept = 4;

/// Thread-safe.
class model_frames {
 public:
  model_frames(const models::partition& parts, wire::packing how) : encoder_(parts.down, parts.up), how_(how) {}

  /// Sends a model, unless it is in `has` (the versions that the peer has, oldest first).
  void send(net::channel& to, std::deque<std::uint64_t>& has, const federated::broadcast_ptr& from);

 private:
  struct entry {
    federated::broadcast_ptr from;
    wire::encoded frame;
  };
  std::mutex mutex_;
  wire::encoder encoder_;
  wire::packing how_;
  std::deque<entry> entries_;
};

/// Sends a control message. One that cannot be encoded is a bug: it is logged, and not sent.
void send_control(net::channel& to, const wire::control& message);
/// The same for letters, in messages of about a megabyte.
void send_letters(net::channel& to, const federated::protocol::letters& all);

/// Predictions of two classes after which a message gets no further client.
inline constexpr std::size_t predictions_per_message = std::size_t{1} << 16U;

/// The same scores, in order, as several messages: none has more than `predictions_per_message` predictions, except of
/// a single client.
[[nodiscard]] std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores);

/// Sends them. A client with more than `most` predictions counts as one without examples, and is logged.
void send_scores(net::channel& to, federated::protocol::evaluation_scores scores, std::size_t most);

}  // namespace furlong::actors::federation
