// Keyed draws without replacement, which selection policies and evaluation share.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

/// The seed of the draws of a round: the scenario's, or one of the secret key, since sampling hides a client only as
/// long as nobody can foresee who is drawn.
[[nodiscard]] inline std::uint64_t draw_seed(const experiment& e, std::uint64_t round) {
  const auto& key = e.settings.privacy->key;
  return key ? secret_stream(*key, purpose::cohort, round).next() : e.settings.seed;
}

/// What a selection draws from: keyed by (draw_seed(), round), and in asynchronous runs, which ask for clients many
/// times in one round, by the ordinal too.
[[nodiscard]] inline random_stream selection_stream(const experiment& e, const selection& of) {
  const bool many = e.settings.participation->mode == participation_mode::async;
  return {draw_seed(e, of.round), purpose::cohort, static_cast<std::uint32_t>(of.round),
          many ? static_cast<std::uint32_t>(of.ordinal) : 0};
}

/// `count` different numbers below `n`, every set of them equally likely (Floyd's algorithm): O(count). `take` marks a
/// number and says whether it was free; `each` is given the numbers drawn. count <= n.
template <class Take, class Each>
void draw_positions(random_stream& stream, std::uint32_t n, std::uint32_t count, Take&& take, Each&& each) {
  for (std::uint32_t last = n - count; last < n; ++last) {
    const auto draw = stream.below(last + 1);
    if (take(draw)) {
      each(draw);
    } else {
      take(last);
      each(last);
    }
  }
}

/// Numbers below n that are taken: a bit each. Forgetting costs O(taken), not O(n).
class position_marks {
 public:
  explicit position_marks(std::size_t n) : marks_(n, false) {}

  /// Marks it; false when it was marked before.
  bool take(std::uint32_t position) {
    if (marks_[position]) return false;
    marks_[position] = true;
    taken_.push_back(position);
    return true;
  }
  [[nodiscard]] bool has(std::uint32_t position) const { return marks_[position]; }
  [[nodiscard]] std::size_t taken() const { return taken_.size(); }
  void clear() {
    for (const auto position : taken_) marks_[position] = false;
    taken_.clear();
  }

 private:
  std::vector<bool> marks_;
  std::vector<std::uint32_t> taken_;
};

}  // namespace furlong::federated
