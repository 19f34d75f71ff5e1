#include "federated/client/training_job.hpp"

#include "federated/client/client_work.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::federated {

namespace {

/// Loads the client's private values into `use`. Whether there are any; fails as the store does.
result<bool> load_private(const experiment& e, private_store& store, const training_job& job, workspace& use) {
  if (!e.settings.algorithm->traits.keeps_state) return false;
  if (use.own.shape() != e.parts.private_) use.own = models::private_parameters(e.parts.private_);
  if (!job.loaded) return store.load(job.id.client, use.own);
  if (job.own.empty()) return false;
  use.own = job.own.unpacked();
  return true;
}

}  // namespace

void perform(const experiment& e, private_store& store, training_job& job, workspace& use) try {
  job.failure.reset();
  job.store_failed = job.part_failed = job.keeps = job.stored = false;
  const auto fail_job = [&](const error& why) {
    job.failure = std::make_shared<const error>(why);
    job.store_failed = why.what == error::kind::runtime;
  };
  const auto has_own = load_private(e, store, job, use);
  if (!has_own) return fail_job(has_own.error());
  job.keeps = client_work(e, *job.from, job.id, *has_own, use, job.update);
  if (!job.keeps) return;
  if (!job.stores || e.settings.own->commit != commit_kind::after_training) {
    job.own = models::packed_private(use.own);
  } else if (auto kept = store.commit(job.id.client, job.id.version, use.own); !kept) {
    fail_job(kept.error());
  } else {
    job.stored = true;
  }
} catch (const models::broken_part& broken) {
  job.store_failed = true;  // it is not the client that failed
  job.part_failed = true;
  job.failure = std::make_shared<const error>(broken.why);
} catch (const models::model_failure& failed) {
  auto why = failed.why;
  job.store_failed = why.what != error::kind::data;
  if (job.store_failed) why.what = error::kind::model;
  job.failure = std::make_shared<const error>(std::move(why));
}

}  // namespace furlong::federated
