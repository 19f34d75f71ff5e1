#include "federated/processes/masked_reports.hpp"

namespace furlong::federated::processes {

masking masked_reports::mask(const broadcast_ptr& from, client_update& update) {
  if (!secrets_.can_mask(update.id)) {
    masking waiting{masking::kind::waits};
    // An asynchronous sum is over clients that wait for it with their updates.
    if (secrets_.enters_trained()) waiting.letter = secrets_.enter(update.id, from);
    return waiting;
  }
  if (const auto refused = secrets_.mask(from, update))
    return {masking::kind::never, {}, "its update cannot be sent: " + std::string(to_string(*refused))};
  return {masking::kind::masked};
}

void masked_reports::add(client_update&& update, broadcast_ptr from) {
  const auto id = update.id;
  plain_.insert_or_assign(id, plain_update{std::move(update), std::move(from)});
}

std::pair<masking, client_update> masked_reports::report(const task_id& task) {
  const auto found = plain_.find(task);
  if (found == plain_.end()) return {{masking::kind::never, {}, "its update is of an earlier life of the run"}, {}};
  auto& [update, from] = found->second;
  auto made = mask(from, update);
  if (made.what == masking::kind::waits) return {std::move(made), {}};
  return {std::move(made), std::move(plain_.extract(found).mapped().update)};
}

void masked_reports::forget(const task_id& task) {
  plain_.erase(task);
  secrets_.forget(task);
}

}  // namespace furlong::federated::processes
