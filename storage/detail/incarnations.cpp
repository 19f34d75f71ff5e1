#include "storage/detail/incarnations.hpp"

#include <algorithm>

namespace furlong::storage::detail {

incarnations::incarnations(std::vector<std::uint64_t> resumed_at, std::vector<std::uint64_t> known)
    : resumed_at_(std::move(resumed_at)), known_(std::move(known)) {
  index();
}

void incarnations::begin(const federated::run_history& history) {
  const auto& now = history.resumed_at;
  const auto [differs, unused] = std::ranges::mismatch(now, known_);
  if (differs != now.end())
    resumed_at_.insert(resumed_at_.end(), differs, now.end());
  else  // no new life in the history: resumed from the same checkpoint again, or restarted from nothing
    resumed_at_.push_back(now.empty() ? 0 : now.back());
  known_ = now;
  index();
}

void incarnations::index() {
  lowest_ = resumed_at_;
  for (std::size_t i = lowest_.size(); i > 1; --i) lowest_[i - 2] = std::min(lowest_[i - 2], lowest_[i - 1]);
}

std::optional<std::size_t> current_slot(const slot_pair& slots, const incarnations& history) {
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (!slots[i].present || !history.contains(slots[i].life, slots[i].version)) continue;
    if (!best || slots[i].sequence > slots[*best].sequence) best = i;
  }
  return best;
}

std::size_t slot_to_write(const slot_pair& slots, const incarnations& history, std::uint64_t covered) {
  const auto now = current_slot(slots, history);
  if (!now) return 0;
  return slots[*now].version < covered ? 1 - *now : *now;
}

std::size_t slot_to_stage(const slot_pair& slots, const incarnations& history, std::uint64_t covered,
                          const federated::task_id& task) {
  std::optional<std::size_t> stays;
  const auto order = [&](std::size_t i) { return std::pair(slots[i].version, slots[i].sequence); };
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (is_of(slots[i], task)) return i;
    if (!slots[i].present || slots[i].version >= covered || !history.contains(slots[i].life, slots[i].version))
      continue;
    if (!stays || order(i) > order(*stays)) stays = i;
  }
  return stays ? 1 - *stays : 0;
}

}  // namespace furlong::storage::detail
