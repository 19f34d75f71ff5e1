// The rounds of a run in bounded memory: the newest one by one, older ones merged into fewer and longer stretches.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "tools/dashboard/federation_status.hpp"

namespace furlong::tools::dashboard {

/// Holds at most 2 x `most` records, whatever the number of rounds. Sums over all records are those over all rounds.
/// Not thread-safe.
class round_history {
 public:
  static constexpr std::size_t usual = 1000;

  /// @param most rounds that are kept one by one, and records that older ones are merged into; at least 2
  explicit round_history(std::size_t most = usual) : most_(most) {}

  void add(round_record round);
  /// Ascending: those that end at version `first` or later.
  [[nodiscard]] std::vector<round_record> since(std::uint64_t first) const;
  /// Rounds in one merged record.
  [[nodiscard]] std::uint64_t stride() const { return stride_; }

 private:
  void put_away(round_record round);

  std::size_t most_;
  std::deque<round_record> newest_;
  std::vector<round_record> older_;
  std::uint64_t stride_ = 1;
  std::uint64_t in_last_ = 0;  ///< rounds merged into the last of the older ones
};

/// The two as one; `later` follows `earlier`.
[[nodiscard]] round_record merged(const round_record& earlier, const round_record& later);

}  // namespace furlong::tools::dashboard
