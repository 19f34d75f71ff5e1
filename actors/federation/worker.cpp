#include <spdlog/spdlog.h>

#include "actors/federation/node.hpp"
#include "actors/interfaces.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

/// Trains and encodes the update. A client whose update cannot be encoded has failed.
void work(const processes::node_run& run, processes::trained_task& task) {
  auto& job = task.job;
  const auto& e = *run.e;
  job.stores = run.work.workers_store;
  federated::perform(e, *run.store, job, thread_workspace());
  if (job.failure || e.settings.privacy->secure_aggregation) return;  // it is to be masked before
  const auto& network = *e.settings.network;
  auto frame =
      wire::encoder(e.parts.down, e.parts.up).encode(job.update, wire::format_of(network), wire::packing_of(network));
  if (frame)
    task.update = std::make_shared<const update_frame>(std::move(*frame));
  else
    job.failure = std::make_shared<const error>(frame.error());
}

void train(const worker_actor::pointer self, const node_actor& parent, node_training& given) {
  auto& task = *given.task;
  if (auto failed = guarded("client", [&] { work(*given.run, task); })) task.job.failure = std::move(failed);
  task.trained_at = steady_now();
  given.run.reset();  // the node may reopen the store again as soon as it is notified
  self->send(parent, std::move(given));
}

std::shared_ptr<protocol::evaluation_scores> scores_of(const node_scoring& given) {
  const auto& e = *given.run->e;
  const auto& from = *given.asked->from;
  auto scores = std::make_shared<protocol::evaluation_scores>();
  scores->version = from.version;
  const federated::client_scorer scorer(e, from.model, from.version, given.run->store.get());
  std::vector<federated::unscored_client> unscored;
  std::optional<error> failure;
  for (const auto& [in, client] : given.asked->clients) {
    auto score = scorer.score(in, client, thread_workspace());
    if (score)  // what a gateway would refuse, and with it the session
      if (const auto why = federated::implausible(*score, *e.model))
        score = fail(error::kind::runtime, "client " + std::to_string(client), "its score has " + *why,
                     "correct score() or metrics() of the model " + std::string(e.model->kind()));
    if (!score && !failure) failure = score.error();
    // The server counts scores that are not finite, and so clients that cannot be scored.
    if (score && !federated::is_finite(*score)) unscored.push_back({in, client, not_finite(*score, *e.model)});
    scores->each.push_back({in, client, score ? std::move(*score) : federated::failed_score()});
  }
  if (failure) spdlog::error("version {}: clients are not scored: {}", scores->version, failure->text());
  given.unscored->warn(*e.clients, scores->version, unscored);
  return scores;
}

void score(const worker_actor::pointer self, const node_actor& parent, node_scoring& given) {
  auto scores = scores_of(given);
  given.run.reset();
  self->send(parent, node_scored{given.asked->session, std::move(scores)});
}

}  // namespace

worker_actor::behavior_type worker_behavior(worker_actor::pointer self, node_actor parent) {
  return {
      [self, parent](node_training& given) { train(self, parent, given); },
      [self, parent](node_scoring& given) { score(self, parent, given); },
  };
}

}  // namespace furlong::actors::federation
