#include "federated/protocol/scoring_machine.hpp"

#include <algorithm>

#include "federated/experiment/validation.hpp"
#include "federated/settings/network.hpp"
#include "federated/state/broadcasts.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr virtual_time longest_silence = 60 * microseconds_per_second;

}  // namespace

scoring_machine::scoring_machine(const experiment& e, const server_machine& of, const roster& who, virtual_time now)
    : e_(e),
      roster_(who),
      model_(std::make_shared<const broadcast>(make_broadcast(e, of.state(), of.under_test()))),
      scores_(e, {model_->version, model_->model}, nullptr, of.state().ledger.get()),
      waits_(of.waits_for_every_task()),
      patience_(longest_silence),
      last_heard_(now),
      latest_(now + from_seconds(e.settings.network->task_timeout)) {}

/// Asks for a client where it is reached.
void scoring_machine::add_request(const std::pair<group, std::uint32_t>& one, requests& to) {
  const auto through = roster_.route(one.second);
  if (!through) {
    unreached_.insert({one.second, one.first});
    return;
  }
  awaited_.expect(model_->version, one, *through);
  auto& share = to[*through];
  share.from = model_;
  share.clients.push_back(one);
}

scoring_machine::requests scoring_machine::ask(virtual_time now) {
  requests by_aggregator;
  for (std::size_t i = 0; i < scores_.size(); ++i) add_request(scores_.client(i), by_aggregator);
  last_heard_ = now;
  return by_aggregator;
}

/// Clients whose answer does not come from where it was awaited.
scoring_machine::requests scoring_machine::request_again(const evaluation_scores& lost, virtual_time now) {
  requests by_aggregator;
  for (const auto& one : lost.each) {
    if (waits_)
      add_request({one.in, one.client}, by_aggregator);
    else
      unreached_.insert({one.client, one.in});
  }
  if (!by_aggregator.empty()) last_heard_ = now;
  return by_aggregator;
}

scoring_machine::requests scoring_machine::on_scores(std::uint32_t aggregator, evaluation_scores what,
                                                     virtual_time now) {
  awaited_.take(aggregator, what);
  if (what.unscored) return request_again(what, now);
  if (!what.each.empty()) last_heard_ = now;
  for (auto& one : what.each)
    if (!implausible(one.score, *e_.model)) scores_.accept(std::move(one));
  return {};
}

scoring_machine::requests scoring_machine::on_aggregator_lost(std::uint32_t aggregator, virtual_time now) {
  return request_again(awaited_.lose(aggregator), now);
}

scoring_machine::requests scoring_machine::on_attached(const client_range& clients, virtual_time now) {
  requests by_aggregator;
  if (!waits_) return by_aggregator;
  const auto begin = unreached_.lower_bound({clients.first, group::validation});
  const auto end = std::find_if(begin, unreached_.end(), [&](const auto& one) { return one.first > clients.last; });
  const std::vector<std::pair<std::uint32_t, group>> here(begin, end);
  unreached_.erase(begin, end);
  for (const auto& [client, in] : here) add_request({in, client}, by_aggregator);
  if (!here.empty()) last_heard_ = now;
  return by_aggregator;
}

void scoring_machine::on_stop(virtual_time now) {
  const auto& network = *e_.settings.network;
  stopping_ = true;
  patience_ = std::min(longest_silence, from_seconds(network.heartbeat + network.timeout));
  last_heard_ = now;
  latest_ = std::min(latest_, now + longest_silence);
}

/// True if a disconnected client may return.
bool scoring_machine::expects(virtual_time now) const {
  return waits_ &&
         std::ranges::any_of(unreached_, [&](const auto& one) { return roster_.expected_until(one.first) > now; });
}

bool scoring_machine::is_over(virtual_time now) const {
  if (now > latest_) return true;
  const bool expecting = expects(now);
  if (awaited_.empty() && !expecting) return true;
  return now > last_heard_ + patience_ && (stopping_ || !expecting);
}

}  // namespace furlong::federated::protocol
