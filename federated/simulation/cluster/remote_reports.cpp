// What a remote_pool does with messages of workers.
#include <algorithm>
#include <utility>

#include "federated/simulation/cluster/remote_pool.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated::cluster {

namespace {

/// Everything that the run takes from a report.
digest digest_of(const job_report& made) {
  sha256_stream content;
  const auto& report = made.report;
  content.add(report.id.version).add(std::uint64_t{report.id.client}).add(std::uint64_t{report.id.attempt});
  content.add(static_cast<std::uint64_t>(report.what)).add(static_cast<std::uint64_t>(report.why));
  content.add(report.examples).add(report.bytes).add(std::as_bytes(std::span(&report.loss, 1)));
  content.add(std::uint64_t{report.size.norm})
      .add(std::uint64_t{report.size.row})
      .add(std::uint64_t{report.size.weight});
  content.add(std::span<const float>(report.distances));
  content.add(std::uint64_t{made.held ? 1U : 0U}).add(std::uint64_t{made.keeps ? 1U : 0U});
  made.own.add_to(content);
  return content.finish();
}

}  // namespace

result<void> remote_pool::on_message(member_number member, from_worker&& message) {
  auto taken = std::visit([&](auto& content) { return take(member, std::move(content)); }, message);
  if (!taken) return taken;
  give_work();
  finish_shares();
  return {};
}

result<void> remote_pool::take(member_number member, reports_up&& sent) {
  for (auto& report : sent.reports)
    if (auto taken = take(member, std::move(report)); !taken) return taken;
  return {};
}

result<void> remote_pool::take(member_number member, job_report&& made) {
  constexpr double newest = 0.1;  // of the moving mean
  const auto given = out_.find(made.number);
  if (given == out_.end() || tasks_.at(given->second).member != member)
    return fail(error::kind::runtime, "worker " + names_.at(member),
                "reports a job that it was not given: number " + std::to_string(made.number));
  const auto id = out_.extract(given).mapped();
  auto& task = tasks_.at(id);
  auto& state = members_.at(member);
  --state.out;
  state.seconds_per_job += (state.seconds_per_job > 0.0 ? newest : 1.0) * (made.seconds - state.seconds_per_job);
  if (task.is_unwanted) {  // the run has its report, and its sum is void
    tasks_.erase(id);
    return {};
  }
  if (retries(id, task, made, member)) return {};
  if (auto same = compare(task, made, member); !same) return same;
  const bool held = made.held;
  if (!task.reported) {
    task.reported = digest_of(made);
    task.reporter = member;
    tell(task, made);
  }
  settle(id, task, held);
  return {};
}

/// A worker that cannot do a job may be the only one that cannot.
bool remote_pool::retries(const task_id& id, retained_job& task, const job_report& made, member_number member) {
  const bool may_be_its_own = made.failure && made.store_failed && made.failure->what == error::kind::runtime;
  if (!may_be_its_own || task.was_retried || members_.size() < 2) return false;
  task.was_retried = true;
  task.avoided = member;
  queue_first(id, task);
  return true;
}

result<void> remote_pool::compare(retained_job& task, const job_report& made, member_number member) const {
  const auto& id = task.job.id;
  const auto client = "client " + std::to_string(id.client) + " on version " + std::to_string(id.version);
  if (task.reported && made.failure) return tl::unexpected(*made.failure);
  if (!task.reported || *task.reported == digest_of(made)) return {};
  return fail(error::kind::runtime, "worker " + names_.at(member),
              "trained " + client + " with another result than worker " + names_.at(task.reporter),
              "run all workers with the same program, libraries and data; a model in Python must compute the same "
              "every time");
}

void remote_pool::tell(const retained_job& task, job_report& made) {
  training_job done;
  done.id = task.job.id;
  done.use = task.job.use;
  done.report = std::move(made.report);
  done.held = made.held;
  done.keeps = made.keeps;
  done.own = std::move(made.own);
  done.update = std::move(made.update);
  done.failure = std::move(made.failure);
  done.store_failed = made.store_failed;
  done.part_failed = made.part_failed;
  done_.push_back(std::move(done));
}

/// Notes where the update of a job is that is done.
void remote_pool::settle(const task_id& id, retained_job& task, bool held) {
  const auto key = id;
  const auto sum = task.sum;
  const bool is_void = sum != no_sum && !sums_.contains(sum);
  if (!held) {
    tasks_.erase(key);
  } else if (is_void) {
    repeat(key, task);
  } else if (sum != no_sum) {
    put_in_sum(key, task);
  } else {
    task.place = stage::kept;
  }
}

result<void> remote_pool::take(member_number member, sum_up&& sent) {
  const auto found = sums_.extract(sent.sum);
  const auto refuse = [&](const char* why) { return fail(error::kind::runtime, "worker " + names_.at(member), why); };
  if (found.empty() || found.mapped().member != member || !found.mapped().asked)
    return refuse("sends a sum that it was not asked for");
  const auto& sum = found.mapped();
  auto& [tasks, words] = sent.content;
  std::ranges::sort(tasks);
  if (!std::ranges::equal(tasks, sum.tasks)) return refuse("sends a sum of other updates than it was to have");
  if (words.size() != accumulated_words(run_)) return refuse("sends a sum of another length than this run's");
  auto& part = shares_.at(sum.part);
  if (part.words.empty())
    part.words.swap(words);
  else
    models::kernels().add_fixed(part.words.data(), words.data(), words.size());
  part.summed -= tasks.size();
  for (const auto& id : sum.tasks) tasks_.erase(id);
  return {};
}

result<void> remote_pool::take(member_number member, scores_up&& sent) {
  const auto found = blocks_.extract(sent.block);
  if (found.empty() || found.mapped().member != member)
    return fail(error::kind::runtime, "worker " + names_.at(member), "sends scores that it was not asked for");
  --members_.at(member).blocks;
  const auto& clients = found.mapped().clients;
  if (sent.failure) {
    const bool is_of_model = sent.failure->what == error::kind::model;
    if (!scoring_failure_ || !is_of_model) scoring_failure_ = sent.failure;
  } else if (sent.scores.size() != clients.size()) {
    return fail(error::kind::runtime, "worker " + names_.at(member),
                "sends scores of " + std::to_string(sent.scores.size()) + " clients, and was asked for " +
                    std::to_string(clients.size()));
  } else {
    for (std::size_t i = 0; i < clients.size(); ++i) evaluation_->scores().put(clients[i], std::move(sent.scores[i]));
  }
  if (scoring_failure_) end_scoring();
  if (blocks_.empty()) is_scored_ = true;
  return {};
}

}  // namespace furlong::federated::cluster
