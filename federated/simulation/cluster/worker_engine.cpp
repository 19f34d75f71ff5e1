#include "federated/simulation/cluster/worker_engine.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "models/kernels/kernels.hpp"

namespace furlong::federated::cluster {

namespace {

tl::unexpected<error> unexpected_message(std::string why) {
  return fail(error::kind::runtime, "message of the head", std::move(why),
              "run the same version of furlong at the head and at all workers");
}

}  // namespace

worker_engine::worker_engine(const experiment& run, std::size_t slots) : run_(run) {
  for (std::size_t i = 0; i < slots; ++i) slots_.emplace_back(run);
}

result<void> worker_engine::on_message(to_worker&& message) {
  return std::visit([this](auto& content) { return take(std::move(content)); }, message);
}

result<std::shared_ptr<broadcast>> worker_engine::find_model(std::uint64_t version) const {
  const auto found = std::ranges::find(models_, version, &held_model::version);
  if (found == models_.end())
    return unexpected_message("is about the model of version " + std::to_string(version) + ", which is not here");
  return found->content;
}

result<void> worker_engine::take(model_down&& sent) {
  if (find_model(sent.version)) return {};
  if (models_.size() == models_kept) models_.pop_front();
  models_.push_back({sent.version, std::make_shared<broadcast>(broadcast{run_.run, sent.version, *sent.model, {}})});
  return {};
}

result<void> worker_engine::take(jobs_down&& given) {
  const auto model = find_model(given.version);
  if (!model) return tl::unexpected(model.error());
  auto& terms = **model;
  // The first jobs of the version: until now at most its evaluation has looked at it, and not at these.
  if (terms.reference != given.reference) terms.reference = std::move(given.reference);
  if (terms.limits != given.limits) terms.limits = given.limits;
  for (auto& request : given.jobs) {
    training_work work{.sum = request.sum, .freshness = request.freshness};
    work.job.id = {run_.run, given.version, request.client, request.attempt};
    work.job.from = *model;
    work.job.number = request.number;
    work.job.use = request.use;
    work.job.loaded = true;
    work.job.own = std::move(request.own);
    waiting_.emplace_back(std::move(work));
  }
  return {};
}

result<void> worker_engine::take(orders_down&& given) {
  for (const auto& order : given.orders) {
    const auto found = kept_.find(order.task);
    if (found == kept_.end())
      return unexpected_message("is about an update of client " + std::to_string(order.task.client) +
                                ", which is not here");
    slots_[found->second].waiting.emplace_back(order);
    kept_.erase(found);
  }
  return {};
}

result<void> worker_engine::take(collect_down&& wanted) {
  collected_[wanted.sum].missing = slots_.size();
  for (auto& slot : slots_) slot.waiting.emplace_back(collecting_work{wanted.sum, {}});
  return {};
}

result<void> worker_engine::take(discard_down&& gone) {
  // Updates of jobs that have not begun are assessed and not added; what slots have of the sum, they collect.
  for (auto& item : waiting_)
    if (auto* work = std::get_if<training_work>(&item); work != nullptr && work->sum == gone.sum) work->sum = no_sum;
  for (auto& slot : slots_) slot.waiting.emplace_back(collecting_work{gone.sum, {}});
  return {};
}

result<void> worker_engine::take(scoring_down&& wanted) {
  const auto model = find_model(wanted.version);
  if (!model) return tl::unexpected(model.error());
  if (!scorer_ || evaluation_ != wanted.evaluation) {
    evaluation_ = wanted.evaluation;
    scorer_ = std::make_shared<client_scorer>(run_, (*model)->model, wanted.version, &carried_);
  }
  waiting_.emplace_back(scoring_work{std::move(wanted), scorer_, *model, {}});
  return {};
}

std::optional<worker_engine::work_item> worker_engine::next(std::size_t slot) {
  auto& queue = slots_[slot].waiting.empty() ? waiting_ : slots_[slot].waiting;
  if (queue.empty()) return std::nullopt;
  std::optional<work_item> item = std::move(queue.front());
  queue.pop_front();
  return item;
}

void worker_engine::run(std::size_t slot, work_item& item, workspace& use) {
  auto& sums = slots_[slot].sums;
  if (auto* work = std::get_if<training_work>(&item)) {
    perform(run_, carried_, work->job, use);
    sums.take(work->job, work->sum, work->freshness);
  } else if (auto* scoring = std::get_if<scoring_work>(&item)) {
    for (auto& client : scoring->request.clients) {
      const bool has_values = !client.own.empty();
      if (has_values) carried_.put(client.number, std::move(client.own));
      auto score = scoring->scorer->score(client.in, client.number, use);
      if (has_values) carried_.remove(client.number);
      if (!score) {
        scoring->answer.failure = std::make_shared<const error>(score.error());
        return;
      }
      scoring->answer.scores.push_back(std::move(*score));
    }
  } else if (const auto* order = std::get_if<update_order>(&item)) {
    if (order->counts)
      sums.add(order->task, order->sum, order->freshness);
    else
      sums.drop(order->task);
  } else {
    auto& collecting = std::get<collecting_work>(item);
    collecting.part = sums.collect(collecting.sum);
  }
}

void worker_engine::done(std::size_t slot, work_item&& item) {
  std::visit([this, slot](auto& work) { finish(slot, std::move(work)); }, item);
}

void worker_engine::finish(std::size_t slot, training_work&& work) {
  auto& job = work.job;
  if (job.held && job.use == update_use::kept) kept_.insert_or_assign(job.id, slot);
  job_report made{.number = job.number,
                  .report = std::move(job.report),
                  .held = job.held,
                  .keeps = job.keeps,
                  .failure = std::move(job.failure),
                  .store_failed = job.store_failed,
                  .part_failed = job.part_failed,
                  .seconds = work.seconds};
  if (job.keeps) made.own = std::move(job.own);
  if (job.use == update_use::returned) made.update = std::move(job.update);
  if (outgoing_.empty() || !std::holds_alternative<reports_up>(outgoing_.back())) outgoing_.emplace_back(reports_up{});
  std::get<reports_up>(outgoing_.back()).reports.push_back(std::move(made));
}

void worker_engine::finish(std::size_t /*slot*/, scoring_work&& work) {
  work.answer.block = work.request.block;
  outgoing_.emplace_back(std::move(work.answer));
}

void worker_engine::finish(std::size_t /*slot*/, update_order&& /*order*/) {}

void worker_engine::finish(std::size_t /*slot*/, collecting_work&& work) {
  const auto found = collected_.find(work.sum);
  if (found == collected_.end()) return;  // void
  auto& [missing, content] = found->second;
  std::ranges::move(work.part.tasks, std::back_inserter(content.tasks));
  if (content.words.empty())
    content.words.swap(work.part.words);
  else if (!work.part.words.empty())
    models::kernels().add_fixed(content.words.data(), work.part.words.data(), content.words.size());
  if (--missing > 0) return;
  outgoing_.emplace_back(sum_up{work.sum, std::move(content)});
  collected_.erase(found);
}

}  // namespace furlong::federated::cluster
