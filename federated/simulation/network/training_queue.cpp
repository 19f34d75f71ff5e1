#include "federated/simulation/network/training_queue.hpp"

namespace furlong::federated::network {

std::uint64_t training_queue::add(training_job job, virtual_time needed_at) {
  job.number = ++last_;
  waiting_.emplace(needed_at, last_);
  jobs_.emplace(last_, known_job{std::move(job), needed_at});
  return last_;
}

void training_queue::cancel(std::uint64_t number) {
  const auto at = jobs_.find(number);
  if (at == jobs_.end()) return;
  if (at->second.stage == known_job::waiting)
    waiting_.erase({at->second.needed_at, number});
  else
    --taken_;
  jobs_.erase(at);
}

bool training_queue::waits_for(std::uint64_t number) const {
  const auto at = jobs_.find(number);
  return at != jobs_.end() && at->second.stage != known_job::done;
}

training_job training_queue::collect(std::uint64_t number) {
  const auto at = jobs_.find(number);
  auto result = std::move(at->second.job);
  jobs_.erase(at);
  --taken_;
  return result;
}

void training_queue::take(std::size_t count, std::vector<training_job>& out) {
  for (; count > 0 && !waiting_.empty(); --count) {
    auto& next = jobs_.at(waiting_.begin()->second);
    waiting_.erase(waiting_.begin());
    next.stage = known_job::taken;
    ++taken_;
    out.push_back(std::move(next.job));
  }
}

void training_queue::on_trained(training_job&& done) {
  const auto at = jobs_.find(done.number);
  if (at == jobs_.end()) return;  // cancelled
  at->second.job = std::move(done);
  at->second.stage = known_job::done;
}

}  // namespace furlong::federated::network
