#include "tools/cli/try_problem.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <vector>

#include "federated/client/personalization.hpp"
#include "federated/client/scored_examples.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/state/broadcasts.hpp"
#include "federated/state/server_state.hpp"
#include "scenarios/python/algorithm.hpp"
#include "tools/runs/messages.hpp"

namespace furlong::tools {

namespace {

using federated::group;

constexpr std::size_t most_examples_tried = 2;

struct scored_group {
  group kind = group::seen;
  std::span<const std::uint32_t> clients;
};

std::vector<scored_group> groups_of(const federated::experiment& experiment) {
  const auto& clients = *experiment.clients;
  const auto validation = clients.unseen_validation();
  std::vector<scored_group> groups;
  groups.push_back({group::validation, validation.empty() ? clients.training() : validation});
  groups.push_back({group::seen, clients.training()});
  groups.push_back({group::unseen, clients.unseen_test()});
  groups.push_back({group::train, clients.training()});
  std::erase_if(groups, [&](const scored_group& scored) {
    return !experiment.settings.evaluation->groups.at(static_cast<std::size_t>(scored.kind));
  });
  return groups;
}

/// As an evaluation of a client that has kept nothing does (client_scorer).
federated::scored_examples examples_of(const federated::experiment& experiment, group scored, std::uint32_t client,
                                       const federated::client_kind& kind) {
  if (!kind.trains) return federated::split_held_out(experiment, scored, client);
  federated::scored_examples found;
  models::examples scratch;
  found.asked.append(
      experiment.clients->load(client, federated::scored_part(*experiment.clients, scored, client), scratch));
  scratch.clear();
  if (experiment.settings.algorithm->does->personalizes_from_examples(experiment, kind))
    found.known.append(experiment.clients->load(client, federated::part::train, scratch));
  return found;
}

/// False: the client has nothing to score.
bool try_client(const prepared_run& run, const models::shared_parameters& sent, group scored, std::uint32_t client) {
  const auto& experiment = run.experiment;
  const federated::client_kind kind{.trains = std::ranges::binary_search(experiment.clients->training(), client)};
  const auto examples = examples_of(experiment, scored, client, kind);
  const bool is_whole = run.data.problem->scores_clients();
  const auto count =
      is_whole ? examples.asked.labels.size() : std::min(examples.asked.labels.size(), most_examples_tried);
  if (count == 0) return false;
  const auto asked = examples.asked.view().slice(0, static_cast<std::uint32_t>(count));
  federated::workspace use;
  use.own = models::private_parameters(experiment.parts.private_);
  initial_private(experiment, 0, client, use.own);
  use.weights.gather(*experiment.model, experiment.parts, sent, use.own, examples.known.view(), client, false, asked);
  federated::personal_task task(experiment, sent, client, use, kind.has_state);
  models::class_scores scores;
  if (!experiment.settings.algorithm->does->score(task, kind, asked, scores))
    experiment.model->score_in_batches(use.weights.weights(), asked, experiment.settings.evaluation->batch_size,
                                       scores);
  if (run.data.problem->predicts())
    static_cast<void>(
        scenarios::predict(*run.data.problem, task, kind, asked.features.first(std::min(count, most_examples_tried))));
  return true;
}

}  // namespace

result<void> try_problem(const prepared_run& run, std::size_t threads,
                         const std::optional<federated::client_range>& here) try {
  const auto& problem = run.data.problem;
  if (problem == nullptr) return {};
  const auto& experiment = run.experiment;
  const std::size_t clients_here = here ? here->last - here->first + 1 : problem->clients().size();
  if (auto opened = problem->prepare(std::min<std::size_t>(threads, clients_here)); !opened) {
    auto why = opened.error();
    why.what = error::kind::model;
    return tl::unexpected(std::move(why));
  }
  const auto state = federated::initial_state(experiment);
  const auto sent = sent_model(experiment, state.last());
  for (const auto& [kind, clients] : groups_of(experiment))
    for (const auto client : clients)
      if ((!here || here->contains(client)) && try_client(run, sent, kind, client)) break;
  return {};
} catch (const models::model_failure& failed) {
  auto why = failed.why;
  why.reason = "before the first round: " + why.reason;
  if (why.what == error::kind::data) {  // python.on_error = "drop"
    fmt::print(stderr, "warning: {}\n", for_people(why.text()));
    return {};
  }
  why.what = error::kind::model;
  return tl::unexpected(std::move(why));
}

}  // namespace furlong::tools
