#include "actors/client.hpp"

#include "federated/client/client_work.hpp"

namespace furlong::actors {

namespace {

using federated::protocol::client_machine;
using federated::protocol::client_step;

/// The steps of one task; each returns the next.
struct session {
  const run_context& run;
  const federated::broadcast& from;
  job& what;
  client_machine machine;
  federated::workspace& use;

  /// Damage (kind data) concerns one value.
  void store_refused(const error& why) const {
    what.failure = std::make_shared<const error>(why);
    what.store_failed = why.what == error::kind::runtime;
  }
  client_step load() {
    if (use.own.shape() != run.e.parts.private_) use.own = models::private_parameters(run.e.parts.private_);
    auto found = run.store.load(what.id.client, use.own);
    if (!found) store_refused(found.error());
    return machine.on_loaded(found.has_value(), found.value_or(false));
  }
  client_step train() {
    const auto next = machine.on_trained(client_work(run.e, from, what.id, machine.has_own(), use, what.update));
    if (machine.holds() && next == client_step::report)
      what.held = std::make_shared<const models::private_parameters>(use.own);
    return next;
  }
  client_step commit() {
    auto stored = run.store.commit(what.id.client, what.id.version, use.own);
    if (!stored) store_refused(stored.error());
    return machine.on_committed(stored.has_value());
  }
};

}  // namespace

federated::workspace& thread_workspace() {
  thread_local federated::workspace space;
  return space;
}

void client_state::perform(const federated::broadcast& from, job& what) const {
  what.failure = guarded("client", [&] {
    what.failure.reset();
    what.held.reset();
    what.store_failed = false;
    run_session(from, what);
    return std::move(what.failure);
  });
}

void client_state::run_session(const federated::broadcast& from, job& what) const {
  session now{*run, from, what,
              client_machine(what.id, run->e.settings.algorithm.traits.keeps_state, run->e.settings.own.commit),
              thread_workspace()};
  for (auto step = now.machine.on_task();;) {
    switch (step) {
      case client_step::load: step = now.load(); break;
      case client_step::train: step = now.train(); break;
      case client_step::commit: step = now.commit(); break;
      case client_step::report:
      case client_step::give_up:
      case client_step::done: return;
    }
  }
}

client_actor::behavior_type client_behavior(client_actor::stateful_pointer<client_state> self, const run_context* run,
                                            aggregator_actor parent) {
  self->state.run = run;
  self->state.parent = std::move(parent);
  return {
      [self](const work& given) {
        for (auto& one : *given.jobs) self->state.perform(*given.from, one);
        self->send(self->state.parent, report{given.jobs});
      },
  };
}

}  // namespace furlong::actors
