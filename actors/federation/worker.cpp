#include "actors/federation/worker.hpp"

#include <spdlog/spdlog.h>

#include "actors/client.hpp"
#include "federated/client/client_scorer.hpp"

namespace furlong::actors::federation {

namespace {

/// The frame of the update; an update that cannot be encoded is a client that failed.
std::shared_ptr<const wire::encoded> encode(const node_run& run, job& what) {
  if (what.failure) return nullptr;
  auto frame = wire::encoder(run.e.parts.down, run.e.parts.up).encode(what.update, run.format, run.packing);
  if (frame) return std::make_shared<const wire::encoded>(std::move(*frame));
  what.failure = std::make_shared<const error>(frame.error());
  return nullptr;
}

void train(const worker_actor::pointer self, const node_actor& parent, node_work& given) {
  const std::atomic<bool> never_stops{false};
  const federated::run_observer nobody;
  const run_context context{given.run->e, *given.run->store, nobody, never_stops, 1};
  client_state client;
  client.run = &context;
  client.perform(*given.from, *given.what);
  auto frame = encode(*given.run, *given.what);
  given.run.reset();  // the node may open the store again as soon as it hears
  self->send(parent, node_done{given.what, std::move(frame)});
}

std::shared_ptr<protocol::evaluation_scores> scores_of(const node_scoring& given) {
  auto scores = std::make_shared<protocol::evaluation_scores>();
  scores->version = given.from->version;
  const federated::client_scorer scorer(given.run->e, given.from->model, given.run->store.get());
  std::size_t no_numbers = 0;
  for (const auto& [in, client] : *given.clients) {
    auto score = scorer.score(in, client, thread_workspace());
    // One that cannot be scored counts as one without examples. One that is not finite makes the figure not finite.
    no_numbers += score && !federated::is_finite(*score) ? 1 : 0;
    scores->each.push_back({in, client, score ? std::move(*score) : federated::client_score{}});
  }
  if (no_numbers > 0)
    spdlog::warn("version {}: the scores of {} clients are not finite; training diverged", scores->version, no_numbers);
  return scores;
}

void score(const worker_actor::pointer self, const node_actor& parent, node_scoring& given) {
  auto scores = scores_of(given);
  given.run.reset();
  self->send(parent, node_scored{given.session, std::move(scores)});
}

}  // namespace

worker_actor::behavior_type worker_behavior(worker_actor::pointer self, node_actor parent) {
  return {
      [self, parent](node_work& given) { train(self, parent, given); },
      [self, parent](node_scoring& given) { score(self, parent, given); },
  };
}

}  // namespace furlong::actors::federation
