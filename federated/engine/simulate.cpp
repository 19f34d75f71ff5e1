#include "federated/engine/simulate.hpp"

#include "federated/engine/run_driver.hpp"

namespace furlong::federated {

namespace {

/// Does one job after the other, on the caller's thread.
class serial_pool final : public work_pool {
 public:
  serial_pool(const experiment& e, private_store& store) : e_(e), store_(store) {}

  [[nodiscard]] std::size_t wanted(std::size_t) const override { return jobs_.empty() ? 1 : 0; }
  void train(std::vector<training_job>& jobs) override { jobs_.swap(jobs); }
  void score(evaluation_work_ptr work) override { evaluation_ = std::move(work); }

  /// Does what it was given.
  result<void> work(run_driver& driver) {
    for (auto& job : jobs_) perform(e_, store_, job, use_);
    driver.on_trained(jobs_);
    jobs_.clear();
    const auto scored = std::exchange(evaluation_, nullptr);
    if (!scored) return {};
    const auto done = scored->score_rest(use_);
    return driver.on_scored(done ? nullptr : std::make_shared<const error>(done.error()));
  }

 private:
  const experiment& e_;
  private_store& store_;
  workspace use_;
  std::vector<training_job> jobs_;
  evaluation_work_ptr evaluation_;
};

}  // namespace

result<run_outcome> simulate(const experiment& e, server_state start, private_store& store,
                             const run_observer& observer, const std::atomic<bool>& stop) {
  run_driver driver(e, std::move(start), store, observer, stop);
  serial_pool pool(e, store);
  for (;;) {
    const auto over = driver.go_on(pool);
    if (!over) return tl::unexpected(over.error());
    if (*over) return driver.outcome();
    if (auto worked = pool.work(driver); !worked) return tl::unexpected(worked.error());
  }
}

}  // namespace furlong::federated
