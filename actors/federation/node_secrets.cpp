#include <spdlog/spdlog.h>

#include "actors/federation/model_frames.hpp"
#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

namespace {

/// Masks the update of a task and makes its frame, if that is possible now.
void mask(node_pointer self, const federated::task_id& task) {
  auto& state = self->state;
  if (!state.plain.contains(task) || !state.secrets->can_mask(task)) return;
  auto [update, from] = std::move(state.plain.extract(task).mapped());
  const auto give_up = [&](const std::string& why) {
    spdlog::error("client {} failed: {}", task.client, why);
    perform_all(self, state.machine->on_unmaskable(task));
  };
  try {
    if (const auto refused = state.secrets->mask(from, update))
      return give_up("its update cannot be sent: " + std::string(federated::to_string(*refused)));
  } catch (const models::broken_part& broken) {  // the rule, which makes the words that are masked
    return finish(self, "the aggregation rule failed", broken.why);
  }
  auto frame = wire::encoder(state.run->e.parts.down, state.run->e.parts.up).encode(update, state.run->format);
  if (!frame) return give_up(frame.error().text());
  state.updates[task] = std::make_shared<const wire::encoded>(std::move(*frame));
}

}  // namespace

void begin_secrets(node_state& state) {
  state.secrets.emplace(state.run->e, state.run->identity, state.run->confirmed.lists);
}

void send_keys(node_pointer self, const protocol::assignment& given) {
  auto& state = self->state;
  protocol::letters keys;
  const auto from = state.machine->model(given.version);
  for (const auto& who : given.tasks)
    if (const federated::task_id id{given.run, given.version, who.client, who.attempt};
        from && state.machine->wants(id))
      keys.each.push_back(state.secrets->enter(id, from));
  if (state.channel && !keys.each.empty()) expect(self, send_letters(*state.channel, keys));
}

void prepare_masked(node_pointer self, const federated::task_id& task) {
  auto& state = self->state;
  mask(self, task);
  if (state.over) return;
  // An asynchronous sum is over clients that wait for it with their updates.
  const auto waiting = state.plain.find(task);
  if (state.channel && waiting != state.plain.end() && state.secrets->enters_trained())
    expect(self, send_letters(*state.channel, {{state.secrets->enter(task, waiting->second.from)}}));
  else if (waiting == state.plain.end() && !state.updates.contains(task))
    perform_all(self, state.machine->on_unmaskable(task));
}

void on_letters(node_pointer self, const protocol::letters& got) {
  auto& state = self->state;
  protocol::letters answers;
  for (const auto& letter : got.each) {
    auto answer = state.secrets->on_letter(letter);
    if (!answer.refused.empty()) spdlog::warn("secure aggregation: {}", answer.refused);
    if (answer.letter) answers.each.push_back(std::move(*answer.letter));
    if (answer.ready && state.plain.contains(letter.task) && state.machine->wants(letter.task))
      perform_all(self, {protocol::send_update{letter.task}});
    if (answer.over) perform_all(self, state.machine->on_unmaskable(letter.task));
    if (state.over) return;
  }
  const auto& confirmed = state.run->confirmed;
  if (confirmed.lists)
    if (auto kept = confirmed.keep(confirmed.lists->take_new()); !kept)
      return finish(self, "its store failed", kept.error());
  if (state.channel && !answers.each.empty()) expect(self, send_letters(*state.channel, answers));
}

}  // namespace furlong::actors::federation
