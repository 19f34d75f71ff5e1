// The work of a node: what its workers train and score, and when its store changes in between.
//
// Workers work in waves: between two waves no worker runs, what they trained becomes durable, and its updates are
// reported. The private store changes between waves, and during one where no worker prevents it. A simulated client may
// instead have a device of its own, which stores and reports by itself: then each result is a wave.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <variant>
#include <vector>

#include "federated/client/training_job.hpp"
#include "federated/processes/surroundings.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::federated::processes {

struct work_policy {
  std::size_t workers = 0;     ///< train or score at once; 0: each client has a device of its own
  std::size_t wave = 0;        ///< tasks of a worker in a wave
  bool workers_store = false;  ///< workers change the store: nothing else does during a wave
};

/// Score these clients.
struct scoring {
  session_number session = 0;  ///< that asked for it
  broadcast_ptr from;
  std::vector<std::pair<group, std::uint32_t>> clients;
};
/// For a worker.
using work_item = std::variant<training_job, scoring>;

/// A client's task is done.
struct trained_task {
  training_job job;
  outgoing_update_ptr update = {};         ///< none if it failed, or is to be masked
  std::optional<drop_stage> dropped = {};  ///< a simulated client dropped out in this stage
  virtual_time trained_at = 0;             ///< never: it dropped out before
};

/// A change of the store, and what must not be under way meanwhile.
struct store_action {
  enum class need : std::uint8_t {
    no_wave,      ///< no worker is at work
    own_store,    ///< workers do not change the store
    own_values,   ///< nor does one read the values of `client`
    idle_client,  ///< no worker trains `client`
  };
  need needs = need::no_wave;
  std::uint32_t client = 0;
  std::function<void()> run;
};

/// Not thread-safe.
class node_work {
 public:
  /// @param counts whether the result of a task is still wanted
  explicit node_work(std::function<bool(const task_id&)> counts) : counts_(std::move(counts)) {}

  /// A run was opened, between waves. Throws std::logic_error during one: workers that change the store do not ask
  /// whether their task still counts, so no life of a run may begin before they are done.
  void begin(const work_policy& policy);
  /// A run is being opened: until begin() nothing is given to workers, and results wait.
  void hold() { is_held_ = true; }

  void add(training_job&& job) { jobs_.push_back(std::move(job)); }
  void add(scoring&& asked) { scorings_.push_back(std::move(asked)); }
  void cancel_scorings() { scorings_.clear(); }
  /// Changes the store in the order of the calls.
  void then(store_action action) { actions_.push_back(std::move(action)); }
  /// Runs the actions that need not wait any longer, while `goes_on`.
  void run_actions(const std::function<bool()>& goes_on);

  /// What a worker is to do now. False: nothing.
  [[nodiscard]] bool next(work_item& item);
  /// Tasks that next() left out, because they do not count any more.
  [[nodiscard]] std::vector<task_id> take_superseded() { return std::exchange(superseded_, {}); }
  void on_trained(trained_task&& done);
  /// A worker has scored.
  void on_scored();
  /// The results of the wave, once it has ended.
  [[nodiscard]] std::vector<trained_task> take_wave();
  /// No worker is at work.
  [[nodiscard]] bool is_idle() const { return has_devices() || busy_ == 0; }

 private:
  [[nodiscard]] bool has_devices() const { return policy_.workers == 0; }
  [[nodiscard]] bool is_between_waves() const { return has_devices() || (busy_ == 0 && done_.empty()); }
  [[nodiscard]] bool is_full() const { return !has_devices() && given_ >= policy_.wave * policy_.workers; }
  [[nodiscard]] bool may_run(const store_action& action) const;
  [[nodiscard]] bool has_free_worker() const;

  std::function<bool(const task_id&)> counts_;
  work_policy policy_;
  bool is_held_ = false;
  std::deque<training_job> jobs_;
  std::deque<scoring> scorings_;
  std::deque<store_action> actions_;
  std::size_t busy_ = 0;              ///< workers at work
  std::size_t scorers_ = 0;           ///< of these, those that score
  std::set<std::uint32_t> training_;  ///< clients that workers train
  std::size_t given_ = 0;             ///< tasks started in this wave
  std::vector<trained_task> done_;
  std::vector<task_id> superseded_;
};

}  // namespace furlong::federated::processes
