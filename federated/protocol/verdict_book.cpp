#include "federated/protocol/verdict_book.hpp"

namespace furlong::federated::protocol {

namespace {

/// Earlier tasks of a client that are kept: a hello may list any number.
constexpr std::ptrdiff_t most_superseded = 64;

}  // namespace

void verdict_book::add_to_model(const std::vector<task_id>& tasks, std::uint64_t version) {
  for (const auto& task : tasks) unsaved_.emplace(task, version);
}

verdict_book::saved_updates verdict_book::take_saved() {
  saved_updates saved;
  for (const auto& [task, version] : std::exchange(unsaved_, {})) saved.durable.push_back(task);
  for (const auto& [client, tasks] : std::exchange(superseded_, {}))
    saved.obsolete.insert(saved.obsolete.end(), tasks.begin(), tasks.end());
  return saved;
}

/// True if an update of the same client is unsaved that started from the version before `newest`, later than the task.
bool verdict_book::is_before_unsaved(const task_id& task, std::uint64_t run, std::uint64_t newest) const {
  if (newest < 2 || task.version >= newest - 1) return false;
  const auto later = unsaved_.lower_bound({run, newest - 1, task.client, 0});
  return later != unsaved_.end() && later->first.version + 1 == newest && later->first.client == task.client;
}

verdict_book::held_updates verdict_book::judge(const std::vector<task_id>& listed, std::uint64_t run,
                                               const participation_ledger& ledger) {
  held_updates held;
  std::map<std::uint32_t, std::vector<task_id>> superseded;
  for (const auto& task : listed) {
    if (const auto found = unsaved_.find(task); found != unsaved_.end()) {
      held.unsaved[found->second].push_back(task);
      continue;
    }
    const bool known = task.run == run && task.client < ledger.size();
    const std::uint64_t newest = known ? ledger[task.client].folded_version : 0;
    // That earlier updates of a client are in the same checkpoint as its last one is not recorded.
    if (is_before_unsaved(task, run, newest))
      superseded[task.client].push_back(task);
    else
      (newest > 0 && task.version == newest - 1 ? held.durable : unused_).push_back(task);
  }
  for (auto& [client, tasks] : superseded) {
    if (std::ssize(tasks) > most_superseded) tasks.erase(tasks.begin(), tasks.end() - most_superseded);
    superseded_[client] = std::move(tasks);
  }
  return held;
}

}  // namespace furlong::federated::protocol
