// A set of client numbers: a bit each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace furlong::federated {

/// Nothing outside [0, size) is ever a member. Not thread-safe while it is changed.
class client_set {
 public:
  explicit client_set(std::uint32_t size = 0) : bits_(size, false) {}

  [[nodiscard]] bool contains(std::uint32_t client) const { return client < bits_.size() && bits_[client]; }
  void insert(std::uint32_t client) {
    if (client < bits_.size()) bits_[client] = true;
  }
  void insert(const client_set& other) { combine(other, true); }
  void remove(const client_set& other) { combine(other, false); }
  /// Calls `each` with every member, ascending.
  template <class Each>
  void visit(Each each) const {
    for (std::size_t client = 0; client < bits_.size(); ++client)
      if (bits_[client]) each(static_cast<std::uint32_t>(client));
  }

 private:
  void combine(const client_set& other, bool member) {
    const auto both = std::min(bits_.size(), other.bits_.size());
    for (std::size_t client = 0; client < both; ++client)
      if (other.bits_[client]) bits_[client] = member;
  }

  std::vector<bool> bits_;
};

}  // namespace furlong::federated
