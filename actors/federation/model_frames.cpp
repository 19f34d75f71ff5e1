#include "actors/federation/model_frames.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

model_frames::model_frames(const federated::experiment& experiment)
    : encoder_(experiment.parts.down, experiment.parts.up, federated::rule_sizes_of(experiment)),
      how_(wire::packing_of(*experiment.settings.network)) {}

result<void> model_frames::send(net::channel& peer, const federated::broadcast_ptr& model) {
  const std::lock_guard lock(mutex_);
  auto known = std::ranges::find(entries_, model->version, [](const entry& frame) { return frame.model->version; });
  if (known == entries_.end()) {
    auto frame = encoder_.encode(*model, how_);
    if (!frame) return tl::unexpected(frame.error());
    entries_.push_back({model, std::move(*frame)});
    if (entries_.size() > models_kept) entries_.pop_front();
    known = std::prev(entries_.end());
  }
  peer.send(known->frame);
  return {};
}

result<void> send_control(net::channel& peer, wire::control message) {
  const auto make_fit = [](auto& notice) {
    notice.why = wire::as_line(notice.why);
    notice.remedy = wire::as_line(notice.remedy);
  };
  if (auto* notice = std::get_if<federated::protocol::close_notice>(&message)) make_fit(*notice);
  if (auto* stop = std::get_if<federated::protocol::displaced>(&message)) make_fit(*stop);
  auto frame = wire::encoder::encode(message);
  if (!frame) return tl::unexpected(frame.error());
  peer.send(std::move(*frame));
  return {};
}

result<void> send_letters(net::channel& peer, const federated::protocol::letters& letters) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20U;
  constexpr std::size_t most_letters = 4096;
  federated::protocol::letters next;
  std::size_t bytes = 0;
  for (const auto& letter : letters.each) {
    if (!next.each.empty() && (bytes + letter.content.size() > most_bytes || next.each.size() == most_letters)) {
      if (auto sent = send_control(peer, std::exchange(next, {})); !sent) return sent;
      bytes = 0;
    }
    bytes += letter.content.size();
    next.each.push_back(letter);
  }
  return next.each.empty() ? result<void>() : send_control(peer, std::move(next));
}

result<void> send_request(net::channel& peer, std::uint64_t version,
                          std::span<const std::pair<federated::group, std::uint32_t>> clients) {
  while (!clients.empty()) {
    const auto part = clients.first(std::min(clients.size(), scored_per_message));
    if (auto sent = send_control(peer, federated::protocol::evaluation_request{version, {part.begin(), part.end()}});
        !sent)
      return sent;
    clients = clients.subspan(part.size());
  }
  return {};
}

std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores) {
  std::vector<federated::protocol::evaluation_scores> messages{{scores.version, {}, scores.unscored}};
  std::size_t predictions = 0;  // in the last message
  for (auto& scored : scores.each) {
    const auto more = scored.score.odds.size();
    const bool full = messages.back().each.size() == scored_per_message;
    if (full || (predictions > 0 && predictions + more > predictions_per_message)) {
      messages.push_back({scores.version, {}, scores.unscored});
      predictions = 0;
    }
    predictions += more;
    messages.back().each.push_back(std::move(scored));
  }
  return messages;
}

result<void> send_scores(net::channel& peer, federated::protocol::evaluation_scores scores, std::size_t most) {
  for (auto& scored : scores.each) {
    if (scored.score.odds.size() <= most) continue;
    spdlog::error(
        "client {}: {} predictions of two classes, and a message has room for {}; it is not scored: divide its "
        "test examples among several clients, or raise network.max_message where that is the bound",
        scored.client, scored.score.odds.size(), most);
    scored.score = {};
  }
  for (auto& message : cut(std::move(scores)))
    if (auto sent = send_control(peer, std::move(message)); !sent) return sent;
  return {};
}

result<void> send_parts(net::channel& peer, wire::control message) {
  if (const auto* letters = std::get_if<federated::protocol::letters>(&message)) return send_letters(peer, *letters);
  if (const auto* request = std::get_if<federated::protocol::evaluation_request>(&message))
    return send_request(peer, request->version, request->clients);
  if (auto* scores = std::get_if<federated::protocol::evaluation_scores>(&message))
    return send_scores(peer, std::move(*scores));
  return send_control(peer, std::move(message));
}

}  // namespace furlong::actors::federation
