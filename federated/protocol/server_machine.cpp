#include "federated/protocol/server_machine.hpp"

#include <algorithm>

#include "federated/participation.hpp"

namespace furlong::federated::protocol {

server_machine::server_machine(const experiment& e, server_state state)
    : e_(e), state_(std::move(state)), optimizer_(e.settings.server, e.parts.shared) {
  optimizer_.restore(state_.optimizer);
}

server_state server_machine::snapshot() const {
  auto copy = state_;
  copy.optimizer = optimizer_.state();
  return copy;
}

server_effects server_machine::start() {
  if (state_.version >= e_.settings.rounds) return {evaluate{}};
  return begin_round();
}

server_effects server_machine::begin_round() {
  const auto cohort = choose_cohort(e_.participants->training(), e_.settings.per_round, e_.settings.seed,
                                    static_cast<std::uint32_t>(state_.version));
  const std::size_t aggregators = std::clamp<std::size_t>(cohort.size(), 1, e_.settings.aggregators);
  sum_ = make_accumulator(e_.settings.aggregation, e_.parts.shared, state_.reference);
  report_ = {};
  report_.selected = cohort.size();
  report_.bytes_down = cohort.size() * e_.download_bytes;
  dealt_.assign(aggregators, {});
  for (std::size_t i = 0; i < cohort.size(); ++i) dealt_[i % aggregators].push_back(cohort[i]);
  answered_.assign(aggregators, false);
  pending_ = aggregators;

  const auto from =
      std::make_shared<const broadcast>(broadcast{state_.run, state_.version, state_.model, state_.reference});
  server_effects effects;
  for (std::size_t a = 0; a < aggregators; ++a)
    effects.emplace_back(assign{static_cast<std::uint32_t>(a), from, dealt_[a]});
  return effects;
}

result<void> server_machine::check(const partial_aggregate& partial) const {
  const auto place = "partial aggregate of aggregator " + std::to_string(partial.aggregator);
  const auto bad = [&](std::string why) { return fail(error::kind::runtime, place, std::move(why)); };
  if (partial.run != state_.run) return bad("belongs to another run");
  if (partial.version != state_.version) return bad("belongs to version " + std::to_string(partial.version));
  if (partial.aggregator >= answered_.size()) return bad("was not asked for");
  if (answered_[partial.aggregator]) return bad("arrived before");
  std::vector<std::uint32_t> listed;
  for (const auto& one : partial.folded) listed.push_back(one.client);
  for (const auto& one : partial.refused) listed.push_back(one.who.client);
  std::ranges::sort(listed);
  const auto& words = partial.sums.words;
  if (words.size() < 3 || words[0] < 0 || static_cast<std::uint64_t>(words[0]) > partial.folded.size() ||
      static_cast<std::uint64_t>(words[1]) != partial.weight || words[2] != partial.loss_fixed)
    return bad("sums that do not match its members");
  if (listed != dealt_[partial.aggregator]) return bad("does not account for exactly the clients that were assigned");
  return {};
}

result<server_effects> server_machine::on_partial(partial_aggregate partial, std::uint64_t bytes_up) {
  if (auto sound = check(partial); !sound) return tl::unexpected(sound.error());
  if (auto merged = sum_->merge(std::move(partial.sums)); !merged) return tl::unexpected(merged.error());
  answered_[partial.aggregator] = true;
  report_.folded += partial.folded.size();
  report_.refused.insert(report_.refused.end(), partial.refused.begin(), partial.refused.end());
  report_.examples += partial.examples;
  report_.bytes_up += bytes_up;
  if (--pending_ > 0) return server_effects{};
  return close();
}

server_effects server_machine::close() {
  std::ranges::sort(report_.refused, {}, [](const refused_member& m) { return m.who; });
  auto round = sum_->report();
  close_round(e_, state_, optimizer_, round, report_);
  server_effects effects{round_closed{report_}};
  const auto every = e_.settings.evaluation.every;
  const bool last = state_.version >= e_.settings.rounds;
  if (last || (every != 0 && state_.version % every == 0)) {
    effects.emplace_back(evaluate{});
    return effects;
  }
  for (auto& effect : after_evaluation()) effects.push_back(std::move(effect));
  return effects;
}

server_effects server_machine::after_evaluation() {
  const auto every = e_.settings.checkpoint_every;
  const bool last = state_.version >= e_.settings.rounds;
  if (last || stopping_ || (every != 0 && state_.version % every == 0)) return {checkpoint{}};
  return begin_round();
}

server_effects server_machine::on_evaluated() { return after_evaluation(); }

server_effects server_machine::on_checkpointed() {
  if (state_.version >= e_.settings.rounds) return {finish{false}};
  if (stopping_) return {finish{true}};
  return begin_round();
}

}  // namespace furlong::federated::protocol
