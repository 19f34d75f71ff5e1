#include "federated/simulation/cluster/remote_pool.hpp"

#include <algorithm>
#include <utility>

#include "federated/rounds/round.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/state/broadcasts.hpp"

namespace furlong::federated::cluster {

namespace {

// A message costs as much as some ten microseconds of work at either side.
constexpr double seconds_per_block = 0.002;
constexpr std::size_t most_jobs_in_block = 256;
constexpr std::size_t first_jobs_in_block = 8;  ///< nothing is known of the worker yet
// No thread waits for the next block while the head works.
constexpr std::size_t blocks_per_thread = 2;
// Results that wait for their time, at most: memory stays bounded.
constexpr std::size_t most_blocks_ahead = 16;

}  // namespace

remote_pool::remote_pool(const experiment& run, private_store& store)
    : run_(run), store_(store), values_(run.parts.private_) {}

// ---- members -------------------------------------------------------------------------------------------------------

member_number remote_pool::on_joined(std::string name, std::size_t threads) {
  const auto number = ++last_member_;
  names_.emplace(number, std::move(name));
  members_.emplace(number, member_state{.threads = threads});
  give_work();
  return number;
}

void remote_pool::on_lost(member_number member) {
  if (members_.erase(member) == 0) return;
  std::erase_if(out_, [&](const auto& request) { return tasks_.at(request.second).member == member; });
  std::erase_if(sums_, [&](const auto& sum) { return sum.second.member == member; });
  std::erase_if(outgoing_, [&](const auto& message) { return message.receiver == member; });
  for (auto& [number, block] : blocks_)
    if (block.member == member) block.member = 0;
  std::vector<task_id> gone;
  for (auto& [id, task] : tasks_) {
    if (task.member != member) continue;
    if (task.place == stage::kept) task.place = stage::lost;
    if (task.place == stage::summed) repeat(id, task);
    if (task.place != stage::out) continue;
    if (task.is_unwanted)
      gone.push_back(id);
    else
      queue_first(id, task);
  }
  for (const auto& id : gone) tasks_.erase(id);
  if (scoring_failure_) end_scoring();
  give_work();
}

std::size_t remote_pool::block_size_of(const member_state& member) const {
  if (member.seconds_per_job <= 0.0) return first_jobs_in_block;
  return static_cast<std::size_t>(
      std::clamp(seconds_per_block / member.seconds_per_job, 1.0, static_cast<double>(most_jobs_in_block)));
}

std::size_t remote_pool::credit_of(const member_state& member) const {
  const auto most = blocks_per_thread * member.threads * block_size_of(member);
  return most > member.out ? most - member.out : 0;
}

// ---- jobs ----------------------------------------------------------------------------------------------------------

std::size_t remote_pool::wanted(std::size_t ahead) const {
  std::size_t credit = 0;
  std::size_t most_ahead = 0;
  for (const auto& [number, member] : members_) {
    credit += credit_of(member);
    most_ahead += most_blocks_ahead * member.threads * block_size_of(member);
  }
  if (queue_.empty() && out_.empty()) return std::max<std::size_t>(credit, 1);
  return ahead >= most_ahead || credit <= queue_.size() ? 0 : credit - queue_.size();
}

/// Nobody else has the store.
result<void> remote_pool::load_values(training_job& job) {
  if (std::exchange(job.loaded, true)) return {};
  job.own = {};
  if (!run_.settings.algorithm->traits.keeps_state) return {};
  const auto found = store_.load(job.id.client, values_);
  if (!found) return tl::unexpected(found.error());
  if (*found) job.own = models::packed_private(values_);
  return {};
}

void remote_pool::train(std::vector<training_job>& jobs) {
  for (auto& job : jobs) {
    job.stores = false;
    const auto loaded = load_values(job);
    const auto id = job.id;
    if (!loaded) {
      training_job failed;
      failed.id = id;
      failed.failure = std::make_shared<const error>(loaded.error());
      failed.store_failed = loaded.error().what == error::kind::runtime;
      done_.push_back(std::move(failed));
      continue;
    }
    retained_job task;
    task.job.id = id;
    task.job.from = std::move(job.from);
    task.job.use = job.use;
    task.job.own = std::move(job.own);
    task.counts = job.use == update_use::added;
    task.part = {id.version, job.aggregator};
    tasks_.insert_or_assign(id, std::move(task));
    queue_.push_back(id);
  }
  jobs.clear();
  give_work();
}

/// As evenly as can be, where there is less than all can take.
void remote_pool::give_work() {
  std::size_t blocks = 0;
  for (const auto& [number, member] : members_) blocks += blocks_per_thread * member.threads;
  const auto share_of_each = blocks == 0 ? 0 : (queue_.size() + blocks - 1) / blocks;
  for (bool given = true; given;) {
    given = false;
    for (auto& [number, member] : members_) {
      given = give_block(number, member) || given;
      given = give_jobs(number, member, share_of_each) || given;
    }
  }
}

/// A block of jobs of one version. False: there is none for this worker.
bool remote_pool::give_jobs(member_number number, member_state& member, std::size_t most) {
  const auto count = std::min({credit_of(member), block_size_of(member), most});
  const auto avoids = [&](const task_id& id) { return members_.size() > 1 && tasks_.at(id).avoided == number; };
  auto next = std::ranges::find_if_not(queue_, avoids);
  if (count == 0 || next == queue_.end()) return false;
  const auto version = next->version;
  const auto& model = tasks_.at(*next).job.from;
  jobs_down block{version, model->reference, model->limits, {}};
  send_model(number, member, version, {model, &model->model});
  while (next != queue_.end() && block.jobs.size() < count) {
    if (next->version != version || avoids(*next)) {
      ++next;
      continue;
    }
    block.jobs.push_back(request_for(number, tasks_.at(*next)));
    next = queue_.erase(next);
  }
  member.out += block.jobs.size();
  send(number, std::move(block));
  return true;
}

void remote_pool::send_model(member_number number, member_state& member, std::uint64_t version,
                             std::shared_ptr<const models::shared_parameters> model) {
  if (std::ranges::find(member.models, version) != member.models.end()) return;
  if (member.models.size() == models_kept) member.models.pop_front();
  member.models.push_back(version);
  send(number, model_down{version, std::move(model)});
}

job_request remote_pool::request_for(member_number number, retained_job& task) {
  const auto& job = task.job;
  task.place = stage::out;
  task.member = number;
  // The run has decided about it already: it is added with the training.
  const bool is_added = task.counts && (job.use == update_use::added || task.reported);
  task.sum = is_added ? sum_for(number, task.part) : no_sum;
  out_.emplace(++last_request_, job.id);
  return {.number = last_request_,
          .client = job.id.client,
          .attempt = job.id.attempt,
          .use = is_added ? update_use::added : job.use,
          .sum = task.sum,
          .freshness = task.freshness,
          .own = job.own};
}

void remote_pool::queue_first(const task_id& id, retained_job& task) {
  task.place = stage::queued;
  task.sum = no_sum;
  queue_.push_front(id);
  ++repeated_;
}

/// A task whose update counts and is lost, as is the sum that it may be in.
void remote_pool::repeat(const task_id& id, retained_job& task) {
  auto& part = shares_[task.part];
  if (task.place == stage::summed) --part.summed;
  part.unplaced.insert(id);
  queue_first(id, task);
}

// ---- sums ----------------------------------------------------------------------------------------------------------

void remote_pool::add(const std::vector<add_order>& orders) {
  std::map<member_number, orders_down> sent;
  for (const auto& order : orders) decide(order, sent);
  for (auto& [member, some] : sent) send(member, std::move(some));
  give_work();
  finish_shares();
}

void remote_pool::decide(const add_order& order, std::map<member_number, orders_down>& orders) {
  const auto found = tasks_.find(order.task);
  if (found == tasks_.end()) return;
  auto& [id, task] = *found;
  if (!order.counts) return forget(id, task, orders);
  task.counts = true;
  task.part = {order.version, order.aggregator};
  task.freshness = order.freshness;
  if (task.place != stage::kept) return repeat(id, task);
  task.sum = sum_for(task.member, task.part);
  orders[task.member].orders.push_back({id, true, task.sum, order.freshness});
  put_in_sum(id, task);
}

/// An update that does not count.
void remote_pool::forget(const task_id& id, retained_job& task, std::map<member_number, orders_down>& orders) {
  const auto key = id;
  const auto before = task.place;
  const auto sum = task.sum;
  if (task.counts) shares_[task.part].unplaced.erase(key);
  if (before == stage::out) {
    task.is_unwanted = true;
    return;
  }
  if (before == stage::kept) orders[task.member].orders.push_back({.task = key});
  if (before == stage::queued) std::erase(queue_, key);
  if (before == stage::summed) {
    --shares_[task.part].summed;
    sums_.at(sum).tasks.erase(key);
  }
  tasks_.erase(key);
  if (before == stage::summed) discard(sum);
}

/// The tasks in it are done again.
void remote_pool::discard(sum_number sum) {
  const auto found = sums_.extract(sum);
  if (found.empty()) return;
  const auto& gone = found.mapped();
  auto& open = members_.at(gone.member).sums;
  if (const auto last = open.find(gone.part); last != open.end() && last->second == sum) open.erase(last);
  send(gone.member, discard_down{sum});
  for (const auto& id : gone.tasks) repeat(id, tasks_.at(id));
}

sum_number remote_pool::sum_for(member_number member, const share& part) {
  auto& open = members_.at(member).sums[part];
  if (open == no_sum) {
    open = ++last_sum_;
    sums_.emplace(open, open_sum{.member = member, .part = part});
  }
  return open;
}

void remote_pool::put_in_sum(const task_id& id, retained_job& task) {
  sums_.at(task.sum).tasks.insert(id);
  task.place = stage::summed;
  auto& part = shares_[task.part];
  part.unplaced.erase(id);
  ++part.summed;
}

void remote_pool::collect(std::uint64_t version, const std::vector<std::uint32_t>& aggregators) {
  for (const auto aggregator : aggregators) shares_[{version, aggregator}].wanted = true;
  // Of versions before it only sums are open that nothing was added to.
  std::vector<sum_number> unused;
  for (const auto& [number, sum] : sums_)
    if (sum.part.first < version && sum.tasks.empty()) unused.push_back(number);
  for (const auto number : unused) discard(number);
  finish_shares();
}

/// Asks for the sums of shares whose tasks are all in one, and tells those that have arrived.
void remote_pool::finish_shares() {
  for (auto next = shares_.begin(); next != shares_.end();) {
    auto& [part, content] = *next;
    if (!content.wanted || !content.unplaced.empty()) {
      ++next;
      continue;
    }
    if (content.summed == 0) {
      done_sums_.push_back({part.second, std::move(content.words)});
      next = shares_.erase(next);
      continue;
    }
    for (auto& [number, sum] : sums_) {
      if (sum.part != part || sum.asked || sum.tasks.empty()) continue;
      sum.asked = true;
      members_.at(sum.member).sums.erase(part);
      send(sum.member, collect_down{number});
    }
    ++next;
  }
}

// ---- evaluation ----------------------------------------------------------------------------------------------------

void remote_pool::score(evaluation_work_ptr work) {
  constexpr std::size_t clients_in_block = 64;
  evaluation_ = std::move(work);
  ++evaluation_number_;
  scoring_failure_ = nullptr;
  const auto& scores = evaluation_->scores();
  tested_ = std::make_shared<const models::shared_parameters>(sent_model(run_, evaluation_->tested_model()));
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!scores.wants(i)) continue;
    if (blocks_.empty() || blocks_.rbegin()->second.clients.size() == clients_in_block)
      blocks_.emplace(++last_block_, scoring_block{});
    blocks_.rbegin()->second.clients.push_back(i);
  }
  if (blocks_.empty()) is_scored_ = true;
  give_work();
}

bool remote_pool::give_block(member_number number, member_state& member) {
  if (member.blocks >= blocks_per_thread * member.threads || scoring_failure_) return false;
  const auto found = std::ranges::find_if(blocks_, [](const auto& block) { return block.second.member == 0; });
  if (found == blocks_.end()) return false;
  auto& [block, content] = *found;
  const auto& scores = evaluation_->scores();
  const auto version = evaluation_->tested_model().version;
  scoring_down sent{evaluation_number_, block, version, {}};
  for (const auto i : content.clients) {
    const auto [in, client] = scores.client(i);
    auto& request = sent.clients.emplace_back(scoring_down::client{in, client});
    if (!scores.reads_private(i)) continue;
    const auto there = store_.load(client, values_);
    if (!there) {
      scoring_failure_ = std::make_shared<const error>(there.error());
      end_scoring();
      return false;
    }
    if (*there) request.own = models::packed_private(values_);
  }
  content.member = number;
  ++member.blocks;
  send_model(number, member, version, tested_);
  send(number, std::move(sent));
  return true;
}

/// After a failure: what nobody works on is not begun.
void remote_pool::end_scoring() {
  std::erase_if(blocks_, [](const auto& block) { return block.second.member == 0; });
  if (blocks_.empty()) is_scored_ = true;
}

result<bool> remote_pool::report(run_driver& driver) {
  bool any = !done_.empty() || !done_sums_.empty();
  driver.on_trained(done_);
  done_.clear();
  for (auto& [aggregator, words] : std::exchange(done_sums_, {}))
    driver.on_sums(aggregator, accumulator_state{std::move(words)});
  if (!std::exchange(is_scored_, false)) return any;
  evaluation_ = nullptr;
  tested_ = nullptr;
  if (auto scored = driver.on_scored(scoring_failure_); !scored) return tl::unexpected(scored.error());
  return true;
}

}  // namespace furlong::federated::cluster
