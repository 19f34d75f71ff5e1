#include "federated/protocol/gateway_machine.hpp"

#include <algorithm>
#include <set>

#include "federated/experiment/validation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::federated::protocol {

gateway_machine::gateway_machine(const experiment& e, std::uint32_t number)
    : e_(e), longest_(from_seconds(e.settings.network->task_timeout)), inner_(e, number, closing::when_told) {
  inner_.set_known_examples([this](std::uint32_t client) -> std::optional<std::uint64_t> {
    const auto session = session_of(client);
    const auto sizes = session ? sessions_.at(*session).size_of(client) : std::nullopt;
    return sizes ? std::optional<std::uint64_t>(sizes->train) : std::nullopt;
  });
}

std::optional<session_number> gateway_machine::session_of(std::uint32_t client) const {
  auto at = by_first_.upper_bound(client);
  if (at == by_first_.begin()) return std::nullopt;
  --at;
  if (!sessions_.at(at->second).contains(client)) return std::nullopt;
  return at->second;
}

bool gateway_machine::hosts(session_number session, std::uint32_t client) const {
  const auto at = sessions_.find(session);
  return at != sessions_.end() && at->second.contains(client);
}

void gateway_machine::on_hello(session_number session, const hello& from, virtual_time now, gateway_effects& out,
                               std::vector<client_sizes> sizes) {
  // The node's earlier session may not have noticed its end yet.
  std::vector<session_number> over;
  for (const auto& [number, node] : sessions_)
    if (node.clients.overlaps(from.clients)) over.push_back(number);
  for (const auto number : over) {
    on_session_lost(number, now, out);
    out.emplace_back(end_session{number, "another session of these clients began"});
  }
  by_first_[from.clients.first] = session;
  const auto& here = sessions_[session] = {from.clients, std::move(sizes)};
  out.emplace_back(
      tell_parent{attached{from.clients, from.holding, {}, from.instance, from.kernel_level, from.claim, here.sizes}});
}

void gateway_machine::on_session_lost(session_number session, virtual_time now, gateway_effects& out,
                                      std::string failure) {
  const auto at = sessions_.find(session);
  if (at == sessions_.end()) return;
  const auto clients = at->second.clients;
  by_first_.erase(clients.first);
  sessions_.erase(at);
  std::vector<task_id> here;
  for (const auto& [client, work] : open_)
    if (clients.contains(client)) here.push_back(work.id);
  std::ranges::sort(here, {}, &task_id::client);
  out.emplace_back(tell_parent{detached{clients, false, std::move(failure)}});
  if (auto none = scoring_.lose(session); !none.each.empty()) out.emplace_back(tell_parent{std::move(none)});
  if (!here.empty()) inner_.on_withdraw(here, effects_);
  perform_inner(now, out);
}

void gateway_machine::on_update(session_number session, const client_update& update, virtual_time now,
                                gateway_effects& out, std::optional<std::uint64_t> bytes) {
  if (!sessions_.contains(session)) return;
  if (!hosts(session, update.id.client)) {
    ++unasked_[static_cast<std::size_t>(rejection::unknown_task)];
    out.emplace_back(tell_node{session, verdicts{{{update.id, verdict_kind::rejected, rejection::unknown_task}}}});
    return;
  }
  const auto refused = inner_.on_update(update, effects_, bytes);
  // Without a task that ended by it, the update was not requested or was already aggregated: the server will decide.
  if (refused && effects_.empty()) ++unasked_[static_cast<std::size_t>(*refused)];
  perform_inner(now, out);
}

void gateway_machine::on_failures(session_number session, const task_failures& failed, virtual_time now,
                                  gateway_effects& out) {
  for (const auto& id : failed.tasks)
    if (hosts(session, id.client)) inner_.on_failure(id, effects_);
  perform_inner(now, out);
}

void gateway_machine::on_dropped(session_number session, const task_id& task, drop_stage stage, virtual_time now,
                                 gateway_effects& out) {
  if (hosts(session, task.client)) inner_.on_drop(task, stage, effects_);
  perform_inner(now, out);
}

void gateway_machine::on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins,
                                    virtual_time now, gateway_effects& out) {
  inner_.on_assignment(from, tasks, begins, effects_);
  perform_inner(now, out, from, tasks);
}

void gateway_machine::on_close(std::uint64_t version, bool enough, virtual_time now, gateway_effects& out) {
  inner_.on_close(version, enough, effects_);
  perform_inner(now, out);
}

void gateway_machine::on_withdraw(const std::vector<task_id>& tasks, virtual_time now, gateway_effects& out) {
  inner_.on_withdraw(tasks, effects_);
  perform_inner(now, out);
}

void gateway_machine::on_verdicts(const verdicts& content, gateway_effects& out) {
  std::map<session_number, verdicts> outgoing;
  for (const auto& one : content.each)
    if (const auto session = session_of(one.task.client)) outgoing[*session].each.push_back(one);
  for (auto& [session, some] : outgoing) some.version = content.version;
  for (auto& [session, some] : outgoing) out.emplace_back(tell_node{session, std::move(some)});
}

void gateway_machine::on_letters(session_number session, letters what, gateway_effects& out) {
  std::erase_if(what.each, [&](const auto& letter) { return !hosts(session, letter.task.client); });
  if (!what.each.empty()) out.emplace_back(tell_parent{std::move(what)});
}

void gateway_machine::on_letters(const letters& what, gateway_effects& out) {
  std::map<session_number, letters> outgoing;
  for (const auto& letter : what.each)
    if (const auto session = session_of(letter.task.client)) outgoing[*session].each.push_back(letter);
  for (auto& [session, some] : outgoing) out.emplace_back(tell_node{session, std::move(some)});
}

void gateway_machine::on_evaluation(const evaluation_down& what, gateway_effects& out) {
  const auto version = what.from->version;
  evaluation_scores none{version, {}, true};
  std::map<session_number, evaluation_down> requests;
  for (const auto& one : what.clients) {
    const auto session = session_of(one.second);
    if (!session) {
      none.each.push_back({one.first, one.second, {}});
      continue;
    }
    scoring_.expect(version, one, *session);
    requests.try_emplace(*session, evaluation_down{what.from, {}}).first->second.clients.push_back(one);
  }
  for (auto& [session, request] : requests) out.emplace_back(tell_node{session, std::move(request)});
  if (!none.each.empty()) out.emplace_back(tell_parent{std::move(none)});
}

result<void> gateway_machine::on_scores(session_number session, evaluation_scores what, gateway_effects& out) {
  if (what.unscored)
    return fail(error::kind::data, "the scores", "are marked unscored, which only an aggregator may do");
  for (const auto& one : what.each) {
    auto why = implausible(one.score, *e_.model);
    const auto sizes = hosts(session, one.client) ? sessions_.at(session).size_of(one.client) : std::nullopt;
    if (!why && sizes && one.score.examples > sizes->scored(one.in))
      why = std::to_string(one.score.examples) + " predictions, and the node declared " +
            std::to_string(sizes->scored(one.in));
    if (why) return fail(error::kind::data, "the score of client " + std::to_string(one.client), *why);
  }
  scoring_.take(session, what);
  if (!what.each.empty()) out.emplace_back(tell_parent{std::move(what)});
  return {};
}

void gateway_machine::on_timer(virtual_time now, gateway_effects& out) {
  const auto due = wakes_.upper_bound(now);
  if (due == wakes_.begin()) return;
  wakes_.erase(wakes_.begin(), due);
  std::map<std::uint32_t, task_id> gone;
  virtual_time next = never;
  for (const auto& [client, work] : open_) {
    if (work.latest <= now)
      gone.emplace(client, work.id);
    else
      next = std::min(next, work.latest);
  }
  for (const auto& [client, id] : gone) inner_.on_drop(id, drop_stage::train, effects_);
  perform_inner(now, out);
  sleep_until(next, out);
}

void gateway_machine::sleep_until(virtual_time at, gateway_effects& out) {
  // The next wake schedules the one after it; another is needed only before it.
  if (at == never || (!wakes_.empty() && *wakes_.begin() <= at)) return;
  wakes_.insert(at);
  out.emplace_back(wake{at});
}

void gateway_machine::finish(const settlement& one, std::map<session_number, verdicts>& outgoing) {
  if (const auto at = open_.find(one.id.client); at != open_.end() && at->second.id == one.id) open_.erase(at);
  // For other outcomes the server sends verdicts.
  if (one.what != outcome::late && one.what != outcome::surplus) return;
  if (const auto session = session_of(one.id.client))
    outgoing[*session].each.push_back({one.id, verdict_kind::unwanted, one.why});
}

void gateway_machine::perform_inner(virtual_time now, gateway_effects& out, const broadcast_ptr& from,
                                    const std::vector<task_id>& given) {
  std::map<session_number, assign> tasks;
  std::vector<task_id> unreachable;
  for (const auto& id : given) {
    const auto session = session_of(id.client);
    if (!session) {
      unreachable.push_back(id);
      continue;
    }
    open_[id.client] = {id, now + longest_};
    tasks.try_emplace(*session, assign{0, from, {}, false}).first->second.tasks.push_back(id);
  }
  if (!unreachable.empty()) inner_.on_withdraw(unreachable, effects_);
  std::map<session_number, verdicts> outgoing;
  settled ended;
  std::vector<upward> others;
  for (auto& effect : std::exchange(effects_, {})) {
    if (auto* some = std::get_if<settled>(&effect)) {
      for (const auto& one : some->each) finish(one, outgoing), ended.each.push_back(one);
    } else if (auto* back = std::get_if<withdrawn>(&effect)) {
      for (const auto& id : back->tasks) open_.erase(id.client);
      others.emplace_back(std::move(*back));
    } else {
      others.emplace_back(std::get<partial_aggregate>(std::move(effect)));
    }
  }
  for (auto& [session, message] : tasks) out.emplace_back(tell_node{session, std::move(message)});
  for (auto& [session, some] : outgoing) out.emplace_back(tell_node{session, std::move(some)});
  if (!ended.each.empty()) out.emplace_back(tell_parent{std::move(ended)});
  for (auto& one : others) out.emplace_back(tell_parent{std::move(one)});
  if (!tasks.empty()) sleep_until(now + longest_, out);
}

}  // namespace furlong::federated::protocol
