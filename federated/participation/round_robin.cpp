#include <algorithm>
#include <optional>

#include "federated/participation/policy.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

namespace {

/// Where to go on must follow from the ledger alone, or a resumed run would go on elsewhere. Clients of one selection
/// are asked in ascending order, also when it went past the last client and on from the first: 0, 1, 98, 99 after 97 is
/// to be followed by 2. So in a synchronous run the turn goes on after
///   the highest client asked in the round that is below the one asked last before the round, or
///   if there is none, the highest asked in the round.
/// An asynchronous run asks for one client after the other, and the turn goes on after the one asked last: a selection
/// of several that went past the end is followed by clients with open tasks, which are skipped.
class round_robin_policy final : public selection_policy {
 public:
  round_robin_policy(const experiment& e, const participation_ledger& ledger)
      : clients_(e.participants->training()), rounds_(e.settings.participation->mode == participation_mode::sync) {
    restore(ledger);
  }

  std::vector<std::uint32_t> choose(selection& of, const participation_ledger& ledger) override {
    if (stale_) restore(ledger);
    round_ = of.round;
    std::vector<std::uint32_t> chosen;
    const auto n = clients_.size();
    auto at = first();
    for (of.probed = 0; of.probed < n && chosen.size() < of.count; ++of.probed) {
      if (of.eligible(clients_[at])) chosen.push_back(clients_[at]);
      at = at + 1 == n ? 0 : at + 1;
    }
    std::ranges::sort(chosen);
    return chosen;
  }

  void asked(const std::vector<std::uint32_t>& clients) override {
    if (!clients.empty() && counted_ != round_) begin_round(round_, last_);
    for (const auto client : clients) {
      add(client);
      last_ = client;
    }
  }

 private:
  using place = std::optional<std::uint32_t>;

  [[nodiscard]] std::size_t first() const {
    const place after = !rounds_ ? last_ : below_.has_value() ? below_ : highest_;
    if (!after) return 0;
    const auto next = std::ranges::upper_bound(clients_, *after);
    return next == clients_.end() ? 0 : static_cast<std::size_t>(next - clients_.begin());
  }

  void begin_round(std::uint64_t round, place before) {
    counted_ = round;
    before_ = before;
    below_.reset();
    highest_.reset();
  }

  /// Counts a client asked in the round.
  void add(std::uint32_t client) {
    highest_ = std::max(highest_, place(client));
    if (before_ && client < *before_) below_ = std::max(below_, place(client));
    // It was asked again, so that the ledger knows another one as the last before the round. Everybody was looked at.
    if (rounds_ && before_ == client) stale_ = true;
  }

  void restore(const participation_ledger& ledger) {
    stale_ = false;
    last_.reset();
    const auto later = [&](const place& one, std::uint32_t client) {
      return ledger[client].last_selection > (one ? ledger[*one].last_selection : 0);
    };
    for (const auto client : clients_)
      if (later(last_, client)) last_ = client;
    if (!last_) return;
    const auto version = ledger[*last_].asked_version;
    place before;
    for (const auto client : clients_)
      if (ledger[client].asked_version != version && later(before, client)) before = client;
    begin_round(version - 1, before);
    for (const auto client : clients_)
      if (ledger[client].asked_version == version) add(client);
  }

  std::span<const std::uint32_t> clients_;
  bool rounds_;                           ///< the run is synchronous
  bool stale_ = false;                    ///< what follows must be read from the ledger
  std::uint64_t round_ = 0;               ///< of the last selection
  std::optional<std::uint64_t> counted_;  ///< round that the places are of
  place before_;                          ///< asked last before it
  place below_;                           ///< highest asked in it below before_
  place highest_;                         ///< highest asked in it
  place last_;                            ///< asked last
};

}  // namespace

policy_entry round_robin_entry() {
  return {.kind = "round-robin",
          .doc = "One after the other by number, going on where the last selection ended.",
          .build = [](const experiment& e, const participation_ledger& ledger) -> std::unique_ptr<selection_policy> {
            return std::make_unique<round_robin_policy>(e, ledger);
          }};
}

}  // namespace furlong::federated
