#include "federated/client/secure_tasks.hpp"

#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

using privacy::secure_step;

secure_tasks::secure_tasks(const experiment& e, privacy::key_identity_ptr identity,
                           std::shared_ptr<confirmed_lists> confirmed)
    : e_(e), identity_(std::move(identity)), confirmed_(std::move(confirmed)) {}

bool secure_tasks::enters_trained() const { return e_.settings.participation->mode == participation_mode::async; }

void secure_tasks::end_exchange() {
  if (!enters_trained()) return clear();
  std::erase_if(clients_, [](const auto& entry) { return entry.second.has_masked(); });
}

const digest& secure_tasks::model_of(const broadcast_ptr& from) {
  std::erase_if(models_, [](const auto& entry) { return entry.second.from.expired(); });
  auto& known = models_[from->version];
  if (known.from.lock() != from) known = {from, digest_of(*from)};
  return known.model;
}

const privacy::secure_letter& secure_tasks::enter(const task_id& task, const broadcast_ptr& from) {
  auto found = clients_.find(task);
  if (found == clients_.end()) {
    // Rounds before this one are over.
    if (!enters_trained())
      std::erase_if(clients_, [&](const auto& entry) { return entry.first.version < task.version; });
    found = clients_.emplace(task, make_secure_client(e_, task, model_of(from), identity_)).first;
  }
  return found->second.last();
}

/// The server's version, because the weights of staleness follow from it: two sums with other weights show one update.
/// Where clients add noise each update has other noise, and a mean of several sums little: the client's object.
digest secure_tasks::sum_of(const privacy::secure_client& client, const privacy::secure_letter& list) const {
  const auto survivors = privacy::survivors_of(list);
  sha256_stream stream;
  stream.add(client.version()).add(std::as_bytes(std::span(survivors)));
  const auto& noise = *e_.settings.privacy;
  if (noise.noise > 0 && noise.noise_at == noise_place::client) stream.add(hex(client.commitment()));
  return stream.finish();
}

secure_tasks::answer secure_tasks::on_letter(const privacy::secure_letter& letter) {
  const auto found = clients_.find(letter.task);
  if (found == clients_.end()) return {};
  const bool is_list = letter.step == secure_step::unmask;
  const confirmed_list list{letter.task.client, letter.task.version,
                            is_list ? sum_of(found->second, letter) : digest{}};
  // Those who wait for shares are told that there are none.
  const auto refuse = [&](std::string why) {
    if (is_list || letter.step == secure_step::confirmed)
      return answer{.letter = privacy::no_shares(letter.task), .refused = std::move(why)};
    return answer{.over = true, .refused = std::move(why)};
  };
  if (is_list && confirmed_ && !confirmed_->admits(list))
    return refuse("client " + std::to_string(list.client) + " has taken part in another sum of its task of version " +
                  std::to_string(list.version));
  auto answered = found->second.on_letter(letter);
  if (!answered) return refuse(letter.step == secure_step::abandon ? "" : answered.error().text());
  if (is_list && confirmed_) confirmed_->add(list);
  return {std::move(*answered), letter.step == secure_step::peers, false};
}

bool secure_tasks::can_mask(const task_id& task) const {
  const auto found = clients_.find(task);
  return found != clients_.end() && found->second.can_mask();
}

std::optional<rejection> secure_tasks::mask(const broadcast_ptr& from, client_update& update) {
  const auto found = clients_.find(update.id);
  if (found == clients_.end() || !found->second.can_mask()) return rejection::client_failed;
  if (found->second.model() != model_of(from)) return rejection::client_failed;
  return mask_update(e_, *from, found->second, update);
}

void secure_tasks::forget_client(std::uint32_t client) {
  std::erase_if(clients_, [client](const auto& entry) { return entry.first.client == client; });
}

}  // namespace furlong::federated
