// The scores that an evaluation awaits and their senders: a gateway's sessions, or a parent's branches. For one model
// at a time: scores on another belong to an earlier evaluation.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

class awaited_scores {
 public:
  /// Expects this client's score on the model of `version` from this sender. Forgets expectations of other versions.
  void expect(std::uint64_t version, const std::pair<group, std::uint32_t>& client, std::uint64_t from);
  /// Reduces scores from a sender to the awaited ones, which are then no longer awaited.
  void take(std::uint64_t from, evaluation_scores& what);
  /// The sender is lost: returns its awaited scores as unscored.
  [[nodiscard]] evaluation_scores lose(std::uint64_t from);

  [[nodiscard]] std::size_t size() const { return from_.size(); }
  [[nodiscard]] bool empty() const { return from_.empty(); }

 private:
  std::uint64_t version_ = 0;
  std::map<std::pair<group, std::uint32_t>, std::uint64_t> from_;
};

}  // namespace furlong::federated::protocol
