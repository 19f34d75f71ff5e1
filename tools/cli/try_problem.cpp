#include "tools/cli/try_problem.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <span>
#include <vector>

#include "federated/client/scored_examples.hpp"
#include "federated/settings/evaluation.hpp"
#include "scenarios/python/problem.hpp"
#include "tools/cli/messages.hpp"

namespace furlong::tools {

namespace {

using federated::group;

constexpr std::uint32_t most_examples_tried = 2;

struct scored_group {
  group in = group::seen;
  std::span<const std::uint32_t> clients;
};

std::vector<scored_group> groups_of(const federated::experiment& experiment) {
  const auto& clients = *experiment.clients;
  const auto validation = clients.unseen_validation();
  std::vector<scored_group> groups;
  groups.push_back({group::validation, validation.empty() ? clients.training() : validation});
  groups.push_back({group::seen, clients.training()});
  groups.push_back({group::unseen, clients.unseen_test()});
  std::erase_if(groups, [&](const scored_group& scored) {
    return !experiment.settings.evaluation->groups.at(static_cast<std::size_t>(scored.in));
  });
  return groups;
}

/// The initial values of the problem, by tensor.
std::vector<models::tensor_view> views_of(const models::layout& tensors, std::vector<float>& values) {
  std::vector<models::tensor_view> views;
  for (std::size_t t = 0; t < tensors.count(); ++t)
    views.push_back({values.data() + tensors.offset(t), tensors[t].rows, tensors[t].cols});
  return views;
}

}  // namespace

result<void> try_problem(const session& run, std::size_t threads,
                         const std::optional<federated::protocol::client_range>& here) try {
  const auto& problem = run.data.problem;
  if (problem == nullptr) return {};
  const auto& experiment = run.experiment;
  const std::size_t clients_here = here ? here->last - here->first + 1 : problem->clients().size();
  if (auto opened = problem->prepare(std::min<std::size_t>(threads, clients_here)); !opened) {
    auto why = opened.error();
    why.what = error::kind::model;
    return tl::unexpected(std::move(why));
  }
  std::vector<float> values(problem->initial().begin(), problem->initial().end());
  const auto weights = views_of(*experiment.model->tensors(), values);
  for (const auto& [in, clients] : groups_of(experiment))
    for (const auto client : clients) {
      const auto which = federated::scored_part(*experiment.clients, in, client);
      const auto count = experiment.clients->count(client, which);
      if (count == 0 || (here && !here->contains(client))) continue;
      models::examples scratch;
      const auto batch =
          experiment.clients->load(client, which, scratch).slice(0, std::min(count, most_examples_tried));
      models::class_scores scores;
      experiment.model->score(weights, batch, scores);
      if (problem->predicts()) static_cast<void>(problem->predict(weights, batch.features));
      break;
    }
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
