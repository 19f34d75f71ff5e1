#include "federated/protocol/share_book.hpp"

#include <algorithm>

namespace furlong::federated::protocol {

void share_book::begin_round(std::size_t aggregators) {
  shares_.assign(aggregators, {});
  awaited_ = awaited_tasks_ = 0;
  aggregated_.clear();
  merged_.clear();
  open_ = closing_ = reopens_ = false;
}

void share_book::end_round() {
  open_ = false;
  discard();
}

bool share_book::begin(std::uint32_t aggregator) {
  if (!knows(aggregator)) shares_.resize(aggregator + 1);
  auto& begun = shares_[aggregator];
  if (begun.awaited) return false;
  begun.awaited = true;
  begun.close_requested = false;
  ++awaited_;
  return true;
}

void share_book::begin_all(std::size_t aggregators) {
  shares_.assign(aggregators, {});
  for (auto& begun : shares_) begun.awaited = true;
  awaited_ = aggregators;
  open_ = true;
}

void share_book::aggregate(std::uint32_t aggregator, const settlement& report) {
  aggregated_.push_back(report.id);
  shares_[aggregator].reports.push_back(report);
}

void share_book::merge(std::uint32_t aggregator) {
  lose(aggregator);
  for (auto& report : std::exchange(shares_[aggregator].reports, {})) merged_.push_back(std::move(report));
}

std::vector<settlement> share_book::remove(std::uint32_t aggregator, const std::set<task_id>& lost) {
  std::vector<settlement> removed;
  std::vector<settlement> kept;
  for (auto& report : std::exchange(shares_[aggregator].reports, {}))
    (lost.contains(report.id) ? removed : kept).push_back(std::move(report));
  shares_[aggregator].reports = std::move(kept);
  if (!removed.empty() && reopens_) closing_ = reopens_ = false;  // no longer all
  std::set<task_id> unaggregated;
  for (const auto& report : removed) unaggregated.insert(report.id);
  std::erase_if(aggregated_, [&](const task_id& task) { return unaggregated.contains(task); });
  return removed;
}

void share_book::lose(std::uint32_t aggregator) {
  shares_[aggregator].awaited = false;
  --awaited_;
}

std::vector<std::uint32_t> share_book::close(bool reopens) {
  closing_ = true;
  reopens_ = reopens && all_ended();
  awaited_tasks_ = 0;
  std::vector<std::uint32_t> requests;
  for (std::uint32_t aggregator = 0; aggregator < shares_.size(); ++aggregator) {
    auto& closed = shares_[aggregator];
    if (closed.awaited && !std::exchange(closed.close_requested, true)) requests.push_back(aggregator);
  }
  return requests;
}

bool share_book::is_awaited(std::uint32_t aggregator) const { return knows(aggregator) && shares_[aggregator].awaited; }

bool share_book::is_closing(std::uint32_t aggregator) const {
  return is_awaited(aggregator) && shares_[aggregator].close_requested;
}

std::span<const settlement> share_book::reports(std::uint32_t aggregator) const { return shares_[aggregator].reports; }

std::set<task_id> share_book::reported_tasks(std::uint32_t aggregator) const {
  std::set<task_id> tasks;
  for (const auto& report : shares_[aggregator].reports) tasks.insert(report.id);
  return tasks;
}

std::span<const std::uint32_t> share_book::clients(std::uint32_t aggregator) const {
  return shares_[aggregator].clients;
}

void share_book::sort_aggregated() { std::ranges::sort(aggregated_); }

}  // namespace furlong::federated::protocol
