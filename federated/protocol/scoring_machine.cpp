#include "federated/protocol/scoring_machine.hpp"

#include <algorithm>

#include "federated/round.hpp"
#include "federated/validation.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr virtual_time longest_silence = 60 * microseconds_per_second;

}  // namespace

scoring_machine::scoring_machine(const experiment& e, const server_machine& of, virtual_time now)
    : e_(e),
      model_(std::make_shared<const broadcast>(make_broadcast(e, of.state(), of.under_test()))),
      scores_(e, model_->model, nullptr, model_->version, of.state().ledger.get()),
      patience_(longest_silence),
      last_heard_(now),
      latest_(now + from_seconds(e.settings.network.task_timeout)) {}

std::map<std::uint32_t, evaluation_down> scoring_machine::ask(const roster& who) {
  std::map<std::uint32_t, evaluation_down> by_aggregator;
  for (std::size_t i = 0; i < scores_.size(); ++i) {
    const auto one = scores_.client(i);
    const auto through = who.route(one.second);
    if (!through) continue;
    awaited_.expect(model_->version, one, *through);
    auto& share = by_aggregator[*through];
    share.from = model_;
    share.clients.push_back(one);
  }
  return by_aggregator;
}

void scoring_machine::on_scores(std::uint32_t aggregator, evaluation_scores what, virtual_time now) {
  awaited_.take(aggregator, what);
  if (!what.each.empty()) last_heard_ = now;
  for (auto& one : what.each)
    if (!implausible(one.score, e_.model->objective())) scores_.accept(std::move(one));
}

void scoring_machine::on_aggregator_lost(std::uint32_t aggregator) { static_cast<void>(awaited_.lose(aggregator)); }

void scoring_machine::on_stop(virtual_time now) {
  const auto& network = e_.settings.network;
  stopping_ = true;
  patience_ = std::min(longest_silence, from_seconds(network.heartbeat + network.timeout));
  last_heard_ = now;
  latest_ = std::min(latest_, now + longest_silence);
}

bool scoring_machine::is_over(virtual_time now) const {
  return awaited_.empty() || now > last_heard_ + patience_ || now > latest_;
}

}  // namespace furlong::federated::protocol
