// The work of a run, done by workers that may come, stall and vanish at any time (worker_engine.hpp). Part of the head,
// without I/O: the host carries messages (messages.hpp) and says who has joined and who is lost.
//
// A job is a pure function of what is sent with it, so whatever a lost worker had is done again by another:
//   - A job without a report is given again.
//   - An update that it kept is trained again once the run says that it counts.
//   - A sum of it that has not arrived is void: the tasks in it are done again, and added elsewhere.
// The same when a task turns out not to count after its update was added (add_mode::at_once): no update can be taken
// out of a sum. Jobs are retained as they were sent until their updates have arrived in a sum: by then the run may have
// stored newer private values of the client. Of a job that is done again the report is compared with the first one.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/digest.hpp"
#include "federated/engine/run_driver.hpp"
#include "federated/simulation/cluster/messages.hpp"

namespace furlong::federated::cluster {

using member_number = std::uint64_t;

struct outgoing_message {
  member_number receiver = 0;
  to_worker content;
};

/// Not thread-safe.
class remote_pool final : public work_pool {
 public:
  /// All must outlive it. `store` is only read.
  remote_pool(const experiment& run, private_store& store);

  [[nodiscard]] std::size_t wanted(std::size_t ahead) const override;
  void train(std::vector<training_job>& jobs) override;
  void score(evaluation_work_ptr work) override;
  void add(const std::vector<add_order>& orders) override;
  void collect(std::uint64_t version, const std::vector<std::uint32_t>& aggregators) override;

  /// A worker is there.
  /// @param name for messages to users
  /// @param threads at least 1
  member_number on_joined(std::string name, std::size_t threads);
  /// A worker is lost, or leaves. What it sends after that must not be told.
  void on_lost(member_number member);
  /// Fails if the run cannot go on: workers do not agree, or one sent what no worker sends.
  [[nodiscard]] result<void> on_message(member_number member, from_worker&& message);

  /// Tells the driver what was done since. Then go_on() has something to do if it is true.
  [[nodiscard]] result<bool> report(run_driver& driver);
  /// What is to be sent, to each receiver in this order.
  [[nodiscard]] std::vector<outgoing_message> take_outgoing() { return std::exchange(outgoing_, {}); }

  /// Jobs that were given again, since a worker was lost or a sum was void.
  [[nodiscard]] std::uint64_t repeated() const { return repeated_; }

 private:
  using share = std::pair<std::uint64_t, std::uint32_t>;  ///< version and aggregator
  struct member_state {
    std::size_t threads = 1;
    std::size_t out = 0;                 ///< jobs
    std::size_t blocks = 0;              ///< of clients to score
    double seconds_per_job = 0.0;        ///< moving mean; 0: unknown
    std::deque<std::uint64_t> models{};  ///< versions that it has, as it keeps them
    std::map<share, sum_number> sums{};  ///< open ones, nobody has asked for
  };
  /// Where the update of a task is.
  enum class stage : std::uint8_t {
    queued,  ///< it waits for a worker
    out,     ///< a worker trains it
    kept,    ///< a worker keeps it, and nothing is decided
    lost,    ///< a worker kept it, and is lost
    summed,  ///< it is in a sum that has not arrived
  };
  struct retained_job {
    training_job job = {};  ///< as it was given, with the values before the task
    stage place = stage::queued;
    member_number member = 0;        ///< that trains it, or has its update
    sum_number sum = no_sum;         ///< out, to be added; summed
    share part;                      ///< that it counts in
    double freshness = 1.0;          ///< there
    bool counts = false;             ///< the run has decided so, or its update is added at once
    bool is_unwanted = false;        ///< the run decided so while it was done again
    std::optional<digest> reported;  ///< the run has this report
    member_number reporter = 0;      ///< and who made it
    bool was_retried = false;        ///< after a failure
    member_number avoided = 0;       ///< who failed
  };
  struct open_sum {
    member_number member = 0;
    share part;
    std::set<task_id> tasks{};
    bool asked = false;
  };
  struct share_state {
    std::set<task_id> unplaced;  ///< tasks that count and are in no sum
    std::size_t summed = 0;      ///< tasks in sums that have not arrived
    std::vector<std::int64_t> words;
    bool wanted = false;
  };
  struct scoring_block {
    std::vector<std::size_t> clients;  ///< of the evaluation
    member_number member = 0;
  };
  struct finished_sum {
    std::uint32_t aggregator = 0;
    std::vector<std::int64_t> words;
  };

  void send(member_number receiver, to_worker&& content) { outgoing_.push_back({receiver, std::move(content)}); }
  [[nodiscard]] std::size_t block_size_of(const member_state& member) const;
  [[nodiscard]] std::size_t credit_of(const member_state& member) const;
  [[nodiscard]] result<void> load_values(training_job& job);
  void give_work();
  bool give_jobs(member_number number, member_state& member, std::size_t most);
  bool give_block(member_number number, member_state& member);
  void send_model(member_number number, member_state& member, std::uint64_t version,
                  std::shared_ptr<const models::shared_parameters> model);
  [[nodiscard]] job_request request_for(member_number number, retained_job& task);
  void queue_first(const task_id& id, retained_job& task);
  void repeat(const task_id& id, retained_job& task);
  void decide(const add_order& order, std::map<member_number, orders_down>& orders);
  void forget(const task_id& id, retained_job& task, std::map<member_number, orders_down>& orders);
  void discard(sum_number sum);
  [[nodiscard]] sum_number sum_for(member_number member, const share& part);
  void put_in_sum(const task_id& id, retained_job& task);
  void settle(const task_id& id, retained_job& task, bool held);
  void finish_shares();
  void end_scoring();
  [[nodiscard]] result<void> take(member_number member, reports_up&& sent);
  [[nodiscard]] result<void> take(member_number member, job_report&& made);
  [[nodiscard]] result<void> take(member_number member, sum_up&& sent);
  [[nodiscard]] result<void> take(member_number member, scores_up&& sent);
  [[nodiscard]] bool retries(const task_id& id, retained_job& task, const job_report& made, member_number member);
  [[nodiscard]] result<void> compare(retained_job& task, const job_report& made, member_number member) const;
  void tell(const retained_job& task, job_report& made);

  const experiment& run_;
  private_store& store_;
  std::map<member_number, member_state> members_;
  std::map<member_number, std::string> names_;  ///< of all that ever were
  member_number last_member_ = 0;
  std::map<task_id, retained_job> tasks_;
  std::deque<task_id> queue_;             ///< those with stage::queued; those that are given again first
  std::map<std::uint64_t, task_id> out_;  ///< by number of the request
  std::uint64_t last_request_ = 0;
  std::map<sum_number, open_sum> sums_;
  sum_number last_sum_ = no_sum;
  std::map<share, share_state> shares_;
  evaluation_work_ptr evaluation_;
  std::shared_ptr<const models::shared_parameters> tested_;  ///< its model, as clients get it
  std::uint64_t evaluation_number_ = 0;
  std::uint64_t last_block_ = 0;
  std::map<std::uint64_t, scoring_block> blocks_;  ///< by number; not given out, or without an answer
  std::shared_ptr<const error> scoring_failure_;
  models::private_parameters values_;
  std::vector<training_job> done_;
  std::vector<finished_sum> done_sums_;
  bool is_scored_ = false;
  std::uint64_t repeated_ = 0;
  std::vector<outgoing_message> outgoing_;
};

}  // namespace furlong::federated::cluster
