// How the server of secure aggregation restores secrets and removes masks from the sum.
#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "federated/privacy/secure_aggregation/detail/secure_server_client.hpp"

namespace furlong::federated::privacy {

using detail::byte_reader;

std::optional<secure_letter> secure_server::unanswered(const task_id& task) const {
  const auto found = clients_.find(task.client);
  if (at_ != stage::unmasking || found == clients_.end() || found->second.task != task) return std::nullopt;
  const auto& member = found->second;
  if (!member.survives || member.revealed || member.gone) return std::nullopt;
  return request_to(member);
}

bool secure_server::take_reveal(client& sender, crypto::bytes_view content) {
  if (!sender.survives || sender.revealed) return false;
  byte_reader in(content);
  const auto count = in.count(sizeof(std::uint32_t) + 1 + sizeof(secret_share));
  std::vector<std::pair<client*, secret_share>> given;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto number = in.number<std::uint32_t>();
    const bool survives = in.number<std::uint8_t>() != 0;
    secret_share share{};
    for (auto& value : share) value = in.number<std::uint64_t>();
    if (!std::ranges::binary_search(sender.neighbours, number)) return false;
    auto& member = clients_.at(number);
    if (!member.has_shares || member.survives != survives) return false;
    if (std::ranges::find(given, &member, [](const auto& entry) { return entry.first; }) != given.end()) return false;
    given.emplace_back(&member, share);
  }
  if (!in.done()) return false;
  for (auto& [member, share] : given) {
    if (member->shares.size() >= parameters_.threshold) continue;
    member->holders.push_back(sender.task.client);
    member->shares.push_back(share);
    if (member->shares.size() == parameters_.threshold && needs_shares(*member)) --lacking_;
  }
  return sender.revealed = true;
}

void secure_server::open_if_possible(secure_letters& out) {
  if (lacking_ > 0) {
    if (waited_for_ == 0) fail("too few clients gave shares of the masks", out);
  } else if (restore(out)) {
    at_ = stage::open;
  }
}

/// Restores the secrets. False, and failed, if shares are false.
bool secure_server::restore(secure_letters& out) {
  removal_.in_ = {inputs_.terms, version_, parameters_.clients};
  for (auto& [number, member] : clients_) {
    if (member.shares.empty()) continue;
    const auto secret = combine_shares(member.holders, member.shares);
    const auto failed = [&, client = number] {
      fail("the shares of client " + std::to_string(client) + " do not restore its secret", out);
      return false;
    };
    if (!secret) return failed();
    if (member.survives) {
      if (sha256(std::as_bytes(std::span(*secret))) != member.keys.commitment) return failed();
      removal_.own_.push_back(*secret);
      continue;
    }
    const auto key = std::make_shared<const crypto::agreement_key>(*secret);
    if (key->public_key() != member.keys.masking) return failed();
    for (const auto peer : member.neighbours)
      if (const auto& entry = clients_.at(peer); entry.survives)
        removal_.pairs_.push_back(
            {key, {member.task, member.keys.model}, {entry.task, entry.keys.model}, entry.keys.masking});
  }
  return true;
}

void mask_removal::apply(std::span<std::int64_t> words, std::size_t part, std::size_t parts) const {
  for (std::size_t i = part; i < size(); i += parts) {
    if (i < own_.size()) {
      crypto::add_mask(words, own_[i], true);
      continue;
    }
    const auto& member = pairs_[i - own_.size()];
    // What the survivor added is subtracted, and the reverse. Its key was good for the client that is gone.
    if (const auto seed = detail::pair_seed(*member.key, in_, member.gone, member.masking, member.survivor))
      crypto::add_mask(words, *seed, member.survivor.task.client < member.gone.task.client);
  }
}

}  // namespace furlong::federated::privacy
