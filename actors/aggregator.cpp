#include "actors/aggregator.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/client.hpp"

namespace furlong::actors {

namespace {

using federated::protocol::send_partial;
using federated::protocol::start_client;
using self_pointer = aggregator_actor::stateful_pointer<aggregator_state>;

// A message between actors costs as much as a tenth of a small client's training, so tasks are sent in blocks. Blocks
// are small enough that every thread gets several per round, so that none waits long at its end.
constexpr std::size_t most_tasks_in_block = 8;
constexpr std::size_t blocks_per_thread = 4;

std::size_t block_size_for(const run_context& run) {
  const std::size_t share_size = run.e.settings.participation.per_round / run.e.settings.aggregators;
  return std::clamp<std::size_t>(share_size / (blocks_per_thread * run.threads), 1, most_tasks_in_block);
}

/// Blocks in flight or waiting, of one aggregator. One if every thread has its own aggregator: client and aggregator
/// then alternate on one thread, and sums and updates stay in its cache. Otherwise two per thread, so that no thread
/// waits for aggregation.
std::size_t blocks_in_flight(const run_context& run) {
  const std::size_t aggregators = run.e.settings.aggregators;
  return aggregators >= run.threads ? 1 : 2 * (run.threads + aggregators - 1) / aggregators;
}

/// An idle client, or a new one. Clients are linked to their aggregator.
aggregator_state::idle_client take_client(self_pointer self) {
  auto& idle = self->state.idle;
  if (idle.empty())
    return {self->spawn<caf::linked>(client_behavior, self->state.run, aggregator_actor(self)),
            std::make_shared<block>()};
  auto client = std::move(idle.back());
  idle.pop_back();
  return client;
}

/// Assigns the tasks that are ready, in blocks.
void assign_blocks(self_pointer self) {
  auto& state = self->state;
  for (std::size_t done = 0; done < state.ready.size();) {
    const auto count = std::min(state.block_size, state.ready.size() - done);
    auto client = take_client(self);
    client.jobs->resize(count);
    for (std::size_t i = 0; i < count; ++i) (*client.jobs)[i].id = state.ready[done + i];
    done += count;
    self->send(client.actor, work{state.from, std::move(client.jobs)});
  }
  state.ready.clear();
}

void perform(self_pointer self, start_client& effect) {
  self->state.from = std::move(effect.from);
  self->state.ready.push_back(effect.task);
}

void perform(self_pointer self, send_partial& effect) {
  self->send(self->state.parent, partial{std::make_shared<send_partial>(std::move(effect))});
}

void perform(self_pointer, federated::protocol::report_settled&) {}  // sent with the partial
void perform(self_pointer, federated::protocol::give_back&) {}

void perform_all(self_pointer self) {
  for (auto& effect : self->state.effects) std::visit([&](auto& one) { perform(self, one); }, effect);
  self->state.effects.clear();
  assign_blocks(self);
}

void settle(self_pointer self, const job& done) {
  auto& state = self->state;
  if (!done.failure) {
    state.machine->on_update(done.update, state.effects);
    return;
  }
  spdlog::error("client {} failed: {}", done.id.client, done.failure->text());
  state.machine->on_failure(done.id, state.effects);
}

}  // namespace

aggregator_actor::behavior_type aggregator_behavior(self_pointer self, const run_context* run, server_actor parent,
                                                    std::uint32_t number) {
  self->state.run = run;
  self->state.parent = std::move(parent);
  self->state.block_size = block_size_for(*run);
  self->state.machine.emplace(run->e, number, self->state.block_size * blocks_in_flight(*run),
                              federated::protocol::notices::with_partial);
  return {
      [self](const share& given) {
        self->state.machine->on_assignment(given.from, *given.tasks, true, self->state.effects);
        perform_all(self);
      },
      [self](const report& got) {
        for (const auto& done : *got.jobs) settle(self, done);
        self->state.idle.push_back({caf::actor_cast<client_actor>(self->current_sender()), got.jobs});
        perform_all(self);
      },
  };
}

}  // namespace furlong::actors
