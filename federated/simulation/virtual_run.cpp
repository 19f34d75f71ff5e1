#include "federated/simulation/virtual_run.hpp"

#include "federated/algorithm_traits.hpp"
#include "federated/client/client_work.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/network/simulated_run.hpp"
#include "federated/simulation/timeline.hpp"

namespace furlong::federated {

namespace {

/// Loads the client's private values into `use`. Whether there are any; fails as the store does.
result<bool> load_private(const experiment& e, private_store& store, const training_job& job, workspace& use) {
  if (!e.settings.algorithm->traits.keeps_state) return false;
  if (use.own.shape() != e.parts.private_) use.own = models::private_parameters(e.parts.private_);
  if (!job.loaded) return store.load(job.id.client, use.own);
  if (job.own.values().empty()) return false;
  use.own = job.own;
  return true;
}

}  // namespace

void perform(const experiment& e, private_store& store, training_job& job, workspace& use) {
  const auto fail_job = [&](const error& why) {
    job.failure = std::make_shared<const error>(why);
    job.store_failed = why.what == error::kind::runtime;
  };
  job.failure.reset();
  job.store_failed = job.keeps = job.stored = false;
  const auto has_own = load_private(e, store, job, use);
  if (!has_own) return fail_job(has_own.error());
  job.keeps = client_work(e, *job.from, job.id, *has_own, use, job.update);
  if (!job.keeps) return;
  if (!job.stores || e.settings.own->commit != commit_kind::after_training) {
    job.own = use.own;
  } else if (auto kept = store.commit(job.id.client, job.id.version, use.own); !kept) {
    fail_job(kept.error());
  } else {
    job.stored = true;
  }
}

std::unique_ptr<virtual_run> make_virtual_run(const experiment& e, protocol::server_state start, private_store& store,
                                              const run_observer& observer) {
  if (e.settings.topology->nodes > 0)
    return std::make_unique<network::simulated_run>(e, std::move(start), store, observer);
  return std::make_unique<timeline>(e, std::move(start), store, observer);
}

}  // namespace furlong::federated
