// The typed interfaces of the actors of a run, and their messages. Messages within a process carry pointers to
// immutable values and are not encoded.
//
//   caller --run_request--> driver --job_block--> trainer, which sends it back, done
//   caller <--run_result--  driver --evaluation_share--> evaluator, which answers with evaluation_done
#pragma once

#include <atomic>
#include <caf/all.hpp>
#include <exception>
#include <memory>
#include <optional>

#include "federated/engine/run_driver.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::actors {

/// Runs to the end, or until stopped.
struct run_request {};
/// The outcome.
struct run_result {
  std::shared_ptr<result<federated::run_outcome>> outcome;
};

/// Driver to trainer: run these; and back: done. Only one of them holds the jobs at a time.
struct job_block {
  std::shared_ptr<std::vector<federated::training_job>> jobs;
  double seconds = 0.0;  ///< that the trainer took
};

/// Driver to evaluator: score what is left of it.
struct evaluation_share {
  federated::evaluation_work_ptr work;
};
/// Evaluator to driver: no client is left; or an error.
struct evaluation_done {
  std::shared_ptr<const error> failure;
};

}  // namespace furlong::actors

/// A message that stays in this process, and so needs no encoding.
#define FURLONG_LOCAL_MESSAGE(block, type) \
  CAF_ADD_TYPE_ID(block, (type))           \
  CAF_ALLOW_UNSAFE_MESSAGE_TYPE(type)

CAF_BEGIN_TYPE_ID_BLOCK(furlong, first_custom_type_id)
FURLONG_LOCAL_MESSAGE(furlong, furlong::actors::run_request)
FURLONG_LOCAL_MESSAGE(furlong, furlong::actors::run_result)
FURLONG_LOCAL_MESSAGE(furlong, furlong::actors::job_block)
FURLONG_LOCAL_MESSAGE(furlong, furlong::actors::evaluation_share)
FURLONG_LOCAL_MESSAGE(furlong, furlong::actors::evaluation_done)
CAF_END_TYPE_ID_BLOCK(furlong)

namespace furlong::actors {

using evaluator_actor = caf::typed_actor<caf::reacts_to<evaluation_share>>;
using trainer_actor = caf::typed_actor<caf::reacts_to<job_block>>;
using driver_actor = caf::typed_actor<caf::replies_to<run_request>::with<run_result>, caf::reacts_to<job_block>,
                                      caf::reacts_to<evaluation_done>>;
/// Receives the evaluators' answers.
using evaluation_client = caf::typed_actor<caf::reacts_to<evaluation_done>>;

/// Shared by all actors of a run. Outlives them.
struct run_context {
  const federated::experiment& e;
  federated::private_store& store;
  const federated::run_observer& observer;
  const std::atomic<bool>& stop;
  std::size_t threads = 1;
};

/// Runs a piece of an actor's work and converts an exception, which should never happen, into an error. The work
/// returns an error of its own, or nothing.
template <class Work>
[[nodiscard]] std::shared_ptr<const error> guarded(const char* place, Work work) {
  try {
    if constexpr (std::is_void_v<decltype(work())>)
      work();
    else
      return work();
    return nullptr;
  } catch (const std::exception& why) {
    return std::make_shared<const error>(error{error::kind::runtime, place, why.what(), ""});
  }
}

/// Sends an actor its run_request and waits for the outcome. A request to an actor that ended by an exception would
/// never be answered: that is an error with this text.
template <class Driver>
[[nodiscard]] result<federated::run_outcome> run_to_end(caf::scoped_actor& self, const Driver& driver,
                                                        const char* place, const std::string& ended) {
  std::shared_ptr<result<federated::run_outcome>> outcome;
  self->monitor(driver);
  self->send(driver, run_request{});
  self->receive([&](run_result& done) { outcome = std::move(done.outcome); },
                [&](caf::down_msg& down) {
                  outcome = std::make_shared<result<federated::run_outcome>>(
                      fail(error::kind::runtime, place, ended + caf::to_string(down.reason)));
                });
  return std::move(*outcome);
}

/// The buffers of the calling scheduler thread: an actor may use them until its handler returns.
[[nodiscard]] federated::workspace& thread_workspace();

}  // namespace furlong::actors
