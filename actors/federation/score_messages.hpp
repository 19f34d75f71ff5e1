// Scores on their way up, in messages that the other side takes.
#pragma once

#include <vector>

#include "actors/net/channel.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::actors::federation {

/// Predictions of two classes beyond which a message has no further client.
inline constexpr std::size_t predictions_per_message = std::size_t{1} << 16U;

/// The same scores, in their order, as several messages: none has more than `predictions_per_message` predictions but
/// for those of a single client.
[[nodiscard]] std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores);

/// Sends them so. Of a client that has more than `most` predictions nothing can be sent: it counts as one without
/// examples, and the log says so.
void send_scores(net::channel& to, federated::protocol::evaluation_scores scores, std::size_t most);

}  // namespace furlong::actors::federation
