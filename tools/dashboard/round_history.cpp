#include "tools/dashboard/round_history.hpp"

#include <algorithm>

namespace furlong::tools::dashboard {

namespace {

double mean(double a, std::uint64_t weight_a, double b, std::uint64_t weight_b) {
  if (weight_a == 0) return b;
  if (weight_b == 0) return a;
  const auto whole = static_cast<double>(weight_a + weight_b);
  return a * (static_cast<double>(weight_a) / whole) + b * (static_cast<double>(weight_b) / whole);
}

}  // namespace

round_record merged(const round_record& earlier, const round_record& later) {
  round_record both = later;
  both.first = earlier.first;
  both.seconds += earlier.seconds;
  both.selected += earlier.selected;
  both.folded += earlier.folded;
  for (std::size_t i = 0; i < both.rejected.size(); ++i) both.rejected[i] += earlier.rejected[i];
  both.late += earlier.late;
  both.surplus += earlier.surplus;
  for (std::size_t i = 0; i < both.dropped.size(); ++i) both.dropped[i] += earlier.dropped[i];
  both.abandoned += earlier.abandoned;
  both.gave_up += earlier.gave_up;
  both.loss = mean(earlier.loss, earlier.applied, later.loss, later.applied);
  both.change_norm = mean(earlier.change_norm, earlier.applied, later.change_norm, later.applied);
  both.applied += earlier.applied;
  both.bytes_up += earlier.bytes_up;
  both.bytes_down += earlier.bytes_down;
  return both;
}

void round_history::add(round_record round) {
  newest_.push_back(std::move(round));
  if (newest_.size() <= most_) return;
  put_away(std::move(newest_.front()));
  newest_.pop_front();
}

void round_history::put_away(round_record round) {
  if (in_last_ > 0 && in_last_ < stride_) {
    older_.back() = merged(older_.back(), round);
    ++in_last_;
    return;
  }
  if (older_.size() == most_) {
    // Half as many, twice as long. An odd one at the end is half of a record that goes on to be filled.
    const std::size_t pairs = older_.size() / 2;
    for (std::size_t i = 0; i < pairs; ++i) older_[i] = merged(older_[2 * i], older_[2 * i + 1]);
    const bool odd = older_.size() % 2 == 1;
    if (odd) older_[pairs] = older_.back();
    older_.resize(pairs + (odd ? 1 : 0));
    in_last_ = odd ? stride_ : 2 * stride_;
    stride_ *= 2;
    put_away(std::move(round));
    return;
  }
  older_.push_back(std::move(round));
  in_last_ = 1;
}

std::vector<round_record> round_history::since(std::uint64_t first) const {
  const auto before = [first](const round_record& record) { return record.last < first; };
  std::vector<round_record> found(std::partition_point(older_.begin(), older_.end(), before), older_.end());
  found.insert(found.end(), std::partition_point(newest_.begin(), newest_.end(), before), newest_.end());
  return found;
}

}  // namespace furlong::tools::dashboard
