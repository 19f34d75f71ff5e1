#include <spdlog/spdlog.h>

#include "actors/federation/node.hpp"
#include "actors/interfaces.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/settings/aggregation.hpp"

namespace furlong::actors::federation {

namespace {

/// Trains and returns the encoded update. A client whose update cannot be encoded has failed.
std::shared_ptr<const wire::encoded> work(const node_run& run, federated::training_job& job) {
  job.stores = true;
  federated::perform(run.e, *run.store, job, thread_workspace());
  if (job.failure || run.e.settings.privacy->secure_aggregation) return nullptr;  // it is to be masked before
  auto frame = wire::encoder(run.e.parts.down, run.e.parts.up).encode(job.update, run.format, run.packing);
  if (frame) return std::make_shared<const wire::encoded>(std::move(*frame));
  job.failure = std::make_shared<const error>(frame.error());
  return nullptr;
}

void train(const worker_actor::pointer self, const node_actor& parent, node_training& given) {
  auto& job = *given.job;
  if (auto failed = guarded("client", [&] { given.frame = work(*given.run, job); })) job.failure = std::move(failed);
  given.run.reset();  // the node may reopen the store again as soon as it is notified
  self->send(parent, std::move(given));
}

std::shared_ptr<protocol::evaluation_scores> scores_of(const node_scoring& given) {
  auto scores = std::make_shared<protocol::evaluation_scores>();
  scores->version = given.from->version;
  const federated::client_scorer scorer(given.run->e, given.from->model, given.from->version, given.run->store.get());
  std::vector<federated::unscored_client> unscored;
  std::optional<error> failure;
  for (const auto& [in, client] : *given.clients) {
    auto score = scorer.score(in, client, thread_workspace());
    if (score)  // what a gateway would refuse, and with it the session
      if (const auto why = federated::implausible(*score, *given.run->e.model))
        score = fail(error::kind::runtime, "client " + std::to_string(client), "its score has " + *why,
                     "correct score() or metrics() of the model " + std::string(given.run->e.model->kind()));
    if (!score && !failure) failure = score.error();
    // The server counts scores that are not finite, and so clients that cannot be scored.
    if (score && !federated::is_finite(*score))
      unscored.push_back({in, client, not_finite(*score, *given.run->e.model)});
    scores->each.push_back({in, client, score ? std::move(*score) : federated::failed_score()});
  }
  if (failure) spdlog::error("version {}: clients are not scored: {}", scores->version, failure->text());
  given.run->unscored->warn(*given.run->e.clients, scores->version, unscored);
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
      [self, parent](node_training& given) { train(self, parent, given); },
      [self, parent](node_scoring& given) { score(self, parent, given); },
  };
}

}  // namespace furlong::actors::federation
