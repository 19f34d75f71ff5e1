#include "federated/simulation/cluster/update_sums.hpp"

#include <stdexcept>
#include <utility>

#include "federated/aggregation/contracts.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::federated::cluster {

update_sums::open_sum& update_sums::find(sum_number sum, const broadcast& model) {
  auto& found = sums_[sum];
  if (found.words) return found;
  // Without constants of the rule an accumulator depends on the settings only.
  found.is_reusable = model.reference.empty();
  found.words = found.is_reusable ? std::exchange(spare_, nullptr) : nullptr;
  if (!found.words) found.words = make_accumulator(run_, model.reference);
  return found;
}

/// Without adding it. Whether a rule takes an update is known once it has encoded it.
settlement update_sums::assess(const client_update& update, const broadcast& model) {
  if (run_.settings.aggregation->rule.traits.takes_all) return assess_update(run_, update, model, nullptr);
  const auto trial = make_accumulator(run_, model.reference);
  return assess_update(run_, update, model, trial.get());
}

void update_sums::take(training_job& job, sum_number sum, double freshness) {
  job.report = {};
  job.held = false;
  if (job.failure || job.use == update_use::returned) return;
  if (job.use == update_use::dropped) {
    job.report = settlement_of(run_, job.update);
    return;
  }
  if (job.use == update_use::added && freshness == 1.0 && sum != no_sum) {
    auto& open = find(sum, *job.from);
    job.report = assess_update(run_, job.update, *job.from, open.words.get());
    job.held = adds_to_sum(run_, job.update, *job.from, job.report);
    if (job.held) open.tasks.push_back(job.id);
    return;
  }
  job.report = assess(job.update, *job.from);
  job.held = adds_to_sum(run_, job.update, *job.from, job.report);
  if (!job.held || (job.use == update_use::added && sum == no_sum)) return;
  kept_.insert_or_assign(job.id, kept_update{std::exchange(job.update, {}), job.from});
  if (job.use == update_use::added) add(job.id, sum, freshness);
}

bool update_sums::add(const task_id& task, sum_number sum, double freshness) {
  const auto found = kept_.extract(task);
  if (found.empty()) return false;
  auto& open = find(sum, *found.mapped().model);
  const auto& kind = run_.settings.aggregation->rule.kind;
  ask_rule(kind, "in encode()", [&] {
    if (open.words->fold(found.mapped().update, freshness))
      throw std::logic_error("it refuses an update that it takes with another staleness: leave out takes_all");
  });
  open.tasks.push_back(task);
  return true;
}

partial_sum update_sums::collect(sum_number sum) {
  auto found = sums_.extract(sum);
  if (found.empty()) return {};
  auto& open = found.mapped();
  if (open.tasks.empty()) return {};
  partial_sum made{std::move(open.tasks), open.words->take().words};
  if (open.is_reusable) spare_ = std::move(open.words);
  return made;
}

}  // namespace furlong::federated::cluster
