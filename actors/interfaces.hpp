// Every actor's typed interface, and every message between them. The messages of one process carry pointers to
// immutable values; nothing is copied and nothing is encoded.
//
// Under the real clock:
//   caller --run_request--> server --share--> aggregator --work--> client
//   caller <--run_result--  server <--partial-- aggregator <--report-- client
//                           server --evaluation_share--> evaluator, which answers with evaluation_done
// In virtual time a timeline stands in for server and aggregators:
//   caller --run_request--> timeline --training--> trainer, which sends it back, done
//   caller <--run_result--  timeline --evaluation_share--> evaluator
#pragma once

#include <atomic>
#include <caf/all.hpp>
#include <exception>
#include <memory>
#include <optional>

#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/run_observer.hpp"
#include "federated/simulation/virtual_run.hpp"

namespace furlong::actors {

/// Run to the end, or until asked to stop.
struct run_request {};
/// How it went.
struct run_result {
  std::shared_ptr<result<federated::run_outcome>> outcome;
};

/// Server to aggregator: your part of this round's cohort.
struct share {
  federated::broadcast_ptr from;
  std::shared_ptr<const std::vector<federated::task_id>> tasks;
};
/// Aggregator to server: all of it, done.
struct partial {
  std::shared_ptr<federated::protocol::send_partial> content;
};

/// One client's task, and what came of it: the update, or the reason why there is none.
struct job {
  federated::task_id id;
  federated::client_update update;
  std::shared_ptr<const error> failure;
  /// The failure is of the whole store, which cannot be read or written, and not of this client's value.
  bool store_failed = false;
  /// Trained private values that are to be kept once the update is acknowledged (commit = "after-ack").
  std::shared_ptr<const models::private_parameters> held = {};
};
/// Some tasks that one client actor works through, one client after the other. The block goes to and fro between
/// aggregator and client: only one of them holds it at a time, and its buffers serve again.
using block = std::vector<job>;
/// Aggregator to client: work on these.
struct work {
  federated::broadcast_ptr from;
  std::shared_ptr<block> jobs;
};
/// Client to aggregator: done.
struct report {
  std::shared_ptr<block> jobs;
};

/// Timeline to trainer: do these; and back: done. Only one of them holds the block at a time.
struct training {
  std::shared_ptr<std::vector<federated::training_job>> jobs;
};

/// An evaluation that several evaluators share: each takes the next client until none is left.
/// It holds the model that it evaluates: evaluators may still be at it when the server has ended.
struct evaluation_work {
  evaluation_work(const federated::experiment& e, models::shared_parameters of, federated::private_store& store,
                  std::uint64_t version, const federated::participation_ledger* ledger)
      : model(std::move(of)), scores(e, model, &store, version, ledger) {}
  const models::shared_parameters model;
  federated::evaluation scores;
  std::atomic<std::size_t> next{0};
};
struct evaluation_share {
  std::shared_ptr<evaluation_work> work;
};
/// Evaluator to server: no client is left; or what failed.
struct evaluation_done {
  std::shared_ptr<const error> failure;
};

}  // namespace furlong::actors

CAF_BEGIN_TYPE_ID_BLOCK(furlong, first_custom_type_id)
CAF_ADD_TYPE_ID(furlong, (furlong::actors::run_request))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::run_result))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::share))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::partial))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::work))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::report))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::training))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::evaluation_share))
CAF_ADD_TYPE_ID(furlong, (furlong::actors::evaluation_done))
CAF_END_TYPE_ID_BLOCK(furlong)

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::run_request)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::run_result)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::share)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::partial)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::work)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::report)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::training)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::evaluation_share)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(furlong::actors::evaluation_done)

namespace furlong::actors {

using client_actor = caf::typed_actor<caf::reacts_to<work>>;
using aggregator_actor = caf::typed_actor<caf::reacts_to<share>, caf::reacts_to<report>>;
using evaluator_actor = caf::typed_actor<caf::reacts_to<evaluation_share>>;
using trainer_actor = caf::typed_actor<caf::reacts_to<training>>;
using server_actor = caf::typed_actor<caf::replies_to<run_request>::with<run_result>, caf::reacts_to<partial>,
                                      caf::reacts_to<evaluation_done>>;
using timeline_actor = caf::typed_actor<caf::replies_to<run_request>::with<run_result>, caf::reacts_to<training>,
                                        caf::reacts_to<evaluation_done>>;
/// What evaluators answer.
using evaluation_client = caf::typed_actor<caf::reacts_to<evaluation_done>>;

/// What all actors of a run look at. Outlives them.
struct run_context {
  const federated::experiment& e;
  federated::private_store& store;
  const federated::run_observer& observer;
  const std::atomic<bool>& stop;
  std::size_t threads = 1;
};

/// Runs a piece of an actor's work and turns an exception, which should never happen, into the error that it is.
template <class Work>
[[nodiscard]] std::shared_ptr<const error> guarded(const char* place, Work work) {
  try {
    return work();
  } catch (const std::exception& why) {
    return std::make_shared<const error>(error{error::kind::runtime, place, why.what(), ""});
  }
}

/// The buffers of the calling scheduler thread: an actor may use them until its handler returns.
[[nodiscard]] federated::workspace& thread_workspace();

}  // namespace furlong::actors
