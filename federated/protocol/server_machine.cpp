#include "federated/protocol/server_machine.hpp"

#include <algorithm>
#include <cmath>

#include "federated/staleness.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::size_t most_spans = 200;
constexpr std::uint32_t most_attempts = 4;  // of a client in one version
// When nobody can be reached the server looks again after longer and longer times, and gives a round up in the end:
// no run waits for ever.
constexpr virtual_time longest_retry = 3600 * microseconds_per_second;
constexpr virtual_time longest_wait = 7 * 86400 * microseconds_per_second;

}  // namespace

server_machine::server_machine(const experiment& e, server_state state, roster* who)
    : e_(e), state_(std::move(state)), who_(who), optimizer_(e.settings.server, e.parts.shared) {
  optimizer_.restore(state_.optimizer);
  policy_ = make_policy(e, *state_.ledger);
  for (auto& [version, model] : std::exchange(state_.started_from, {}))
    broadcasts_[version].from = std::make_shared<const broadcast>(broadcast{state_.run, version, std::move(model), {}});
  for (const auto& task : std::exchange(state_.open, {})) open(task);
}

server_state server_machine::snapshot() const {
  auto copy = state_;
  copy.optimizer = optimizer_.state();
  for (const auto& [client, task] : open_) copy.open.push_back(task);
  std::ranges::sort(copy.open, {}, [](const open_task& task) { return task.id.client; });
  for (const auto& task : copy.open)
    if (!copy.started_from.contains(task.id.version))
      copy.started_from[task.id.version] = broadcasts_.at(task.id.version).from->model;
  return copy;
}

bool server_machine::is_over() const {
  const auto& until = e_.settings.until;
  return state_.version >= e_.settings.rounds ||
         (until.virtual_seconds > 0 && state_.now >= from_seconds(until.virtual_seconds)) ||
         (until.target && state_.target_reached.has_value());
}

server_effects server_machine::start() {
  if (is_over()) return {evaluate{}};
  return {proceed{}};
}

// ---- giving out ----------------------------------------------------------------------------------------------------

/// The newest model is the one to work on. Earlier ones stay while open tasks started from them.
void server_machine::show_model() {
  if (current_) unused_.push_back(current_->version);
  for (const auto version : std::exchange(unused_, {}))
    if (const auto at = broadcasts_.find(version); at != broadcasts_.end() && at->second.open == 0)
      broadcasts_.erase(at);
  current_ = std::make_shared<const broadcast>(broadcast{state_.run, state_.version, state_.model, state_.reference});
  broadcasts_[state_.version].from = current_;
}

void server_machine::open(const open_task& task) {
  open_[task.id.client] = task;
  ++broadcasts_[task.id.version].open;
}

server_effects server_machine::on_proceed() {
  if (who_ != nullptr) who_->on_round(state_.version, state_.now);
  sum_ = make_accumulator(e_.settings.aggregation, e_.parts.shared, state_.reference);
  show_model();
  report_ = {};
  round_began_ = report_.began_at = state_.now;
  folded_.clear();
  looks_ = 0;
  open_in_round_ = 0;
  dealt_out_ = false;
  closing_ = false;
  server_effects effects;
  if (is_async()) {
    goal_ = how().buffer;
    dealt_.assign(e_.settings.aggregators, {});
    deal({}, true, effects);
    if (!refill(effects)) look_again(effects, never);
  } else {
    look(effects);
  }
  return effects;
}

bool server_machine::may_be_asked(std::uint32_t client) {
  const auto& of = (*state_.ledger)[client];
  // At most one update of a client in a version. An asynchronous run may ask again a client that dropped out, a few
  // times.
  const auto asked = of.asked_version == state_.version + 1;
  if (asked && (!is_async() || of.attempt + 1 >= most_attempts)) return false;
  if (is_async() && of.reported_version == state_.version + 1) return false;
  if (open_.contains(client)) return false;
  if (how().reconnect_most > 0 && of.asked_version != 0) {
    models::random_stream stream(e_.settings.seed, models::purpose::reconnect, of.asked_version, client, of.attempt);
    const double least = how().reconnect_least;
    const double wait = least + (how().reconnect_most - least) * static_cast<double>(stream.uniform());
    if (state_.now < of.ended_at + from_seconds(wait)) {
      resting_ = true;
      return false;
    }
  }
  if (who_ == nullptr) return true;
  ++report_.probed;
  const bool there = who_->reachable(client, state_.now, state_.version);
  if (there) ++report_.available;
  return there;
}

std::vector<std::uint32_t> server_machine::choose(std::size_t count) {
  selection wanted;
  wanted.count = static_cast<std::uint32_t>(std::min(count, e_.participants->training().size()));
  wanted.round = state_.version;
  wanted.ordinal = state_.counts.selected;
  resting_ = false;
  wanted.eligible = [this](std::uint32_t client) { return may_be_asked(client); };
  return policy_->choose(wanted, *state_.ledger);
}

void server_machine::look_again(server_effects& out, virtual_time at_latest) {
  const auto retry = std::max<virtual_time>(from_seconds(how().retry), 1);
  const auto after = std::min(retry << std::min(looks_, 20U), std::max(longest_retry, retry));
  ++looks_;
  out.emplace_back(timer{timer_kind::look_again, state_.version, std::min(state_.now + after, at_latest)});
}

void server_machine::look(server_effects& out) {
  const auto goal = how().per_round;
  const auto wanted = std::min(static_cast<std::size_t>(std::ceil(goal * how().over_selection - 1e-9)),
                               e_.participants->training().size());
  const auto timeout = round_began_ + from_seconds(how().selection_timeout);
  const auto chosen = choose(wanted);
  if (chosen.size() < wanted && state_.now < timeout) return look_again(out, timeout);
  if (chosen.size() < std::max<std::size_t>(how().min_reports, 1)) {
    // With a timeout this is the end of the wait; without one, wait for the fewest that make a round. Where waiting
    // does not help, look once more: time must pass also in rounds that come to nothing.
    const auto at_latest = round_began_ + longest_wait;
    const bool hopes = resting_ || looks_ == 0 || (who_ != nullptr && who_->waiting_helps());
    const bool waits = how().selection_timeout == 0 && who_ != nullptr && hopes;
    if (waits && state_.now < at_latest) return look_again(out, at_latest);
    goal_ = 1;
    return conclude(out);
  }
  goal_ = std::min<std::size_t>(goal, chosen.size());
  const auto tasks = give_out(chosen);
  const auto aggregators = std::clamp<std::size_t>(tasks.size(), 1, e_.settings.aggregators);
  dealt_.assign(aggregators, {});
  open_in_round_ = tasks.size();
  deal(tasks, true, out);
  if (how().deadline > 0)
    out.emplace_back(timer{timer_kind::deadline, state_.version, state_.now + from_seconds(how().deadline)});
}

/// Asynchronous: gives out tasks until as many are open as shall be. False when there were not clients enough.
bool server_machine::refill(server_effects& out) {
  const std::size_t wanted = how().concurrency > open_.size() ? how().concurrency - open_.size() : 0;
  if (wanted == 0) return true;
  const auto chosen = choose(wanted);
  if (!chosen.empty()) deal(give_out(chosen), false, out);
  return chosen.size() == wanted;
}

/// Tasks for these clients, written into the books.
std::vector<task_id> server_machine::give_out(const std::vector<std::uint32_t>& clients) {
  std::vector<task_id> tasks;
  tasks.reserve(clients.size());
  const auto asked = static_cast<std::uint32_t>(state_.version + 1);
  for (const auto client : clients) {
    auto& of = state_.ledger->touch(client);
    of.attempt = of.asked_version == asked ? of.attempt + 1 : 0;
    of.asked_version = asked;
    ++of.selected;
    of.last_selection = ++state_.counts.selected;
    tasks.push_back({state_.run, state_.version, client, of.attempt});
  }
  policy_->asked(clients);
  report_.selected += tasks.size();
  report_.bytes_down += tasks.size() * e_.download_bytes;
  return tasks;
}

void server_machine::deal(const std::vector<task_id>& tasks, bool begins, server_effects& out) {
  const std::size_t aggregators = dealt_.size();
  std::vector<std::vector<task_id>> shares(aggregators);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // In an asynchronous run tasks come one by one: the ordinal spreads them.
    const auto to = (is_async() ? (*state_.ledger)[tasks[i].client].last_selection : i) % aggregators;
    shares[to].push_back(tasks[i]);
    if (!is_async()) dealt_[to].push_back(tasks[i].client);
    open({tasks[i], static_cast<std::uint32_t>(to), state_.now, false, false});
  }
  if (begins) {
    answered_.assign(aggregators, false);
    told_.assign(aggregators, {});
    pending_ = aggregators;
    dealt_out_ = true;
  }
  for (std::size_t a = 0; a < aggregators; ++a)
    if (begins || !shares[a].empty())
      out.emplace_back(assign{static_cast<std::uint32_t>(a), current_, std::move(shares[a]), begins});
}

// ---- what comes back -----------------------------------------------------------------------------------------------

server_effects server_machine::on_settled(std::uint32_t aggregator, const std::vector<settlement>& settled,
                                          virtual_time now) {
  state_.now = std::max(state_.now, now);
  for (const auto& one : settled) settle(aggregator, one);
  server_effects effects;
  if (!dealt_out_) return effects;
  if (folded_.size() >= goal_ && !closing_ && (is_async() || open_in_round_ > 0)) close_shares(true, effects);
  // When it has looked before, a timer is running.
  if (is_async() && !closing_ && !refill(effects) && looks_ == 0) look_again(effects, never);
  return effects;
}

void server_machine::settle(std::uint32_t aggregator, const settlement& one) {
  const auto at = open_.find(one.id.client);
  if (at == open_.end() || at->second.id != one.id || at->second.aggregator != aggregator) return;  // told twice
  const auto task = at->second;
  open_.erase(at);
  if (--broadcasts_.at(task.id.version).open == 0) unused_.push_back(task.id.version);
  auto& counts = state_.counts;
  auto& of = state_.ledger->touch(one.id.client);
  of.ended_at = state_.now;
  if (one.what == outcome::folded || one.what == outcome::rejected)
    of.reported_version = static_cast<std::uint32_t>(state_.version + 1);
  switch (one.what) {
    case outcome::folded:
      folded_.push_back(one.id);
      told_[aggregator].push_back({one.id.client, one.id.attempt});
      break;
    case outcome::rejected:
      ++counts.rejected[static_cast<std::size_t>(one.why)];
      report_.refused.push_back({{one.id.client, one.id.attempt}, one.why});
      break;
    case outcome::late: ++counts.late, ++report_.late; break;
    case outcome::surplus: ++counts.surplus, ++report_.surplus; break;
    case outcome::dropped:
      ++counts.dropped[static_cast<std::size_t>(one.stage)];
      ++report_.dropped[static_cast<std::size_t>(one.stage)];
      break;
    case outcome::abandoned: break;  // the server's own word
  }
  if (one.what != outcome::dropped && !(one.what == outcome::rejected && one.why == rejection::client_failed)) {
    if (one.examples > 0) of.loss = static_cast<float>(one.loss);
    ++counts.clients_trained;
    counts.examples += one.examples;
    report_.examples += one.examples;
    report_.bytes_up += one.bytes;
  }
  if (!is_async() && !task.closed) --open_in_round_;
  remember_span(task, one.what);
  write_down(one);
}

/// The first and the middle round can be drawn task by task.
void server_machine::remember_span(const open_task& task, outcome what) {
  if (state_.version != 0 && state_.version != e_.settings.rounds / 2) return;
  if (report_.spans.size() < most_spans) report_.spans.push_back({task.id.client, task.started_at, state_.now, what});
}

void server_machine::write_down(const settlement& one) {
  if (one.what == outcome::folded) return;
  run_event event{state_.now, state_.version + 1, std::string(to_string(one.what)), one.id.client, {}, {}};
  if (one.what == outcome::rejected) event.detail = to_string(one.why);
  if (one.what == outcome::dropped) event.detail = to_string(one.stage);
  events_.push_back(std::move(event));
}

void server_machine::on_kept(std::uint32_t client, std::uint64_t version, virtual_time when) {
  auto& of = state_.ledger->touch(client);
  of.trained_version = static_cast<std::uint32_t>(version + 1);
  of.trained_at = when;
}

void server_machine::close_shares(bool enough, server_effects& out) {
  closing_ = true;
  if (!is_async()) {
    for (auto& [client, task] : open_) {
      if (task.closed) continue;
      task.closed = true;
      task.surplus = enough;
    }
    open_in_round_ = 0;
  }
  for (std::size_t a = 0; a < answered_.size(); ++a)
    if (!answered_[a]) out.emplace_back(close_share{static_cast<std::uint32_t>(a), state_.version, enough});
}

server_effects server_machine::on_timer(const timer& which, virtual_time now) {
  server_effects effects;
  if (which.version != state_.version || closing_) return effects;
  state_.now = std::max(state_.now, now);
  if (which.what == timer_kind::deadline) {
    if (dealt_out_) close_shares(false, effects);
    return effects;
  }
  if (!is_async()) {
    look(effects);
    return effects;
  }
  const auto probed = report_.probed;
  if (refill(effects)) {
    looks_ = 0;
  } else if ((open_.empty() && !resting_ && (!folded_.empty() || report_.probed == probed || !who_->waiting_helps())) ||
             state_.now >= round_began_ + longest_wait) {
    // Nobody at work and nobody to ask: what is there makes a version. So does nothing, when all clients have had their
    // turn in this version, or after the longest wait.
    close_shares(true, effects);
  } else {
    look_again(effects, never);
  }
  return effects;
}

// ---- closing a round -----------------------------------------------------------------------------------------------

result<void> server_machine::check(const partial_aggregate& partial) const {
  const auto place = "partial aggregate of aggregator " + std::to_string(partial.aggregator);
  const auto bad = [&](std::string why) { return fail(error::kind::runtime, place, std::move(why)); };
  if (partial.run != state_.run) return bad("belongs to another run");
  if (partial.version != state_.version) return bad("belongs to version " + std::to_string(partial.version));
  if (partial.aggregator >= answered_.size() || !dealt_out_) return bad("was not asked for");
  if (answered_[partial.aggregator]) return bad("arrived before");
  const auto& words = partial.sums.words;
  if (words.size() < 3 || words[0] < 0 || static_cast<std::uint64_t>(words[0]) > partial.folded.size() ||
      static_cast<std::uint64_t>(words[1]) != partial.weight || words[2] != partial.loss_fixed)
    return bad("sums that do not match its members");
  auto told = told_[partial.aggregator];
  std::ranges::sort(told);
  if (told != partial.folded) return bad("does not fold exactly the updates that its aggregator told of");
  if (is_async()) return {};
  for (const auto client : dealt_[partial.aggregator])
    if (const auto at = open_.find(client); at != open_.end() && !at->second.closed)
      return bad("does not say what became of client " + std::to_string(client));
  return {};
}

result<server_effects> server_machine::on_partial(partial_aggregate partial, virtual_time now) {
  if (auto sound = check(partial); !sound) return tl::unexpected(sound.error());
  if (auto merged = sum_->merge(std::move(partial.sums)); !merged) return tl::unexpected(merged.error());
  state_.now = std::max(state_.now, now);
  answered_[partial.aggregator] = true;
  server_effects effects;
  if (--pending_ == 0) conclude(effects);
  return effects;
}

/// FedAsync: the client's model is the version it started from plus its change, so the way from the server's model to
/// it begins at the version it started from (Xie et al. 2019, algorithm 1).
void server_machine::mix_in_base(aggregate& round) const {
  auto change = round.change.values();
  const auto mixing = static_cast<float>(how().mixing);
  for (auto& value : change) value *= mixing;
  const auto base = folded_.front().version;
  if (base == state_.version) return;
  const auto weight = static_cast<float>(how().mixing * staleness_weight(how(), state_.version - base));
  const auto from = broadcasts_.at(base).from->model.values();
  const auto now = state_.model.values();
  for (std::size_t i = 0; i < change.size(); ++i) change[i] += weight * (from[i] - now[i]);
}

/// The round came to nothing: what was folded is thrown away.
void server_machine::give_up() {
  auto& counts = state_.counts;
  counts.abandoned += folded_.size();
  report_.abandoned = folded_.size();
  ++counts.rounds_abandoned;
  report_.gave_up = true;
  for (auto& span : report_.spans)
    if (span.what == outcome::folded) span.what = outcome::abandoned;
  events_.push_back(
      {state_.now,
       state_.version + 1,
       "round-abandoned",
       {},
       {},
       std::to_string(folded_.size()) + " of at least " + std::to_string(how().min_reports) + " reports"});
  folded_.clear();
}

/// Ends the round with what was merged.
void server_machine::conclude(server_effects& out) {
  const std::size_t fewest = is_async() ? 1 : std::max<std::size_t>(how().min_reports, 1);
  std::ranges::sort(report_.refused, {}, [](const refused_member& m) { return m.who; });
  if (closing_ && !is_async())  // those still at work are in the picture too
    for (const auto& [client, task] : open_)
      if (task.id.version == state_.version) remember_span(task, task.surplus ? outcome::surplus : outcome::late);
  auto round = sum_->report();
  if (folded_.size() < fewest) {
    give_up();
    round.usable = false;
    round.reference.clear();
  }
  report_.folded = folded_.size();
  state_.counts.folded += folded_.size();
  for (const auto& id : folded_) {
    ++state_.ledger->touch(id.client).folded;
    const auto staleness = state_.version - id.version;
    state_.counts.staleness_sum += staleness;
    state_.counts.staleness_max = std::max(state_.counts.staleness_max, staleness);
    if (!is_async()) continue;
    if (report_.staleness.size() <= staleness) report_.staleness.resize(staleness + 1);
    ++report_.staleness[staleness];
  }
  state_.counts.bytes_up += report_.bytes_up;
  state_.counts.bytes_down += report_.bytes_down;
  report_.ended_at = state_.now;
  report_.in_flight = open_.size();
  if (is_async() && how().async == async_kind::model && round.usable) mix_in_base(round);
  std::ranges::sort(folded_);
  if (!folded_.empty()) out.emplace_back(acknowledge{state_.version, folded_});
  close_round(e_, state_, optimizer_, round, report_);
  dealt_out_ = false;
  std::ranges::stable_sort(events_, {}, [](const run_event& event) { return std::pair(event.at, event.client); });
  for (auto& event : std::exchange(events_, {})) out.emplace_back(note{std::move(event)});
  std::ranges::sort(report_.spans, {},
                    [](const task_span& s) { return std::tuple(s.ended_at, s.started_at, s.client); });
  out.emplace_back(round_closed{report_});
  const auto every = e_.settings.evaluation.every;
  if (is_over() || (every != 0 && state_.version % every == 0)) {
    out.emplace_back(evaluate{});
    return;
  }
  for (auto& effect : after_evaluation()) out.push_back(std::move(effect));
}

server_effects server_machine::after_evaluation() {
  const auto every = e_.settings.checkpoint_every;
  if (is_over() || stopping_ || checkpoint_wanted_ || (every != 0 && state_.version % every == 0))
    return {checkpoint{}};
  return {proceed{}};
}

server_effects server_machine::on_evaluated(const evaluation_report& figures) {
  const auto& target = e_.settings.evaluation.target;
  if (!target.metric.empty() && !state_.target_reached) {
    const auto value = metric_of(figures, target.metric);
    if (value && (target.at_most ? *value <= target.value : *value >= target.value)) {
      state_.target_reached = state_.now;
      state_.target_version = state_.version;
    }
  }
  return after_evaluation();
}

server_effects server_machine::on_checkpointed() {
  checkpoint_wanted_ = false;
  if (is_over()) return {finish{false}};
  if (stopping_) return {finish{true}};
  return {proceed{}};
}

}  // namespace furlong::federated::protocol
