// Which clients an asynchronous server can select, kept up to date from one selection to the next.
//
// Where more tasks are wanted than clients are eligible, every end of a task would look at the whole population again.
// The index knows of each client why it cannot be selected and when to look again, so that a selection costs what has
// changed since the one before.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::protocol {

/// Client numbers, a bit each.
class client_bits {
 public:
  void resize(std::size_t clients) { words_.resize((clients + 63) / 64); }
  /// False if it was there.
  bool insert(std::uint32_t client) {
    auto& word = words_[client / 64];
    const auto bit = std::uint64_t{1} << client % 64;
    return (word & bit) == 0 && (word |= bit) != 0;
  }
  void erase(std::uint32_t client) { words_[client / 64] &= ~(std::uint64_t{1} << client % 64); }
  /// Adds all of `others`, of the same size; returns how many of them are new. O(size / 64).
  std::size_t insert(const client_bits& addition);
  void clear();

 private:
  std::vector<std::uint64_t> words_;
};

/// Why a client can or cannot be selected at one time.
struct client_standing {
  enum class kind : std::uint8_t { excluded, busy, later_version, paced, away, eligible };
  kind what = kind::excluded;
  std::uint64_t version = 0;     ///< later_version: the first in which it can be
  virtual_time changes = never;  ///< paced, away, eligible: when to look again
};

/// One thread at a time.
class eligible_clients {
 public:
  using look = std::function<client_standing(std::uint32_t client)>;

  /// Looks at these clients, ascending; at others never.
  eligible_clients(std::span<const std::uint32_t> clients, look standing);
  /// Looks at all clients again.
  void rebuild();
  /// Looks at those whose standing may have changed by this time, in the round that makes `version` + 1.
  void advance(virtual_time now, std::uint64_t version);
  /// Looks at a client again: it was given a task, or its task ended.
  void update(std::uint32_t client);

  [[nodiscard]] std::span<const std::uint32_t> eligible() const { return eligible_; }
  /// Clients that only availability keeps from being selected, and eligible ones.
  [[nodiscard]] std::size_t candidates() const { return candidate_count_; }
  [[nodiscard]] bool has_paced() const { return paced_count_ > 0; }
  /// Adds all candidates to `looked_at`; returns how many are new. O(clients / 64) the first time after begin_round(),
  /// and then what has changed.
  std::size_t add_candidates(client_bits& looked_at);
  void begin_round() { added_ = false; }

 private:
  using kind = client_standing::kind;
  [[nodiscard]] static bool is_candidate(kind what) { return what == kind::away || what == kind::eligible; }
  void set(std::uint32_t client, const client_standing& now);

  template <class Key>
  using waiting = std::priority_queue<std::pair<Key, std::uint32_t>, std::vector<std::pair<Key, std::uint32_t>>,
                                      std::greater<std::pair<Key, std::uint32_t>>>;

  std::span<const std::uint32_t> clients_;
  look look_;
  std::vector<kind> standing_;           ///< by client
  std::vector<virtual_time> queued_;     ///< by client: its newest time in times_
  std::vector<std::uint32_t> position_;  ///< by client: in eligible_
  std::vector<std::uint32_t> eligible_;
  client_bits candidates_;
  std::size_t candidate_count_ = 0;
  std::size_t paced_count_ = 0;
  waiting<virtual_time> times_;
  waiting<std::uint64_t> versions_;
  bool added_ = false;                ///< add_candidates() was called in this round
  std::vector<std::uint32_t> fresh_;  ///< candidates since then
};

}  // namespace furlong::federated::protocol
