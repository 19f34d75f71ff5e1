// The scores that an evaluation waits for, and from whom: of a gateway's sessions, or a parent's branches. Of one model
// at a time: scores on another one are of an evaluation that is over.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

class awaited_scores {
 public:
  /// This client's score on the model of `version` is to come from there. What was awaited on another one is forgotten.
  void expect(std::uint64_t version, const std::pair<group, std::uint32_t>& client, std::uint64_t from);
  /// Leaves of what came from there only what is awaited, which then is not awaited any more.
  void take(std::uint64_t from, evaluation_scores& what);
  /// Nothing more comes from there: what was awaited of it, as unscored.
  [[nodiscard]] evaluation_scores lose(std::uint64_t from);

  [[nodiscard]] std::size_t size() const { return from_.size(); }
  [[nodiscard]] bool empty() const { return from_.empty(); }

 private:
  std::uint64_t version_ = 0;
  std::map<std::pair<group, std::uint32_t>, std::uint64_t> from_;
};

}  // namespace furlong::federated::protocol
