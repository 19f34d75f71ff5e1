#include "actors/federation/score_messages.hpp"

#include <spdlog/spdlog.h>
#include <utility>

#include "actors/federation/model_frames.hpp"

namespace furlong::actors::federation {

std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores) {
  std::vector<federated::protocol::evaluation_scores> messages{{scores.version, {}}};
  std::size_t predictions = 0;  // in the last message
  for (auto& one : scores.each) {
    const auto more = one.score.odds.size();
    if (predictions > 0 && predictions + more > predictions_per_message) {
      messages.push_back({scores.version, {}});
      predictions = 0;
    }
    predictions += more;
    messages.back().each.push_back(std::move(one));
  }
  return messages;
}

void send_scores(net::channel& to, federated::protocol::evaluation_scores scores, std::size_t most) {
  for (auto& one : scores.each) {
    if (one.score.odds.size() <= most) continue;
    spdlog::error(
        "client {}: {} predictions of two classes, and a message has room for {}; it is not scored: divide its "
        "test examples among several clients, or raise network.max_message where that is the bound",
        one.client, one.score.odds.size(), most);
    one.score = {};
  }
  for (auto& message : cut(std::move(scores))) send_control(to, message);
}

}  // namespace furlong::actors::federation
