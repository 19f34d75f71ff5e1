// The server's record of every client's participation.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated {

/// One client's record: everything that a run keeps of a client without a task.
struct client_record {
  std::uint32_t selected = 0;          ///< tasks given to it
  std::uint32_t folded = 0;            ///< of these, updates that went into a model
  std::uint64_t last_selection = 0;    ///< ordinal of its last task among all of the run, from 1; 0: never asked
  virtual_time ended_at = 0;           ///< when its last task ended, however it did
  virtual_time trained_at = 0;         ///< when its private values were trained that are kept
  std::uint32_t asked_version = 0;     ///< version of its last task, plus 1; 0: never asked
  std::uint32_t attempt = 0;           ///< of that task
  std::uint32_t reported_version = 0;  ///< server version in which its last update was folded or rejected, plus 1
  std::uint32_t trained_version = 0;   ///< version that its private values were trained from, plus 1; 0: none kept
  float loss = 0.0F;                   ///< last reported mean training loss per example
  std::uint32_t folded_version = 0;    ///< version that its last folded update started from, plus 1; 0: none folded

  /// True if at least `separation` rounds lie between its last task and one on this version.
  [[nodiscard]] bool rested(std::uint64_t version, std::uint32_t separation) const {
    return asked_version == 0 || version + 1 >= std::uint64_t{asked_version} + separation;
  }
  friend bool operator==(const client_record&, const client_record&) = default;
};
static_assert(sizeof(client_record) == 56);

/// The records of all clients, by client number. Remembers which were touched, so that a checkpoint costs what happened
/// since the last one. One thread at a time.
class participation_ledger {
 public:
  explicit participation_ledger(std::size_t clients = 0) : records_(clients), touched_(clients, false) {}

  [[nodiscard]] std::size_t size() const { return records_.size(); }
  [[nodiscard]] const client_record& operator[](std::uint32_t client) const { return records_[client]; }
  [[nodiscard]] std::span<const client_record> records() const { return records_; }
  /// The record, to be changed.
  [[nodiscard]] client_record& touch(std::uint32_t client) {
    if (remembers_) before_.try_emplace(client, records_[client]);
    if (!touched_[client]) {
      touched_[client] = true;
      changed_.push_back(client);
    }
    return records_[client];
  }
  /// Records that a client was given a task on this version, the run's `ordinal`-th task.
  const client_record& select(std::uint32_t client, std::uint64_t version, std::uint64_t ordinal) {
    const auto asked = static_cast<std::uint32_t>(version + 1);
    auto& of = touch(client);
    of.attempt = of.asked_version == asked ? of.attempt + 1 : 0;
    of.asked_version = asked;
    of.last_selection = ordinal;
    ++of.selected;
    return of;
  }
  /// From now on, and until the next call, as_remembered() gives the records of this moment.
  void remember() {
    remembers_ = true;
    before_.clear();
  }
  /// Ends what remember() began.
  void forget() {
    remembers_ = false;
    before_.clear();
  }
  /// The ledger as it was at the last remember(); records touched since still count as changed.
  [[nodiscard]] participation_ledger as_remembered() const {
    auto copy = *this;
    for (const auto& [client, record] : before_) copy.records_[client] = record;
    copy.before_.clear();
    copy.remembers_ = false;
    return copy;
  }
  /// Clients touched since the last call, in the order of their first touch.
  [[nodiscard]] std::vector<std::uint32_t> take_changed() {
    for (const auto client : changed_) touched_[client] = false;
    return std::exchange(changed_, {});
  }
  /// Length of the file that holds the records, as of the last take_changed(). The storage's to use.
  [[nodiscard]] std::uint64_t stored_bytes() const { return stored_bytes_; }
  void set_stored_bytes(std::uint64_t bytes) { stored_bytes_ = bytes; }

 private:
  std::uint64_t stored_bytes_ = 0;
  std::vector<client_record> records_;
  std::vector<bool> touched_;
  std::vector<std::uint32_t> changed_;
  bool remembers_ = false;
  std::map<std::uint32_t, client_record> before_;  ///< of clients touched since remember()
};

}  // namespace furlong::federated
