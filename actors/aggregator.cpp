#include "actors/aggregator.hpp"

#include <spdlog/spdlog.h>

#include "actors/client.hpp"

namespace furlong::actors {

namespace {

using federated::protocol::send_partial;
using federated::protocol::start_client;
using self_pointer = aggregator_actor::stateful_pointer<aggregator_state>;

// Clients at work at once, per scheduler thread: enough that no thread waits, few enough that updates stay in cache.
constexpr std::size_t clients_per_thread = 8;

/// An idle client, or a new one. Clients end with their aggregator.
client_actor take_client(self_pointer self) {
  auto& idle = self->state.idle;
  if (idle.empty()) return self->spawn<caf::linked>(client_behavior, self->state.run, aggregator_actor(self));
  auto client = std::move(idle.back());
  idle.pop_back();
  return client;
}

void perform(self_pointer self, start_client& effect) {
  self->send(take_client(self), task{effect.task, std::move(effect.from)});
}

void perform(self_pointer self, send_partial& effect) {
  self->send(self->state.parent,
             partial{std::make_shared<const federated::partial_aggregate>(std::move(effect.partial)), effect.bytes_up});
}

void perform_all(self_pointer self) {
  for (auto& effect : self->state.effects) std::visit([&](auto& one) { perform(self, one); }, effect);
  self->state.effects.clear();
}

}  // namespace

aggregator_actor::behavior_type aggregator_behavior(self_pointer self, const run_context* run, server_actor parent,
                                                    std::uint32_t number) {
  self->state.run = run;
  self->state.parent = std::move(parent);
  self->state.machine.emplace(run->e, number, clients_per_thread * run->threads);
  return {
      [self](const share& given) {
        self->state.machine->on_assignment(given.from, *given.clients, self->state.effects);
        perform_all(self);
      },
      [self](const report& got) {
        auto& state = self->state;
        state.idle.push_back(caf::actor_cast<client_actor>(self->current_sender()));
        if (got.update) {
          state.machine->on_update(*got.update, state.effects);
        } else {
          spdlog::error("client {} gave up: {}", got.id.client, got.failure ? got.failure->text() : "unknown reason");
          state.machine->on_failure(got.id, state.effects);
        }
        perform_all(self);
      },
  };
}

}  // namespace furlong::actors
