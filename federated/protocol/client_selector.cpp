#include "federated/protocol/client_selector.hpp"

#include <algorithm>
#include <utility>

#include "federated/participation/checked_policy.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::uint32_t most_attempts = 4;  // of a client in one version

}  // namespace

client_selector::client_selector(const experiment& e, const server_state& state, const task_book& tasks,
                                 roster* clients, bool awaits_expected)
    : e_(e),
      state_(state),
      tasks_(tasks),
      roster_(clients),
      awaits_expected_(awaits_expected),
      policy_(std::make_unique<checked_policy>(e, *state.ledger)) {
  if (const auto training = e.participants->training(); !training.empty())
    for (auto* bits : {&probed_, &reached_}) bits->resize(std::size_t{training.back()} + 1);
}

client_selector::~client_selector() = default;

void client_selector::begin_round() {
  if (std::exchange(looks_, 0) > 0)
    for (auto* bits : {&probed_, &reached_}) bits->clear();
  probed_count_ = available_count_ = 0;
}

void client_selector::on_selected(const std::vector<std::uint32_t>& clients) { policy_->asked(clients); }

void client_selector::on_task(std::uint32_t client) {
  if (index_) index_->update(client);
}

bool client_selector::is_async() const { return participation().mode == participation_mode::async; }

/// The first version in which a client can be selected: at most one update per client and version. An asynchronous run
/// may select a client that dropped out again, a few times.
std::uint64_t client_selector::first_version(const client_record& record) const {
  if (record.asked_version == 0) return 0;
  std::uint64_t first = 0;
  if (!is_async() || record.attempt + 1 >= most_attempts) first = record.asked_version;
  if (is_async()) first = std::max<std::uint64_t>(first, record.reported_version);
  if (!record.rested(state_.version, participation().min_separation))
    first = std::max(first, std::uint64_t{record.asked_version} + participation().min_separation - 1);
  return first;
}

/// When pace steering lets a client be selected again.
virtual_time client_selector::paced_until(std::uint32_t client) const {
  const auto& record = (*state_.ledger)[client];
  if (participation().reconnect_most <= 0 || record.asked_version == 0) return 0;
  random_stream stream(e_.settings.seed, purpose::reconnect, record.asked_version, client, record.attempt);
  const double least = participation().reconnect_least;
  const double wait = least + (participation().reconnect_most - least) * static_cast<double>(stream.uniform());
  return record.ended_at + from_seconds(wait);
}

bool client_selector::is_eligible(std::uint32_t client) {
  if (tasks_.contains(client) || first_version((*state_.ledger)[client]) > state_.version) return false;
  if (state_.now < paced_until(client)) {
    paced_ = true;
    return false;
  }
  if (roster_ == nullptr) return true;
  const bool there = roster_->reachable(client, state_.now, state_.version) ||
                     (awaits_expected_ && roster_->expected_until(client) > state_.now);
  note_look(client, there);
  return there;
}

/// The same for the index, without a trace.
client_standing client_selector::standing_of(std::uint32_t client) const {
  using kind = client_standing::kind;
  if (tasks_.contains(client)) return {kind::busy};
  if (participation().policy.traits.needs_examples && e_.participants->count(client, part::train) == 0) return {};
  if (const auto first = first_version((*state_.ledger)[client]); first > state_.version)
    return {kind::later_version, first};
  if (const auto until = paced_until(client); state_.now < until) return {kind::paced, 0, until};
  const bool there = roster_->reachable(client, state_.now, state_.version);
  return {there ? kind::eligible : kind::away, 0, roster_->reachable_until(client, state_.now, state_.version)};
}

/// Counts a client once per round, however often it is checked.
void client_selector::note_look(std::uint32_t client, bool reached) {
  ++looks_;
  if (probed_.insert(client)) ++probed_count_;
  if (reached && reached_.insert(client)) ++available_count_;
}

/// Fails if the policy does.
result<std::vector<std::uint32_t>> client_selector::choose(std::size_t count) {
  selection wanted;
  wanted.count = static_cast<std::uint32_t>(std::min(count, e_.participants->training().size()));
  wanted.round = state_.version;
  wanted.ordinal = state_.counts.selected;
  paced_ = false;
  std::vector<std::uint32_t> chosen;
  if (choose_all(wanted.count, chosen)) return chosen;
  wanted.eligible = [this](std::uint32_t client) { return is_eligible(client); };
  auto by_policy = policy_->choose(wanted, *state_.ledger);
  if (by_policy) index_clients(*by_policy, wanted.count);
  return by_policy;
}

/// Of fewer eligible clients than are wanted every policy selects all, and looks at all others. The index tells it
/// without looking. False if it does not apply.
bool client_selector::choose_all(std::size_t count, std::vector<std::uint32_t>& chosen) {
  if (!index_) return false;
  const auto foresight = roster_->foresight();
  const bool next = std::exchange(indexed_version_, state_.version) != state_.version;
  if (next) index_->begin_round();
  // Availability that does not change in a round is drawn again for the next.
  if (foresight != foresight_ || (next && !roster_->waiting_helps())) index_->rebuild();
  foresight_ = foresight.value_or(0);
  index_->advance(state_.now, state_.version);
  if (index_->eligible().size() >= count) return false;
  paced_ = index_->has_paced();
  looks_ += index_->candidates();
  probed_count_ += index_->add_candidates(probed_);
  chosen.assign(index_->eligible().begin(), index_->eligible().end());
  for (const auto client : chosen)
    if (reached_.insert(client)) ++available_count_;
  std::ranges::sort(chosen);
  return true;
}

/// Makes the index when it is needed first.
void client_selector::index_clients(const std::vector<std::uint32_t>& chosen, std::size_t count) {
  if (index_ || !is_async() || chosen.size() >= count || roster_ == nullptr) return;
  const auto foresight = roster_->foresight();
  if (!foresight) return;
  foresight_ = *foresight;
  indexed_version_ = state_.version;
  index_ = std::make_unique<eligible_clients>(e_.participants->training(),
                                              [this](std::uint32_t client) { return standing_of(client); });
}

}  // namespace furlong::federated::protocol
