#include "federated/processes/node_work.hpp"

#include <stdexcept>

namespace furlong::federated::processes {

void node_work::begin(const work_policy& policy) {
  if (!is_between_waves()) throw std::logic_error("a run was opened while workers were at work");
  policy_ = policy;
  is_held_ = false;
}

bool node_work::may_run(const store_action& action) const {
  if (is_between_waves()) return true;
  const bool is_training = training_.contains(action.client);
  switch (action.needs) {
    case store_action::need::no_wave: return false;
    case store_action::need::own_store: return !policy_.workers_store;
    case store_action::need::own_values: return !policy_.workers_store && scorers_ == 0 && !is_training;
    case store_action::need::idle_client: return !is_training;
  }
  return false;
}

void node_work::run_actions(const std::function<bool()>& goes_on) {
  while (!actions_.empty() && !is_held_ && goes_on() && may_run(actions_.front())) {
    const auto action = std::move(actions_.front());
    actions_.pop_front();
    action.run();
  }
}

/// A wave that is full, or that an action waits for, gets no further work until it has ended.
bool node_work::has_free_worker() const {
  if (has_devices()) return true;
  if (busy_ == 0) return done_.empty();
  return busy_ < policy_.workers && !is_full() && actions_.empty();
}

bool node_work::next(work_item& item) {
  if (is_held_ || !has_free_worker()) return false;
  if (busy_ == 0) given_ = 0;
  if (!scorings_.empty()) {
    item = std::move(scorings_.front());
    scorings_.pop_front();
    ++busy_, ++scorers_;
    return true;
  }
  while (!jobs_.empty()) {
    auto job = std::move(jobs_.front());
    jobs_.pop_front();
    if (!counts_(job.id)) {  // of an earlier life of the run, or withdrawn
      superseded_.push_back(job.id);
      continue;
    }
    ++busy_, ++given_;
    training_.insert(job.id.client);
    item = std::move(job);
    return true;
  }
  return false;
}

void node_work::on_trained(trained_task&& done) {
  --busy_;
  training_.erase(done.job.id.client);
  done_.push_back(std::move(done));
}

void node_work::on_scored() { --busy_, --scorers_; }

std::vector<trained_task> node_work::take_wave() {
  if (is_held_ || !is_idle()) return {};
  return std::exchange(done_, {});
}

}  // namespace furlong::federated::processes
