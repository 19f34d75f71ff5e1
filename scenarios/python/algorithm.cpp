#include "scenarios/python/algorithm.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/settings.hpp"
#include "models/work_scope.hpp"
#include "scenarios/python/loop_settings.hpp"
#include "scenarios/python/server_request.hpp"
#include "scenarios/python/task_request.hpp"

namespace furlong::scenarios {

namespace {

using federated::client_kind;
using federated::local_loop;
using federated::local_task;
using federated::local_values;
using federated::personal_source;
using federated::personal_task;
using federated::place;

std::vector<std::string> private_names(const federated::experiment& run) {
  std::vector<std::string> own;
  for (const auto t : run.parts.own_tensors) own.push_back((*run.parts.model)[t].name);
  return own;
}

std::string settings_of(const federated::experiment& experiment, const local_loop& loop) {
  return text_of({.step = loop.step,
                  .epochs = loop.epochs,
                  .batch_size = loop.batch_size,
                  .max_steps = loop.max_steps,
                  .shuffle = loop.shuffle,
                  .private_tensors = private_names(experiment),
                  .rounds = experiment.settings.rounds,
                  .task = {{experiment.participants->training().size(), experiment.settings.evaluation->batch_size}}});
}

class python_algorithm final : public federated::algorithm {
 public:
  /// @param described the same without its class
  /// @param costs     of tasks by the number of a client's examples; empty: those of local SGD
  python_algorithm(std::shared_ptr<const federated::algorithm> described,
                   std::shared_ptr<const trainer_problem> problem, std::map<std::uint64_t, std::uint64_t> costs)
      : described_(std::move(described)),
        problem_(std::move(problem)),
        is_(*problem_->algorithm()),
        costs_(std::move(costs)) {}

  std::vector<federated::tensor_group> tensors(const models::model& model,
                                               const models::partition& parts) const override {
    return described_->tensors(model, parts);
  }
  bool sends_model() const override { return described_->sends_model(); }
  std::uint64_t plan(const federated::run_settings& settings, std::uint64_t count) const override {
    const auto known = costs_.find(count);
    return known == costs_.end() ? described_->plan(settings, count) : known->second;
  }

  void train(local_task& task) const override {
    const auto loop = task.client_loop();
    auto request = request_of(task, loop);
    request.client = task.id().client;
    request.examples = task.orders(loop);
    request.per_epoch = static_cast<std::uint32_t>(task.weights().of->data().size());
    for (const auto& view : request.weights) request.out.push_back(view.data);
    add_groups(task, request, [&](const federated::placed_group& group, std::size_t g, std::size_t i) {
      const bool is_read = group.where != place::report && group.where != place::server;
      exchanged_array array{.in = is_read ? task.tensor(g, i).data : nullptr};
      if (group.where == place::kept) array.out = task.tensor(g, i).data;
      if (group.where == place::report || group.where == place::shared) array.out = task.reported(g, i).data;
      return array;
    });
    const auto done = problem_->train(request);
    task.count_unweighted({.examples = done.examples});
    task.weigh(done.weight, done.loss_sum);
  }

  std::vector<federated::round_figure> figures(const federated::server_view& server,
                                               const federated::aggregate& round) const override {
    return described_->figures(server, round);
  }
  void step(federated::server_view& server, const federated::aggregate& round) const override;

  bool personalizes_from_examples(const federated::experiment& experiment, const client_kind& kind) const override {
    return is_.personalizes ? is_.uses_examples
                            : algorithm::personalizes_from_examples(experiment, kind) || is_.uses_examples;
  }
  personal_source personalize(personal_task& task, const client_kind& kind) const override {
    if (!is_.personalizes) return algorithm::personalize(task, kind);
    return ask(task, {.who = kind}).source;
  }
  bool score(personal_task& task, const client_kind& kind, const models::examples_view& asked,
             models::class_scores& scores) const override {
    if (!is_.personalizes && !is_.has_outputs) return false;
    if (!is_.personalizes) static_cast<void>(algorithm::personalize(task, kind));
    const auto answer = ask(task, {personal_question::kind::score, kind, asked.features});
    problem_->add_figures(answer.said, asked.size(), scores);
    return true;
  }

  /// trainer_problem::predict by outputs(), of a task that was personalized.
  [[nodiscard]] std::string predict(personal_task& task, const client_kind& kind,
                                    trainer_problem::numbers asked) const {
    if (is_.personalizes) {  // it is done again
      assign(task.weights(), task.received(), task.parts().all_tensors);
      assign(task.weights(), task.received(), task.parts().buffers);
    }
    return ask(task, {personal_question::kind::predict, kind, asked}).said;
  }

 private:
  /// A request with the weights as they are.
  static task_request request_of(local_values& task, const local_loop& loop) {
    task_request made;
    made.seed = task.draw_seed();
    made.settings = settings_of(task.of(), loop);
    const auto weights = task.weights();
    for (std::size_t t = 0; t < task.parts().model->count(); ++t) made.weights.push_back(weights[t]);
    return made;
  }

  static std::size_t size_of(const federated::experiment& run, const federated::placed_group& group, std::size_t i) {
    return (group.copies_of.empty() ? group.specs[i] : (*run.parts.model)[group.copies_of[i]]).size();
  }

  /// Appends the tensors of the class's groups: others of the run follow these.
  /// @param places of the i-th tensor of group g
  template <class Places>
  void add_groups(local_values& task, task_request& request, const Places& places) const {
    const auto& groups = task.of().groups;
    for (std::size_t g = 0; g < is_.groups.size(); ++g)
      for (std::size_t i = 0; i < groups[g].count(); ++i) {
        auto made = places(groups[g], g, i);
        made.size = size_of(task.of(), groups[g], i);
        request.added.push_back(made);
      }
  }

  personal_answer ask(personal_task& task, const personal_question& question) const {
    auto request = request_of(task, federated::client_loop(task.settings()));
    request.client = task.client();
    if (is_.uses_examples) request.examples = task.weights().of->data().features;
    request.per_epoch = static_cast<std::uint32_t>(request.examples.size());
    add_groups(task, request, [&](const federated::placed_group& group, std::size_t g, std::size_t i) {
      const bool is_there = group.where == place::kept
                                ? question.who.has_state
                                : group.where == place::broadcast || group.where == place::shared;
      return exchanged_array{.in = is_there ? task.tensor(g, i).data : nullptr};
    });
    if (question.what == personal_question::kind::values)
      for (const auto& view : request.weights) request.out.push_back(view.data);
    request.question = question;
    return problem_->personalize(request);
  }

  std::shared_ptr<const federated::algorithm> described_;
  std::shared_ptr<const trainer_problem> problem_;
  const algorithm_description& is_;
  std::map<std::uint64_t, std::uint64_t> costs_;
};

void python_algorithm::step(federated::server_view& server, const federated::aggregate& round) const {
  if (!is_.steps) return algorithm::step(server, round);
  const auto& run = server.e;
  const models::work_scope scope(models::work_kind::server_step, server.version);
  random_stream draws(run.settings.seed, purpose::server_step, static_cast<std::uint32_t>(server.version));
  const std::uint64_t high = draws();
  std::vector<std::pair<std::uint32_t, std::uint32_t>> updates;
  for (const auto& update : round.updates) updates.emplace_back(update.id.client, update.weight);
  server_request request;
  request.seed = std::max<std::uint64_t>(high << 32U | draws(), 1);
  request.facts = text_of(server_facts{.settings = *run.settings.server,
                                       .private_tensors = private_names(run),
                                       .rounds = run.settings.rounds,
                                       .training_clients = server.training_clients(),
                                       .count = round.count,
                                       .weight = round.weight,
                                       .updates = std::move(updates)});
  auto change = round.change;  // zero where only groups are sent
  for (std::size_t t = 0; t < run.parts.shared->count(); ++t)
    request.arrays.push_back(
        {server.model.tensor(t).data(), server.model.tensor(t).data(), server.model.tensor(t).size()});
  for (std::size_t t = 0; t < run.parts.shared->count(); ++t)
    request.arrays.push_back({round.change.tensor(t).data(), change.tensor(t).data(), change.tensor(t).size()});
  for (std::size_t g = 0; g < is_.groups.size(); ++g) {
    const auto& group = run.groups[g];
    for (std::size_t i = 0; group.in_server != group.nowhere && i < group.count(); ++i) {
      const auto values = server.tensor(g, i);
      request.arrays.push_back({values.data(), values.data(), values.size()});
    }
    for (std::size_t i = 0; group.in_reported != group.nowhere && i < group.count(); ++i) {
      const auto values = server.reported(round, g, i);
      request.arrays.push_back({values.data(), nullptr, values.size()});
    }
  }
  std::vector<models::delta> dense;
  for (const auto& update : round.updates) dense.push_back(models::to_dense(update.change));
  for (const auto& single : std::as_const(dense)) {
    const auto add = [&](std::size_t t) {
      request.arrays.push_back({single.values_of(t).data(), nullptr, single.values_of(t).size()});
    };
    for (std::size_t t = 0; sends_model() && t < run.parts.shared->count(); ++t) add(t);
    for (std::size_t g = 0; g < is_.groups.size(); ++g)
      for (std::size_t i = 0; run.groups[g].in_up != federated::placed_group::nowhere && i < run.groups[g].count(); ++i)
        add(run.groups[g].in_up + i);
  }
  try {
    if (problem_->step(request)) server.optimize(change);
  } catch (const models::model_failure& failed) {  // of no client, whatever python.on_error says
    auto why = failed.why;
    why.what = error::kind::model;
    throw models::model_failure(std::move(why));
  }
}

/// The costs of tasks of all clients.
std::map<std::uint64_t, std::uint64_t> costs_of(const trainer_problem& problem,
                                                const federated::experiment& experiment) {
  std::set<std::uint32_t> distinct;
  for (const auto client : experiment.participants->training())
    if (const auto count = experiment.participants->count(client, federated::part::train); count > 0)
      distinct.insert(count);
  const std::vector<std::uint32_t> sizes(distinct.begin(), distinct.end());
  const auto found = problem.costs(settings_of(experiment, federated::client_loop(experiment.settings)), sizes);
  std::map<std::uint64_t, std::uint64_t> costs;
  for (std::size_t i = 0; i < sizes.size(); ++i) costs[sizes[i]] = found[i];
  return costs;
}

}  // namespace

std::string predict(const trainer_problem& problem, personal_task& task, const client_kind& kind,
                    trainer_problem::numbers asked) {
  if (const auto* is = problem.algorithm(); is == nullptr || !is->has_outputs)
    return problem.predict(task.weights().of->weights(), asked);
  return dynamic_cast<const python_algorithm&>(*task.settings().algorithm->does).predict(task, kind, asked);
}

result<void> use_algorithm(std::shared_ptr<const trainer_problem> problem, federated::experiment& experiment,
                           bool plans) try {
  if (problem == nullptr || problem->algorithm() == nullptr) return {};
  std::map<std::uint64_t, std::uint64_t> costs;
  if (plans && problem->algorithm()->has_cost) costs = costs_of(*problem, experiment);
  auto& does = experiment.settings.algorithm->does;
  does = std::make_shared<const python_algorithm>(std::move(does), std::move(problem), std::move(costs));
  return {};
} catch (const models::model_failure& failed) {
  auto why = failed.why;
  why.what = error::kind::model;
  return tl::unexpected(std::move(why));
}

}  // namespace furlong::scenarios
