#include "actors/federation/model_frames.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

namespace furlong::actors::federation {

void model_frames::send(net::channel& to, std::deque<std::uint64_t>& has, const federated::broadcast_ptr& from) {
  if (std::ranges::find(has, from->version) != has.end()) return;
  const std::lock_guard lock(mutex_);
  auto at = std::ranges::find(entries_, from->version, [](const entry& one) { return one.from->version; });
  if (at == entries_.end()) {
    auto frame = encoder_.encode(*from, how_);
    if (!frame) {
      spdlog::critical("a model cannot be sent: {}", frame.error().text());
      return;
    }
    entries_.push_back({from, std::move(*frame)});
    if (entries_.size() > models_kept) entries_.pop_front();
    at = std::prev(entries_.end());
  }
  to.send(at->frame);
  has.push_back(from->version);
  if (has.size() > models_kept) has.pop_front();
}

void send_control(net::channel& to, const wire::control& message) {
  auto frame = wire::encoder::encode(message);
  if (!frame) {
    spdlog::critical("a message cannot be sent: {}", frame.error().text());
    return;
  }
  to.send(std::move(*frame));
}

void send_letters(net::channel& to, const federated::protocol::letters& all) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20U;
  constexpr std::size_t most_letters = 4096;
  federated::protocol::letters next;
  std::size_t bytes = 0;
  for (const auto& letter : all.each) {
    if (!next.each.empty() && (bytes + letter.content.size() > most_bytes || next.each.size() == most_letters)) {
      send_control(to, std::exchange(next, {}));
      bytes = 0;
    }
    bytes += letter.content.size();
    next.each.push_back(letter);
  }
  if (!next.each.empty()) send_control(to, std::move(next));
}

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
