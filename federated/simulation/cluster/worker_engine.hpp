// A worker of a run: does what the head asks for (messages.hpp), and says what came of it. It keeps models, sums and
// updates that the head has not decided about, and no private values beyond the work at hand.
//
// The host has some slots, a thread each or not. In a loop:
//   1. on_message() takes in what the head sent.
//   2. next(slot) is the slot's next piece of work; run() does it; done() takes it back.
//   3. take_outgoing() is what is to be sent to the head, in this order.
// All but run() on one thread, or under one lock. run() of distinct slots may overlap each other and the rest.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

#include "federated/evaluation/client_scorer.hpp"
#include "federated/simulation/cluster/carried_store.hpp"
#include "federated/simulation/cluster/messages.hpp"

namespace furlong::federated::cluster {

class worker_engine {
 public:
  /// `run` must outlive it.
  worker_engine(const experiment& run, std::size_t slots);

  /// Fails if the message is none that a head sends: the worker then has no use.
  [[nodiscard]] result<void> on_message(to_worker&& message);

  /// The clients of a block, and who scores them.
  struct scoring_work {
    scoring_down request;
    std::shared_ptr<client_scorer> scorer;
    std::shared_ptr<const broadcast> model;  ///< which the scorer refers to
    scores_up answer;
  };
  struct training_work {
    training_job job{};
    sum_number sum = 0;
    double freshness = 1.0;
    double seconds = 0.0;  ///< set by the host, which has a clock
  };
  struct collecting_work {
    sum_number sum = 0;
    partial_sum part{};
  };
  using work_item = std::variant<training_work, scoring_work, update_order, collecting_work>;
  /// The slot's next piece of work. It must be done before the slot's next one is asked for.
  [[nodiscard]] std::optional<work_item> next(std::size_t slot);
  /// Throws models::broken_part if the aggregation rule breaks its contract: then the run must end.
  void run(std::size_t slot, work_item& item, workspace& use);
  void done(std::size_t slot, work_item&& item);

  [[nodiscard]] std::vector<from_worker> take_outgoing() { return std::exchange(outgoing_, {}); }
  [[nodiscard]] std::size_t slots() const { return slots_.size(); }

 private:
  struct slot_state {
    explicit slot_state(const experiment& run) : sums(run) {}
    update_sums sums;
    std::deque<work_item> waiting;  ///< that only this slot can do
  };
  struct held_model {
    std::uint64_t version = 0;
    std::shared_ptr<broadcast> content;
  };
  struct collected_sum {
    std::size_t missing = 0;  ///< slots that have not given theirs
    partial_sum content;
  };
  [[nodiscard]] result<std::shared_ptr<broadcast>> find_model(std::uint64_t version) const;
  result<void> take(model_down&& sent);
  result<void> take(jobs_down&& given);
  result<void> take(orders_down&& given);
  result<void> take(collect_down&& wanted);
  result<void> take(discard_down&& gone);
  result<void> take(scoring_down&& wanted);
  void finish(std::size_t slot, training_work&& work);
  void finish(std::size_t slot, scoring_work&& work);
  void finish(std::size_t slot, update_order&& order);
  void finish(std::size_t slot, collecting_work&& work);

  const experiment& run_;
  carried_store carried_;
  std::vector<slot_state> slots_;
  std::deque<held_model> models_;        ///< the newest last
  std::deque<work_item> waiting_;        ///< that any slot can do
  std::map<task_id, std::size_t> kept_;  ///< updates, with their slots
  std::map<sum_number, collected_sum> collected_;
  std::uint64_t evaluation_ = 0;  ///< of the scorer
  std::shared_ptr<client_scorer> scorer_;
  std::vector<from_worker> outgoing_;
};

}  // namespace furlong::federated::cluster
