// A whole federation without threads: the machines, driven by hand in an order that a random stream chooses.
#pragma once

#include <boost/test/unit_test.hpp>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "federated/client/client_work.hpp"
#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/experiments.hpp"

namespace furlong::tests {

/// What may go wrong on the way; each with a probability of 1 in `odds` (0: never).
struct faults {
  std::uint32_t odds = 0;
};

class federation {
 public:
  federation(const federated::experiment& e, federated::server_state start, std::uint64_t seed, faults what = {})
      : e_(e), server_(e, std::move(start)), stream_(seed, purpose::test), faults_(what) {
    for (std::uint32_t a = 0; a < e.settings.topology->aggregators; ++a) aggregators_.emplace_back(e, a);
  }

  /// Runs until the server has finished; stops it during round `stop_at` if given.
  void run(std::optional<std::uint64_t> stop_at = {}) {
    stop_at_ = stop_at;
    perform(server_.start());
    while (!finished_) work_one();
  }

  [[nodiscard]] const federated::protocol::server_machine& server() const { return server_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }
  [[nodiscard]] std::size_t checkpoints() const { return checkpoints_; }
  [[nodiscard]] std::size_t evaluations() const { return evaluations_; }
  [[nodiscard]] const std::vector<federated::round_report>& rounds() const { return rounds_; }
  /// Reports that nobody had asked for, by what the aggregator said.
  [[nodiscard]] const std::map<federated::rejection, std::uint64_t>& turned_away() const { return turned_away_; }

 private:
  struct job {
    std::uint32_t aggregator;
    federated::task_id task;
    federated::broadcast_ptr from;
  };

  void perform(federated::protocol::server_effects effects) {
    namespace protocol = federated::protocol;
    for (auto& effect : effects) {
      if (auto* give = std::get_if<protocol::assign>(&effect)) {
        federated::protocol::aggregator_effects out;
        aggregators_[give->aggregator].on_assignment(give->from, give->tasks, give->begins, out);
        perform(give->aggregator, out);
        for (const auto& id : give->tasks) jobs_.push_back({give->aggregator, id, give->from});
      } else if (auto* closed = std::get_if<protocol::round_closed>(&effect)) {
        rounds_.push_back(closed->report);
      } else if (std::holds_alternative<protocol::evaluate>(effect)) {
        ++evaluations_;
        perform(server_.on_evaluated({}));
      } else if (std::holds_alternative<protocol::checkpoint>(effect)) {
        ++checkpoints_;
        perform(server_.on_checkpointed());
      } else if (std::holds_alternative<protocol::proceed>(effect)) {
        perform(server_.on_proceed());
      } else if (auto* end = std::get_if<protocol::finish>(&effect)) {
        finished_ = true;
        interrupted_ = end->interrupted;
      }
    }
  }

  void perform(std::uint32_t aggregator, federated::protocol::aggregator_effects& effects) {
    for (auto& effect : effects) {
      if (const auto* some = std::get_if<federated::protocol::settled>(&effect)) {
        perform(server_.on_settled(aggregator, some->each, 0));
      } else {
        auto& sent = std::get<federated::partial_aggregate>(effect);
        if (stop_at_ && sent.version >= *stop_at_) server_.stop();
        auto next = server_.on_partial(sent, 0);
        BOOST_REQUIRE(next);
        perform(std::move(*next));
      }
    }
  }

  [[nodiscard]] bool strikes() { return faults_.odds != 0 && stream_.below(faults_.odds) == 0; }

  void work_one() {
    BOOST_REQUIRE(!jobs_.empty());  // or nobody would ever finish
    const auto at = jobs_.begin() + stream_.below(static_cast<std::uint32_t>(jobs_.size()));
    const job now = *at;
    jobs_.erase(at);
    auto& aggregator = aggregators_[now.aggregator];
    federated::protocol::aggregator_effects out;
    if (strikes()) send_strangers(aggregator, now);
    if (strikes()) {
      aggregator.on_failure(now.task, out);
    } else {
      federated::client_update update;
      federated::client_work(e_, *now.from, now.task, false, use_, update);
      if (strikes() && !update.change.values.empty()) update.change.values[0] = 1e30F;
      if (strikes()) update.change.pieces.pop_back();
      aggregator.on_update(update, out);
      if (strikes()) {  // sent again by a network that lost the acknowledgement
        federated::protocol::aggregator_effects none;
        ++turned_away_[aggregator.on_update(update, none).value()];
        BOOST_TEST(none.empty());
      }
    }
    perform(now.aggregator, out);
  }

  /// Reports of another run, version, client and attempt: none may change anything.
  void send_strangers(federated::protocol::aggregator_machine& to, const job& of) {
    federated::client_update update;
    federated::client_work(e_, *of.from, of.task, false, use_, update);
    for (int kind = 0; kind < 4; ++kind) {
      update.id = of.task;
      if (kind == 0) ++update.id.run;
      if (kind == 1) ++update.id.version;
      if (kind == 2) update.id.client = 1'000'000;
      if (kind == 3) ++update.id.attempt;
      federated::protocol::aggregator_effects none;
      ++turned_away_[to.on_update(update, none).value()];
      to.on_failure(update.id, none);
      BOOST_TEST(none.empty());
    }
  }

  const federated::experiment& e_;
  federated::protocol::server_machine server_;
  std::deque<federated::protocol::aggregator_machine> aggregators_;
  random_stream stream_;
  faults faults_;
  std::vector<job> jobs_;
  federated::workspace use_;
  std::optional<std::uint64_t> stop_at_;
  bool finished_ = false;
  bool interrupted_ = false;
  std::size_t checkpoints_ = 0;
  std::size_t evaluations_ = 0;
  std::vector<federated::round_report> rounds_;
  std::map<federated::rejection, std::uint64_t> turned_away_;
};

}  // namespace furlong::tests
