// Draws of clients in proportion to their training examples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/participation/draws.hpp"

namespace furlong::federated {

/// Successive sampling: each draw takes one of the clients not looked at yet, with a probability in proportion to its
/// number of training examples. Clients without any are never drawn. One thread at a time.
class weighted_draw {
 public:
  /// `clients` must outlive it; they are counted at the first draw. 8 bytes a client.
  explicit weighted_draw(const population& clients) : from_(clients), probed_(clients.training().size()) {}

  /// The first `count` eligible clients in the order in which they are drawn; fewer when there are no more.
  /// Sets of.probed. O(looked at times log of all), and O(all) for each time that half of all examples belong to
  /// clients that were looked at.
  [[nodiscard]] std::vector<std::uint32_t> first_eligible(selection& of, std::uint32_t count, random_stream stream);

 private:
  void count_examples();
  [[nodiscard]] std::uint64_t weight(std::uint32_t position) const {
    return sums_[position] - (position > 0 ? sums_[position - 1] : 0);
  }
  void list_rest();

  const population& from_;
  std::vector<std::uint64_t> sums_;  ///< examples of training clients up to and with this one; empty: not counted yet
  position_marks probed_;            ///< in this draw
  std::vector<std::uint32_t> rest_;  ///< when last listed: positions not looked at
  std::vector<std::uint64_t> rest_sums_;
};

}  // namespace furlong::federated
