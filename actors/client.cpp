#include "actors/client.hpp"

#include "federated/client_work.hpp"

namespace furlong::actors {

namespace {

using federated::protocol::client_machine;
using federated::protocol::client_step;

/// One task's steps, each returning the next one.
struct session {
  const run_context& run;
  const task& what;
  client_machine machine;
  federated::workspace& use;
  std::shared_ptr<federated::client_update> update = std::make_shared<federated::client_update>();
  std::shared_ptr<const error> failure = {};

  client_step load() {
    if (use.own.shape() != run.e.parts.private_) use.own = models::private_parameters(run.e.parts.private_);
    auto found = run.store.load(what.id.client, use.own);
    if (!found) failure = std::make_shared<const error>(found.error());
    return machine.on_loaded(found.has_value(), found.value_or(false));
  }
  client_step train() {
    return machine.on_trained(client_work(run.e, *what.from, what.id, machine.has_own(), use, *update));
  }
  client_step commit() {
    auto stored = run.store.commit(what.id.client, what.id.version, use.own);
    if (!stored) failure = std::make_shared<const error>(stored.error());
    return machine.on_committed(stored.has_value());
  }
};

}  // namespace

federated::workspace& thread_workspace() {
  thread_local federated::workspace space;
  return space;
}

report client_state::work(const task& what) const {
  session now{*run, what, client_machine(what.id, federated::is_stateful(run->e.settings.algorithm)),
              thread_workspace()};
  for (auto step = now.machine.on_task();;) {
    switch (step) {
      case client_step::load: step = now.load(); break;
      case client_step::train: step = now.train(); break;
      case client_step::commit: step = now.commit(); break;
      case client_step::report: return {what.id, std::move(now.update), nullptr};
      case client_step::give_up: return {what.id, nullptr, std::move(now.failure)};
    }
  }
}

client_actor::behavior_type client_behavior(client_actor::stateful_pointer<client_state> self, const run_context* run,
                                            aggregator_actor parent) {
  self->state.run = run;
  self->state.parent = std::move(parent);
  return {
      [self](const task& what) { self->send(self->state.parent, self->state.work(what)); },
  };
}

}  // namespace furlong::actors
