#include "storage/memory_store.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/detail/incarnations.hpp"

namespace furlong::storage {

namespace {

struct entry {
  detail::slot_pair tags;
  std::array<std::vector<float>, 2> values;
  detail::slot_pair pending;
  std::array<federated::task_id, 2> pending_tasks;
  std::array<std::vector<float>, 2> pending_values;
};

// The lock guards the map, not the entries: calls for one client are sequential, and entries do not move.
struct stripe {
  std::mutex lock;
  std::unordered_map<std::uint32_t, entry> entries;
};

}  // namespace

struct memory_store::content {
  models::layout_ptr layout;
  detail::incarnations history;
  std::atomic<std::uint64_t> covered = 0;
  std::array<stripe, 64> stripes;

  stripe& stripe_of(std::uint32_t client) { return stripes[client % stripes.size()]; }
  /// All entries, ascending by client.
  std::vector<std::pair<std::uint32_t, const entry*>> entries() {
    std::vector<std::pair<std::uint32_t, const entry*>> found;
    for (auto& part : stripes) {
      const std::lock_guard hold(part.lock);
      for (const auto& [client, entry] : part.entries) found.emplace_back(client, &entry);
    }
    std::ranges::sort(found);
    return found;
  }
  entry& entry_of(std::uint32_t client) {
    auto& part = stripe_of(client);
    const std::lock_guard hold(part.lock);
    return part.entries[client];
  }
};

memory_store::memory_store(models::layout_ptr private_layout, const federated::run_history& history)
    : content_(std::make_unique<content>()) {
  content_->layout = std::move(private_layout);
  if (!history.resumed_at.empty()) resume(history);
}

memory_store::~memory_store() = default;

result<bool> memory_store::load(std::uint32_t client, models::private_parameters& out) {
  auto& part = content_->stripe_of(client);
  const entry* found = nullptr;
  {
    const std::lock_guard hold(part.lock);
    const auto position = part.entries.find(client);
    if (position == part.entries.end()) return false;
    found = &position->second;
  }
  const auto slot = detail::current_slot(found->tags, content_->history);
  if (!slot) return false;
  std::ranges::copy(found->values[*slot], out.values().begin());
  return true;
}

result<void> memory_store::commit(std::uint32_t client, std::uint64_t version,
                                  const models::private_parameters& value) {
  if (value.values().size() != content_->layout->size())
    return fail(error::kind::runtime, "client " + std::to_string(client), "the value is not of the private layout");
  auto& found = content_->entry_of(client);
  const auto slot = detail::slot_to_write(found.tags, content_->history, content_->covered);
  found.values[slot].assign(value.values().begin(), value.values().end());
  found.tags[slot] = {true, content_->history.life(), version, detail::next_sequence(found.tags)};
  return {};
}

void memory_store::covered(std::uint64_t version) { content_->covered = version; }

result<void> memory_store::visit(
    const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) {
  models::private_parameters value(content_->layout);
  for (const auto& [client, found] : content_->entries()) {
    const auto slot = detail::current_slot(found->tags, content_->history);
    if (!slot) continue;
    std::ranges::copy(found->values[*slot], value.values().begin());
    each(client, found->tags[*slot].version, value);
  }
  return {};
}

result<void> memory_store::stage(const federated::task_id& task, const models::private_parameters& value) {
  if (value.values().size() != content_->layout->size())
    return fail(error::kind::runtime, "client " + std::to_string(task.client),
                "the value is not of the private layout");
  auto& found = content_->entry_of(task.client);
  const auto i = detail::slot_to_stage(found.pending, content_->history, content_->covered, task);
  found.pending[i] = {true, content_->history.life(), task.version, task.attempt};
  found.pending_tasks[i] = task;
  found.pending_values[i].assign(value.values().begin(), value.values().end());
  return {};
}

result<void> memory_store::discard(const federated::task_id& task) {
  for (auto& tag : content_->entry_of(task.client).pending)
    if (detail::is_of(tag, task)) tag = {};
  return {};
}

result<void> memory_store::visit_pending(
    const std::function<void(const federated::task_id&, const models::private_parameters&)>& each) {
  models::private_parameters value(content_->layout);
  for (const auto& [client, found] : content_->entries()) {
    for (std::size_t i = 0; i < found->pending.size(); ++i) {
      const auto& tag = found->pending[i];
      if (!tag.present || !content_->history.contains(tag.life, tag.version)) continue;
      std::ranges::copy(found->pending_values[i], value.values().begin());
      each(found->pending_tasks[i], value);
    }
  }
  return {};
}

result<bool> memory_store::erase(std::uint32_t client) {
  auto& part = content_->stripe_of(client);
  const std::lock_guard hold(part.lock);
  return part.entries.erase(client) > 0;
}

void memory_store::resume(const federated::run_history& history) {
  content_->history.begin(history);
  content_->covered = content_->history.resumed_at();
}

}  // namespace furlong::storage
