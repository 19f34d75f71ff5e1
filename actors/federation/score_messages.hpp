// Splits scores into messages of bounded size.
#pragma once

#include <vector>

#include "actors/net/channel.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::actors::federation {

/// Predictions of two classes after which a message gets no further client.
inline constexpr std::size_t predictions_per_message = std::size_t{1} << 16U;

/// The same scores, in order, as several messages: none has more than `predictions_per_message` predictions, except of
/// a single client.
[[nodiscard]] std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores);

/// Sends them. A client with more than `most` predictions counts as one without examples, and is logged.
void send_scores(net::channel& to, federated::protocol::evaluation_scores scores, std::size_t most);

}  // namespace furlong::actors::federation
