#include "actors/federation/model_frames.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

model_frames::model_frames(const federated::experiment& e)
    : encoder_(e.parts.down, e.parts.up, federated::rule_sizes_of(e)), how_(wire::packing_of(*e.settings.network)) {}

result<void> model_frames::send(net::channel& to, std::deque<std::uint64_t>& has,
                                const federated::broadcast_ptr& from) {
  if (std::ranges::find(has, from->version) != has.end()) return {};
  const std::lock_guard lock(mutex_);
  auto at = std::ranges::find(entries_, from->version, [](const entry& one) { return one.from->version; });
  if (at == entries_.end()) {
    auto frame = encoder_.encode(*from, how_);
    if (!frame) return tl::unexpected(frame.error());
    entries_.push_back({from, std::move(*frame)});
    if (entries_.size() > models_kept) entries_.pop_front();
    at = std::prev(entries_.end());
  }
  to.send(at->frame);
  has.push_back(from->version);
  if (has.size() > models_kept) has.pop_front();
  return {};
}

result<void> send_control(net::channel& to, wire::control message) {
  const auto make_fit = [](auto& of) {
    of.why = wire::as_line(of.why);
    of.remedy = wire::as_line(of.remedy);
  };
  if (auto* notice = std::get_if<federated::protocol::close_notice>(&message)) make_fit(*notice);
  if (auto* stop = std::get_if<federated::protocol::displaced>(&message)) make_fit(*stop);
  auto frame = wire::encoder::encode(message);
  if (!frame) return tl::unexpected(frame.error());
  to.send(std::move(*frame));
  return {};
}

result<void> send_letters(net::channel& to, const federated::protocol::letters& all) {
  constexpr std::size_t most_bytes = std::size_t{1} << 20U;
  constexpr std::size_t most_letters = 4096;
  federated::protocol::letters next;
  std::size_t bytes = 0;
  for (const auto& letter : all.each) {
    if (!next.each.empty() && (bytes + letter.content.size() > most_bytes || next.each.size() == most_letters)) {
      if (auto sent = send_control(to, std::exchange(next, {})); !sent) return sent;
      bytes = 0;
    }
    bytes += letter.content.size();
    next.each.push_back(letter);
  }
  return next.each.empty() ? result<void>() : send_control(to, std::move(next));
}

result<void> send_request(net::channel& to, std::uint64_t version,
                          std::span<const std::pair<federated::group, std::uint32_t>> clients) {
  while (!clients.empty()) {
    const auto some = clients.first(std::min(clients.size(), scored_per_message));
    if (auto sent = send_control(to, federated::protocol::evaluation_request{version, {some.begin(), some.end()}});
        !sent)
      return sent;
    clients = clients.subspan(some.size());
  }
  return {};
}

std::vector<federated::protocol::evaluation_scores> cut(federated::protocol::evaluation_scores scores) {
  std::vector<federated::protocol::evaluation_scores> messages{{scores.version, {}, scores.unscored}};
  std::size_t predictions = 0;  // in the last message
  for (auto& one : scores.each) {
    const auto more = one.score.odds.size();
    const bool full = messages.back().each.size() == scored_per_message;
    if (full || (predictions > 0 && predictions + more > predictions_per_message)) {
      messages.push_back({scores.version, {}, scores.unscored});
      predictions = 0;
    }
    predictions += more;
    messages.back().each.push_back(std::move(one));
  }
  return messages;
}

result<void> send_scores(net::channel& to, federated::protocol::evaluation_scores scores, std::size_t most) {
  for (auto& one : scores.each) {
    if (one.score.odds.size() <= most) continue;
    spdlog::error(
        "client {}: {} predictions of two classes, and a message has room for {}; it is not scored: divide its "
        "test examples among several clients, or raise network.max_message where that is the bound",
        one.client, one.score.odds.size(), most);
    one.score = {};
  }
  for (auto& message : cut(std::move(scores)))
    if (auto sent = send_control(to, std::move(message)); !sent) return sent;
  return {};
}

}  // namespace furlong::actors::federation
