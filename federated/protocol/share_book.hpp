// What the aggregators have done for a round.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "federated/experiment/update.hpp"

namespace furlong::federated::protocol {

/// The shares of one round: the tasks that each aggregator has, the updates that it reports, and the partial that it
/// sends.
///   - An aggregator has one share at a time. It begins with the first task, or with the round, and ends with the
///     partial or the loss of the aggregator; then the aggregator can have another one of the same round.
///   - An update is aggregated from the report of its aggregator on; it counts for the round only once the share's
///     partial is merged. Until then it is lost with the aggregator.
///   - The round is closing once its shares are asked for. It is open again if that was since all of its tasks had
///     ended, and an update gets lost meanwhile.
///   - A round without open shares is over, or has not selected anybody yet.
class share_book {
 public:
  /// The next round, with aggregators numbered below `aggregators`, none of which has a share.
  void begin_round(std::size_t aggregators);
  /// The round ended: its aggregated updates are in a model, or were discarded.
  void end_round();
  /// Its aggregated updates will be in no model.
  void discard() { aggregated_.clear(); }

  /// Shares can begin from now on.
  void open() { open_ = true; }
  /// True if a share of this round begins now at the aggregator: its first, or another after a merged one.
  [[nodiscard]] bool begin(std::uint32_t aggregator);
  /// Opens the round with a share at each of so many aggregators.
  void begin_all(std::size_t aggregators);
  /// A synchronous round waits for that many tasks.
  void await_tasks(std::size_t tasks) { awaited_tasks_ = tasks; }
  /// One of them ended.
  void end_task() { --awaited_tasks_; }
  /// The update of one got lost.
  void reopen_task() { ++awaited_tasks_; }
  /// The client has a task of the aggregator's share, whose outcome must come before the partial.
  void add_client(std::uint32_t aggregator, std::uint32_t client) { shares_[aggregator].clients.push_back(client); }

  /// An aggregator reports that it aggregated, in a share that is awaited, or rejected, an update.
  void aggregate(std::uint32_t aggregator, const settlement& report);
  void reject(const settlement& report) { rejected_.push_back(report); }
  /// The partial of an aggregator's share was merged.
  void merge(std::uint32_t aggregator);
  /// These updates of an aggregator's share are lost. Returns those that it had reported.
  [[nodiscard]] std::vector<settlement> remove(std::uint32_t aggregator, const std::set<task_id>& lost);
  /// An aggregator whose share is awaited is lost, after its updates were removed.
  void lose(std::uint32_t aggregator);
  /// The round is to be closed. Returns the aggregators whose shares must be asked for.
  /// @param reopens if all of its tasks have ended, it is open again when an update gets lost
  [[nodiscard]] std::vector<std::uint32_t> close(bool reopens);

  [[nodiscard]] bool is_open() const { return open_; }
  [[nodiscard]] bool is_closing() const { return closing_; }
  /// True if more tasks and updates can come to it.
  [[nodiscard]] bool is_under_way() const { return open_ && !closing_; }
  /// True if all tasks that the round waits for have ended.
  [[nodiscard]] bool all_ended() const { return awaited_tasks_ == 0; }
  /// Number of aggregators whose share was not merged.
  [[nodiscard]] std::size_t awaited() const { return awaited_; }
  [[nodiscard]] bool all_merged() const { return awaited_ == 0; }
  [[nodiscard]] std::size_t aggregators() const { return shares_.size(); }
  [[nodiscard]] bool knows(std::uint32_t aggregator) const { return aggregator < shares_.size(); }
  /// True if an aggregator has a share that was not merged.
  [[nodiscard]] bool is_awaited(std::uint32_t aggregator) const;
  /// True if it was also asked to close it.
  [[nodiscard]] bool is_closing(std::uint32_t aggregator) const;
  /// Updates that a known aggregator reported in its share.
  [[nodiscard]] std::span<const settlement> reports(std::uint32_t aggregator) const;
  [[nodiscard]] std::set<task_id> reported_tasks(std::uint32_t aggregator) const;
  /// add_client().
  [[nodiscard]] std::span<const std::uint32_t> clients(std::uint32_t aggregator) const;

  /// The updates aggregated in this round that are in no model yet, in the order of their reports.
  [[nodiscard]] const std::vector<task_id>& aggregated() const { return aggregated_; }
  void sort_aggregated();
  /// Reports of those whose partials were merged, until the next round.
  [[nodiscard]] const std::vector<settlement>& merged() const { return merged_; }
  /// Reports of rejected updates, also of those that came since the round before.
  [[nodiscard]] std::vector<settlement> take_rejected() { return std::exchange(rejected_, {}); }

 private:
  struct share {
    std::vector<std::uint32_t> clients;
    std::vector<settlement> reports;
    bool awaited = false;
    bool close_requested = false;
  };

  std::vector<share> shares_;         ///< by aggregator
  std::size_t awaited_ = 0;           ///< shares
  std::size_t awaited_tasks_ = 0;     ///< synchronous: tasks of this round without an end
  std::vector<task_id> aggregated_;   ///< merged or not
  std::vector<settlement> merged_;    ///< of these, in partials that were merged
  std::vector<settlement> rejected_;  ///< since the last round ended
  bool open_ = false;
  bool closing_ = false;
  bool reopens_ = false;  ///< it is closing since all tasks have ended, and goes on if some of these ends are lost
};

}  // namespace furlong::federated::protocol
