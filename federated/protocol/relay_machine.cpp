#include "federated/protocol/relay_machine.hpp"

#include <algorithm>
#include <iterator>
#include <set>

#include "federated/protocol/partial_check.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::uint32_t own_gateway = 0;

/// Filled in place: GCC 12 warns of members that a variant does not have when it sees the whole of one moved.
template <class Content>
void tell(std::uint32_t child, Content&& what, relay_effects& out) {
  auto& made = std::get<tell_child>(out.emplace_back(std::in_place_type<tell_child>));
  made.child = child;
  made.content = std::forward<Content>(what);
}

}  // namespace

relay_machine::relay_machine(const experiment& e, std::uint32_t number, std::size_t clients)
    : e_(e), number_(number), routes_(clients, {}) {
  children_[routes_.add_aggregator("")] = {};
}

bool relay_machine::is_async() const { return e_.settings.participation->mode == participation_mode::async; }

std::uint32_t relay_machine::add_child(const branch_hello& hello) {
  const auto child = routes_.add_aggregator(hello.gateway, hello.operators);
  children_[child] = {};
  return child;
}

aggregator_place relay_machine::place_aggregator(const branch_hello& hello) {
  return routes_.place_aggregator(e_.settings.topology->fan_in, hello.operators);
}

bool relay_machine::at_work(std::uint32_t child) const {
  const auto at = children_.find(child);
  return at != children_.end() && at->second.begun && !at->second.answered;
}

relay_machine::open_here* relay_machine::find(const task_id& id, std::uint32_t child) {
  const auto at = open_.find(id.client);
  return at != open_.end() && at->second.id == id && at->second.child == child ? &at->second : nullptr;
}

result<void> relay_machine::on_told(std::uint32_t child, upward&& what, relay_effects& out) {
  if (!children_.contains(child)) return {};  // it was lost meanwhile
  return std::visit([&](auto& one) { return handle(child, one, out); }, what);
}

void relay_machine::on_order(const downward& what, relay_effects& out) {
  std::visit([&](const auto& one) { handle_order(one, out); }, what);
}

// ---- where clients are ---------------------------------------------------------------------------------------------

result<void> relay_machine::handle(std::uint32_t child, attached& what, relay_effects& out) {
  if (!routes_.attach(child, what.clients))
    return fail(error::kind::runtime, "aggregator " + std::to_string(child),
                "reaches clients that there are not: " + std::to_string(what.clients.first) + " to " +
                    std::to_string(what.clients.last));
  std::vector<task_id> elsewhere;
  for (auto at = open_.lower_bound(what.clients.first); at != open_.end() && at->first <= what.clients.last; ++at)
    if (at->second.child != child) elsewhere.push_back(at->second.id);
  // The parent reassigns returned tasks at once: it must know the route by then.
  out.emplace_back(tell_parent{std::move(what)});
  withdraw(elsewhere, out);
  return {};
}

result<void> relay_machine::handle(std::uint32_t child, detached& what, relay_effects& out) {
  routes_.detach(child, what.clients);
  tell_detached(what, out);
  return {};
}

/// A node that moved between children is reported by both, in any order: for the parent it is still here.
void relay_machine::tell_detached(const detached& what, relay_effects& out) {
  if (!routes_.is_claimed(what.clients)) out.emplace_back(tell_parent{what});
}

void relay_machine::withdraw(const std::vector<task_id>& tasks, relay_effects& out) {
  std::map<std::uint32_t, withdrawal> by_child;
  for (const auto& id : tasks)
    if (moving_.insert(id).second) by_child[open_.at(id.client).child].tasks.push_back(id);
  for (auto& [child, some] : by_child) tell(child, std::move(some), out);
}

void relay_machine::handle_order(const withdrawal& what, relay_effects& out) {
  std::vector<task_id> here;
  for (const auto& id : what.tasks)
    if (const auto at = open_.find(id.client); at != open_.end() && at->second.id == id) here.push_back(id);
  withdraw(here, out);
}

result<void> relay_machine::handle(std::uint32_t child, withdrawn& what, relay_effects& out) {
  withdrawn back;
  for (const auto& id : what.tasks) {
    if (find(id, child) == nullptr) continue;
    open_.erase(id.client);
    moving_.erase(id);
    back.tasks.push_back(id);
  }
  if (!back.tasks.empty()) out.emplace_back(tell_parent{std::move(back)});
  return {};
}

// ---- shares --------------------------------------------------------------------------------------------------------

void relay_machine::begin(const broadcast_ptr& from, relay_effects& out) {
  // Without constants of the rule an accumulator depends on the settings only, so the emptied one is reused.
  if (!sum_ || !from->reference.empty()) sum_ = make_accumulator(e_, from->reference);
  if (sum_->count() > 0) static_cast<void>(sum_->take());
  from_ = from;
  partial_ = {};
  partial_.run = from->run;
  partial_.version = from->version;
  partial_.aggregator = number_;
  sent_ = closing_ = false;
  pending_ = 0;
  for (auto& [child, share] : children_) share = {};
  if (!is_async()) return;
  for (const auto& [child, share] : children_)
    if (begin_share(child)) tell(child, assign{child, from_, {}, true}, out);
}

/// True if the child's part of the share begins now.
bool relay_machine::begin_share(std::uint32_t child) {
  auto& share = children_.at(child);
  if (std::exchange(share.begun, true)) return false;
  ++pending_;
  return true;
}

void relay_machine::handle_order(const assign& what, relay_effects& out) {
  if (what.begins || sent_) begin(what.from, out);
  std::map<std::uint32_t, std::vector<task_id>> shares;
  for (const auto& id : what.tasks) {
    const auto child = routes_.route(id.client).value_or(own_gateway);
    open_[id.client] = {id, child};
    shares[child].push_back(id);
  }
  for (auto& [child, tasks] : shares) {
    bool begins = begin_share(child);
    if (begins && what.from->version != from_->version) {
      tell(child, assign{child, from_, {}, true}, out);
      begins = false;
    }
    tell(child, assign{child, what.from, std::move(tasks), begins}, out);
  }
}

result<void> relay_machine::handle(std::uint32_t child, settled& what, relay_effects& out) {
  const bool folds = std::ranges::any_of(what.each, [](const settlement& one) { return one.what == outcome::folded; });
  if (folds && !at_work(child))
    return fail(error::kind::runtime, "aggregator " + std::to_string(child), "folded updates outside of its share");
  settled known;
  std::map<std::uint32_t, verdicts> elsewhere;
  for (const auto& one : what.each) {
    if (find(one.id, child) == nullptr) continue;  // reported twice
    open_.erase(one.id.client);
    moving_.erase(one.id);
    if (one.what == outcome::folded) children_.at(child).reported.push_back(one.id);
    known.each.push_back(one);
    // A gateway tells its nodes of reports that came too late. One that went to another child must hear of it too.
    const auto there = routes_.route(one.id.client);
    if (there && *there != child && (one.what == outcome::late || one.what == outcome::surplus))
      elsewhere[*there].each.push_back({one.id, verdict_kind::unwanted, {}});
  }
  for (auto& [to, some] : elsewhere) tell(to, std::move(some), out);
  if (!known.each.empty()) out.emplace_back(tell_parent{std::move(known)});
  return {};
}

void relay_machine::handle_order(const close_request& what, relay_effects& out) {
  if (sent_ || closing_ || from_->version != what.version) return;
  closing_ = true;
  for (const auto& [child, share] : children_)
    if (at_work(child)) tell(child, what, out);
  send_up_when_all_answered(out);
}

result<void> relay_machine::handle(std::uint32_t child, partial_aggregate& partial, relay_effects& out) {
  if (!closing_ || sent_ || !at_work(child)) return unsound_partial(partial, "was not asked for");
  if (partial.aggregator != child) return unsound_partial(partial, "came from aggregator " + std::to_string(child));
  if (partial.run != from_->run) return unsound_partial(partial, "belongs to another run");
  if (partial.version != from_->version)
    return unsound_partial(partial, "belongs to version " + std::to_string(partial.version));
  auto& share = children_.at(child);
  std::vector<member> reported;
  for (const auto& id : share.reported) reported.push_back({id.client, id.attempt});
  if (auto sound = check_members(partial, std::move(reported), sum_->is_blind()); !sound) return sound;
  if (auto merged = sum_->merge(std::move(partial.sums)); !merged) return merged;
  partial_.examples += partial.examples;
  partial_.folded.insert(partial_.folded.end(), partial.folded.begin(), partial.folded.end());
  partial_.refused.insert(partial_.refused.end(), partial.refused.begin(), partial.refused.end());
  share = {true, true, {}};
  --pending_;
  send_up_when_all_answered(out);
  return {};
}

void relay_machine::send_up_when_all_answered(relay_effects& out) {
  if (!closing_ || sent_ || pending_ > 0) return;
  sent_ = true;
  std::ranges::sort(partial_.folded);
  std::ranges::sort(partial_.refused, {}, &refused_member::who);
  if (!sum_->is_blind()) {
    partial_.weight = sum_->weight();
    partial_.loss_fixed = sum_->loss_fixed();
  }
  partial_.sums = sum_->take();
  out.emplace_back(tell_parent{std::move(partial_)});
}

// ---- losses --------------------------------------------------------------------------------------------------------

/// Handles the loss of a child's tasks. Withdrawals in progress count as done.
void relay_machine::lose(std::uint32_t child, const std::vector<task_id>& folded, const std::vector<task_id>& open,
                         relay_effects& out) {
  tasks_lost lost{folded, {}};
  withdrawn back;
  for (const auto& id : open)
    if (find(id, child) != nullptr) (moving_.contains(id) ? back.tasks : lost.open).push_back(id);
  for (const auto& id : lost.open) open_.erase(id.client);
  if (!lost.folded.empty() || !lost.open.empty()) out.emplace_back(tell_parent{std::move(lost)});
  static_cast<void>(handle(child, back, out));  // never fails
}

result<void> relay_machine::handle(std::uint32_t child, tasks_lost& what, relay_effects& out) {
  std::vector<task_id> folded;
  if (at_work(child)) {
    const std::set<task_id> gone(what.folded.begin(), what.folded.end());
    auto& reported = children_.at(child).reported;
    std::ranges::copy_if(reported, std::back_inserter(folded), [&](const task_id& id) { return gone.contains(id); });
    std::erase_if(reported, [&](const task_id& id) { return gone.contains(id); });
  }
  lose(child, folded, what.open, out);
  return {};
}

void relay_machine::on_child_lost(std::uint32_t child, relay_effects& out) {
  const auto at = children_.find(child);
  if (at == children_.end()) return;
  const auto claims = routes_.claims(child);
  routes_.remove_aggregator(child);
  std::vector<task_id> open;
  for (const auto& [client, one] : open_)
    if (one.child == child) open.push_back(one.id);
  const bool was_at_work = at_work(child);
  for (const auto& clients : claims) tell_detached({clients, true}, out);  // before the parent places tasks again
  lose(child, was_at_work ? at->second.reported : std::vector<task_id>{}, open, out);
  auto none = scoring_.lose(child);
  if (!none.each.empty()) out.emplace_back(tell_parent{std::move(none)});
  children_.erase(at);
  if (was_at_work) --pending_;
  send_up_when_all_answered(out);
}

// ---- verdicts and evaluation ---------------------------------------------------------------------------------------

void relay_machine::handle_order(const verdicts& what, relay_effects& out) {
  std::map<std::uint32_t, verdicts> by_child;
  for (const auto& one : what.each)
    if (const auto child = routes_.route(one.task.client)) by_child[*child].each.push_back(one);
  for (auto& [child, some] : by_child) some.version = what.version;
  for (auto& [child, some] : by_child) tell(child, std::move(some), out);
}

void relay_machine::handle_order(const letters& what, relay_effects& out) {
  std::map<std::uint32_t, letters> by_child;
  for (const auto& letter : what.each)
    if (const auto child = routes_.route(letter.task.client)) by_child[*child].each.push_back(letter);
  for (auto& [child, some] : by_child) tell(child, std::move(some), out);
}

result<void> relay_machine::handle(std::uint32_t /*child*/, letters& what, relay_effects& out) {
  out.emplace_back(tell_parent{std::move(what)});
  return {};
}

void relay_machine::send_to_all(const downward& what, relay_effects& out) {
  for (const auto& [child, share] : children_) tell(child, what, out);
}

void relay_machine::handle_order(const checkpointed& what, relay_effects& out) { send_to_all(what, out); }

void relay_machine::handle_order(const evaluation_down& what, relay_effects& out) {
  std::map<std::uint32_t, evaluation_down> by_child;
  evaluation_scores none{what.from->version, {}, true};
  for (const auto& one : what.clients) {
    const auto child = routes_.route(one.second);
    if (!child) {
      none.each.push_back({one.first, one.second, {}});
      continue;
    }
    scoring_.expect(what.from->version, one, *child);
    auto& share = by_child[*child];
    share.from = what.from;
    share.clients.push_back(one);
  }
  for (auto& [child, share] : by_child) tell(child, std::move(share), out);
  if (!none.each.empty()) out.emplace_back(tell_parent{std::move(none)});
}

result<void> relay_machine::handle(std::uint32_t child, evaluation_scores& what, relay_effects& out) {
  scoring_.take(child, what);
  if (!what.each.empty()) out.emplace_back(tell_parent{std::move(what)});
  return {};
}

/// The gateway that has the node knows it.
void relay_machine::handle_order(const displaced& what, relay_effects& out) { send_to_all(what, out); }

void relay_machine::handle_order(const close_notice& what, relay_effects& out) { send_to_all(what, out); }

}  // namespace furlong::federated::protocol
