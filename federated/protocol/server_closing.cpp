#include <algorithm>
#include <set>

#include "federated/attack/collusion.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/protocol/partial_check.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/divergence.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::protocol {

namespace {

/// Number of updates in models without a checkpoint at which one is made.
constexpr std::size_t most_unsaved = 16'384;

}  // namespace

result<void> server_machine::check(const partial_aggregate& partial) const {
  const auto bad = [&](std::string why) { return unsound_partial(partial, std::move(why)); };
  if (partial.run != state_.run) return bad("belongs to another run");
  if (partial.version != state_.version) return bad("belongs to version " + std::to_string(partial.version));
  if (!shares_.knows(partial.aggregator) || !shares_.is_open()) return bad("was not asked for");
  if (!shares_.is_awaited(partial.aggregator)) return bad("arrived before");
  std::vector<member> expected;
  for (const auto& report : shares_.reports(partial.aggregator))
    expected.push_back({report.id.client, report.id.attempt});
  if (auto sound = check_members(partial, std::move(expected), sum_->is_blind()); !sound) return sound;
  if (is_async() || routed_) return {};
  for (const auto client : shares_.clients(partial.aggregator))
    if (const auto* task = tasks_.find(client); task != nullptr && !task->closed)
      return bad("lacks the outcome of client " + std::to_string(client));
  return {};
}

result<server_effects> server_machine::on_partial(partial_aggregate partial, virtual_time now) {
  if (auto sound = check(partial); !sound) return tl::unexpected(sound.error());
  if (auto merged = sum_->merge(std::move(partial.sums)); !merged) return tl::unexpected(merged.error());
  state_.now = std::max(state_.now, now);
  shares_.merge(partial.aggregator);
  server_effects effects;
  if (shares_.all_merged() && (!routed_ || shares_.is_closing())) {
    close_version(effects);
  } else if (routed_ && !shares_.is_closing()) {  // the round went on: tasks may wait for this aggregator's next share
    assign_waiting_tasks(effects);
    after_settling(effects);
  }
  return effects;
}

namespace {

/// Adds a share of the difference between `from` and `now`, value by value.
void add_way(std::span<float> to, float share, std::span<const float> from, std::span<const float> now) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += share * (from[i] - now[i]);
}

}  // namespace

/// FedAsync: the client's model is the version it started from plus its change, so the way from the server's model to
/// it begins at the version it started from (Xie et al. 2019, algorithm 1). Over a network several may have arrived
/// before the version was closed: then it is the mean of their ways, whatever they weigh; a client without examples has
/// none. Shared tensors that the algorithm adds go the same way.
void server_machine::add_base_difference(aggregate& round) const {
  const auto mixing = static_cast<float>(how().mixing);
  for (auto& value : round.change.values()) value *= mixing;
  const auto each_shared = [&](const auto& visit) {
    for (const auto& group : e_.groups)
      for (std::size_t i = 0; group.where == place::shared && i < group.count(); ++i) visit(group, i);
  };
  each_shared([&](const placed_group& group, std::size_t i) {
    for (auto& value : round.added.tensor(group.in_reported + i)) value *= mixing;
  });
  round.mixing = 0.0;
  std::set<task_id> idle;
  for (const auto& report : shares_.merged())
    if (report.examples == 0 || is_only_measured(e_.settings, limits_of(report.id))) idle.insert(report.id);
  const auto ways = std::ranges::count_if(shares_.aggregated(), [&](const auto& id) { return !idle.contains(id); });
  for (const auto& id : shares_.aggregated()) {
    if (idle.contains(id)) continue;
    const auto base = id.version;
    const double share = how().mixing * staleness_weight(how(), state_.version - base);
    round.mixing = std::max(round.mixing, share);
    if (base == state_.version) continue;
    const auto weight = static_cast<float>(share / static_cast<double>(ways));
    const auto& from = shelf_.model(base)->model;
    add_way(round.change.values(), weight, from.values(), state_.model.values());
    each_shared([&](const placed_group& group, std::size_t i) {
      add_way(round.added.tensor(group.in_reported + i),
              group.rule == sum_rule::sum ? static_cast<float>(share) : weight, from.tensor(group.in_down + i),
              state_.added.tensor(group.in_server + i));
    });
  }
}

/// Abandons the round: its aggregated updates are discarded.
void server_machine::abandon_round(const std::string& why) {
  record_.abandon(shares_.aggregated().size(), why, state_.now, state_.version);
  shares_.discard();
}

/// Of the start version of a task of this round.
const update_limits& server_machine::limits_of(const task_id& id) const { return shelf_.model(id.version)->limits; }

round_facts server_machine::take_facts() {
  round_facts facts(e_);
  for (const auto& report : shares_.take_rejected()) facts.add(report, {});
  for (const auto& report : shares_.merged()) facts.add(report, limits_of(report.id));
  return facts;
}

/// True if clients must be told at once that a model has their updates: they store private values only then.
bool server_machine::commits_after_ack() const {
  return routed_ && e_.settings.algorithm->traits.keeps_state && e_.settings.own->commit == commit_kind::after_ack;
}

/// A drawn cohort may be empty, or none of its clients may report. Such a round takes participation.retry, because
/// availability changes with time only. True if the round ends later.
bool server_machine::prolong_round(server_effects& out) {
  const auto until = cohort_.began_at() + std::max<virtual_time>(from_seconds(how().retry), 1);
  const bool timed = routed_ || e_.around != nullptr;  // tasks under the real clock of one process take no time
  if (!how().policy.traits.draws_cohort || !timed || !shares_.aggregated().empty() || state_.now >= until) return false;
  cohort_.prolong();
  out.emplace_back(timer{timer_kind::retry_selection, state_.version, until});
  return true;
}

/// Ends the round with what was merged.
void server_machine::close_version(server_effects& out) {
  if (prolong_round(out)) return;
  // With too few reports for the run's settings nothing is opened either.
  if (secure_.is_begun() && shares_.aggregated().size() >= std::max<std::size_t>(how().min_reports, 1))
    begin_unmasking(out);
  else
    finish_version(out);
}

void server_machine::finish_version(server_effects& out) try {
  cohort_.stop_awaiting_first();
  auto& report = record_.report();
  report.probed = selector_.probed();
  report.available = selector_.available();
  std::ranges::sort(report.refused, {}, [](const refused_member& m) { return m.who; });
  if (shares_.is_closing() && !is_async() && record_.has_timeline(state_.version))
    record_.add_in_flight(tasks_.by_client(), state_.version);
  if (sum_->is_blind()) static_cast<void>(sum_->take());
  const auto& aggregated = shares_.aggregated();
  if (!aggregated.empty()) add_bad_updates(e_, state_, limits_of(aggregated.front()), *sum_);
  auto round = report_sum(e_, state_, began_, *sum_);
  const auto facts = take_facts();
  const bool enough = aggregated.size() >= fewest_reports(e_.settings);
  const bool masked = secure_.has_failed();
  const auto fault = facts.fault(state_);
  if (!enough || masked || fault != size_fault::none) {
    if (routed_ && !aggregated.empty()) out.emplace_back(decline{aggregated});
    abandon_round(masked   ? secure_.failure()
                  : enough ? to_string(fault)
                           : std::to_string(aggregated.size()) + " of at least " + std::to_string(how().min_reports) +
                                 " reports");
  }
  if (secure_.is_begun()) {  // no reports of single clients
    report.sent_keys = secure_.sent_keys();
    state_.counts.examples += round.weight;
    report.examples += round.weight;
    secure_.end();
  }
  report.folded = aggregated.size();
  for (const auto& id : aggregated) {
    auto& of = state_.ledger->touch(id.client);
    ++of.folded;
    of.folded_version = static_cast<std::uint32_t>(id.version + 1);
    const auto staleness = state_.version - id.version;
    state_.counts.staleness_sum += staleness;
    state_.counts.staleness_max = std::max(state_.counts.staleness_max, staleness);
    if (!is_async()) continue;
    if (report.staleness.size() <= staleness) report.staleness.resize(staleness + 1);
    ++report.staleness[staleness];
  }
  report.ended_at = state_.now;
  report.in_flight = tasks_.size();
  shares_.sort_aggregated();
  if (is_async() && how().async == async_kind::model && round.usable && !report.gave_up) add_base_difference(round);
  report.members = aggregated;
  const auto version = state_.version;
  close_round(e_, state_, optimizer_, round, report, facts);
  if (routed_) verdicts_.add_to_model(aggregated, version);
  if (!aggregated.empty() && !routed_) out.emplace_back(acknowledge{version, aggregated});
  if (!aggregated.empty() && commits_after_ack()) out.emplace_back(taken{version, aggregated});
  for (const auto& id : aggregated)
    if (!tasks_.contains(id.client)) tasks_.remove_holder(id.client);
  shares_.end_round();
  for (auto& event : record_.take_events()) out.emplace_back(note{std::move(event)});
  memory_.close_round(state_.counts);
  out.emplace_back(round_closed{record_.take_report()});  // outcomes before the next round begins belong to it
  const bool pauses = state_.version == e_.settings.until->pause_after;
  stopping_ = stopping_ || pauses;
  if (is_evaluated(e_.settings, state_) || pauses) {
    out.emplace_back(evaluate{});
    return;
  }
  for (auto& effect : after_evaluation()) out.push_back(std::move(effect));
} catch (const models::model_failure& failure) {  // nobody hears of a version that never is
  out.emplace_back(failed{failure.why});
}

server_effects server_machine::after_evaluation() {
  const auto every = e_.settings.checkpoint_every;
  // Nodes keep updates without a checkpoint and list them in their hello: neither may grow without limit.
  const bool many = verdicts_.unsaved() >= most_unsaved;
  if (is_over() || stopping_ || checkpoint_wanted_ || many || (every != 0 && state_.version % every == 0))
    return {checkpoint{}};
  return {proceed{}};
}

server_effects server_machine::on_evaluation_failed() {
  state_.evaluation_due = true;
  return {checkpoint{}};
}

server_effects server_machine::on_evaluated(const evaluation_report& figures) {
  server_effects effects;
  state_.evaluation_due = false;
  for (auto& event : unscored_events(figures, state_.now)) effects.emplace_back(note{std::move(event)});
  if (std::exchange(reviewing_, false)) {
    watch_scores(state_, figures);
  } else if (is_evaluated(e_.settings, state_)) {
    // Another one is that of a pause, which decides nothing: without the pause the run would not have it.
    note_evaluation(e_, state_, figures);
    reviewing_ = is_over() && state_.chosen().version != state_.version;
  }
  if (reviewing_)
    effects.emplace_back(evaluate{});
  else
    for (auto& effect : after_evaluation()) effects.push_back(std::move(effect));
  return effects;
}

server_effects server_machine::on_checkpointed() {
  checkpoint_wanted_ = false;
  server_effects effects;
  auto saved = verdicts_.take_saved();
  if (!saved.durable.empty()) effects.emplace_back(acknowledge{state_.version, std::move(saved.durable)});
  if (!saved.obsolete.empty()) effects.emplace_back(decline{std::move(saved.obsolete)});
  if (is_over())
    effects.emplace_back(finish{false});
  else if (stopping_)
    effects.emplace_back(finish{true});
  else
    effects.emplace_back(proceed{});
  return effects;
}

}  // namespace furlong::federated::protocol
