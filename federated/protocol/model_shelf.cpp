#include "federated/protocol/model_shelf.hpp"

#include <algorithm>
#include <utility>

#include "federated/client/secure_update.hpp"

namespace furlong::federated::protocol {

void model_shelf::restore(broadcast_ptr model) {
  const auto version = model->version;
  versions_[version].model = std::move(model);
}

void model_shelf::publish(broadcast_ptr model, std::uint64_t task_bytes, std::span<const open_task> held) {
  if (newest_) unused_.push_back(newest_->version);
  for (const auto version : std::exchange(unused_, {})) {
    const auto found = versions_.find(version);
    if (found == versions_.end() || found->second.tasks > 0) continue;
    if (std::ranges::any_of(held, [&](const open_task& task) { return task.id.version == version; }))
      unused_.push_back(version);
    else
      versions_.erase(found);
  }
  newest_ = std::move(model);
  task_bytes_ = task_bytes;
  versions_[newest_->version].model = newest_;
}

void model_shelf::release(std::uint64_t version) {
  if (--versions_.at(version).tasks == 0) unused_.push_back(version);
}

std::optional<digest> model_shelf::model_digest(std::uint64_t version) {
  const auto found = versions_.find(version);
  if (found == versions_.end() || !found->second.model) return std::nullopt;
  auto& known = found->second.model_digest;
  if (!known) known = digest_of(*found->second.model);
  return known;
}

}  // namespace furlong::federated::protocol
