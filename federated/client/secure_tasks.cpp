#include "federated/client/secure_tasks.hpp"

#include "federated/settings/participation.hpp"

namespace furlong::federated {

using privacy::secure_step;

secure_tasks::secure_tasks(const experiment& e, privacy::key_identity_ptr identity, std::shared_ptr<opened_sums> opened)
    : e_(e), identity_(std::move(identity)), opened_(std::move(opened)) {}

bool secure_tasks::enters_trained() const { return e_.settings.participation->mode == participation_mode::async; }

void secure_tasks::end_exchange() {
  if (!enters_trained()) return clear();
  std::erase_if(clients_, [](const auto& one) { return one.second.has_masked(); });
}

const privacy::secure_letter& secure_tasks::enter(const task_id& task) {
  auto at = clients_.find(task);
  if (at == clients_.end()) {
    // Rounds before this one are over.
    if (!enters_trained()) std::erase_if(clients_, [&](const auto& one) { return one.first.version < task.version; });
    at = clients_.emplace(task, make_secure_client(e_, task, identity_)).first;
  }
  return at->second.last();
}

secure_tasks::answer secure_tasks::on_letter(const privacy::secure_letter& letter) {
  const auto at = clients_.find(letter.task);
  if (at == clients_.end()) return {};
  if (letter.step == secure_step::unmask) {
    const auto survivors = privacy::survivors_of(letter);
    constexpr std::size_t most_versions = 4096;
    auto& opened = opened_->survivors;
    if (const auto [seen, is_new] = opened.try_emplace(at->second.version(), survivors);
        !is_new && seen->second != survivors)
      return {privacy::no_shares(letter.task), false, false};
    if (opened.size() > most_versions) opened.erase(opened.begin());
  }
  auto answered = at->second.on_letter(letter);
  if (!answered) {
    if (letter.step == secure_step::unmask) return {.letter = privacy::no_shares(letter.task)};  // it is waited for
    return {.over = true};
  }
  return {std::move(*answered), letter.step == secure_step::peers, false};
}

bool secure_tasks::can_mask(const task_id& task) const {
  const auto at = clients_.find(task);
  return at != clients_.end() && at->second.can_mask();
}

std::optional<rejection> secure_tasks::mask(const broadcast& from, client_update& update) {
  const auto at = clients_.find(update.id);
  if (at == clients_.end() || !at->second.can_mask()) return rejection::client_failed;
  return mask_update(e_, from, at->second, update);
}

void secure_tasks::forget_client(std::uint32_t client) {
  std::erase_if(clients_, [client](const auto& one) { return one.first.client == client; });
}

}  // namespace furlong::federated
