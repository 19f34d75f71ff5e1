// Sends the frames of models, encoded once for all receivers, and messages in parts of bounded size.
#pragma once

#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "actors/net/channel.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/update.hpp"
#include "federated/processes/models_sent.hpp"
#include "federated/protocol/messages.hpp"
#include "wire/control.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

using federated::processes::models_kept;

/// Thread-safe.
class model_frames {
 public:
  explicit model_frames(const federated::experiment& experiment);

  /// Sends a model. Fails, without having sent it, if it cannot be encoded.
  [[nodiscard]] result<void> send(net::channel& peer, const federated::broadcast_ptr& model);

 private:
  struct entry {
    federated::broadcast_ptr model;
    wire::encoded frame;
  };
  std::mutex mutex_;
  wire::encoder encoder_;
  wire::packing how_;
  std::deque<entry> entries_;
};

// Each of the following fails if a message cannot be encoded: the other side would wait for it, so the process ends
// with that error.

/// Sends a control message. What a close_notice and a displaced say is made fit for one line.
[[nodiscard]] result<void> send_control(net::channel& peer, wire::control message);
/// The same for letters, in messages of about a megabyte.
[[nodiscard]] result<void> send_letters(net::channel& peer, const federated::protocol::letters& letters);

/// Clients after which a request for scores, or a message with scores, gets no further one.
inline constexpr std::size_t scored_per_message = std::size_t{1} << 16U;

/// Requests scores, in messages of bounded size.
[[nodiscard]] result<void> send_request(net::channel& peer, std::uint64_t version,
                                        std::span<const std::pair<federated::group, std::uint32_t>> clients);

/// Predictions of two classes after which a message gets no further client.
inline constexpr std::size_t predictions_per_message = std::size_t{1} << 16U;

/// The same scores, in order, as several messages: none has more than `scored_per_message` clients, or more than
/// `predictions_per_message` predictions, except of a single client.
[[nodiscard]] std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores);

/// Sends them. A client with more than `most` predictions counts as one without examples, and is logged.
[[nodiscard]] result<void> send_scores(net::channel& peer, federated::protocol::evaluation_scores scores,
                                       std::size_t most = wire::longest_list);

/// Sends any control message: lists that are too long for one in parts.
[[nodiscard]] result<void> send_parts(net::channel& peer, wire::control message);

}  // namespace furlong::actors::federation
