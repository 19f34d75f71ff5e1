// Laws of algorithms: some clients train two versions of the model, and what they make is asked for again in other
// orders, on other threads, and of another instance of the algorithm.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

#include "federated/client/client_work.hpp"
#include "federated/client/personalization.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"
#include "tools/conformance/laws.hpp"
#include "tools/conformance/task_result.hpp"

namespace furlong::tools::conformance {

namespace {

using federated::broadcast;
using federated::client_score;
using federated::experiment;
using federated::part;
using federated::server_state;
using federated::workspace;

constexpr std::size_t most_clients = 6;
constexpr std::size_t most_unseen = 3;
constexpr std::size_t training_threads = 4;
constexpr std::size_t passes_of_thread = 16;
constexpr std::uint64_t most_counted = 64;

bool same_scores(const client_score& first, const client_score& second) {
  return first.squared_error == second.squared_error && first.loss == second.loss && first.correct == second.correct &&
         first.examples == second.examples && first.odds == second.odds && first.metrics == second.metrics;
}

/// A version of the model, with what each client had kept before its task.
struct trained_version {
  broadcast model;
  std::vector<std::optional<models::private_parameters>> kept = {};  ///< by position among the clients
  std::vector<task_result> results = {};                             ///< the first ones, each in a workspace of its own
};

struct scored_client {
  federated::group group;
  std::uint32_t client;
};

/// A round that was closed.
struct closed_round {
  server_state state;
  bool applied = false;
};

class algorithm_trial {
 public:
  algorithm_trial(const experiment& setup, const federated::chosen_algorithm& rebuilt)
      : setup_(setup), rebuilt_(setup) {
    *rebuilt_.settings.algorithm = rebuilt;
    for (const auto client : setup.participants->training())
      if (clients_.size() < most_clients && setup.participants->count(client, part::train) > 0)
        clients_.push_back(client);
  }

  /// Trains two versions.
  void prepare() {
    const auto first = federated::initial_state(setup_);
    train_version(first, std::vector<std::optional<models::private_parameters>>(clients_.size()));
    second_ = close(setup_, first, versions_.front()).state;
    auto kept = versions_.front().kept;
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (const auto& made = versions_.front().results[i]; made.keeps) kept[i] = made.own;
    train_version(*second_, std::move(kept));
  }
  [[nodiscard]] bool is_prepared() const { return versions_.size() == 2; }

  std::string fault_of_updates() const {
    if (clients_.empty()) return "no client has examples to train on: give a scenario whose clients have some";
    for (const auto& version : versions_)
      for (std::size_t i = 0; i < clients_.size(); ++i)
        if (auto fault = fault_of_update(version, i); !fault.empty()) return place(version, i) + fault;
    return {};
  }

  std::string fault_of_repetition() const {
    return compare([&](const trained_version& version, std::size_t i) {
      workspace use;
      return train(setup_, version, i, use);
    });
  }

  /// What a thread's buffers hold after other clients must not matter, nor who trained before.
  std::string fault_of_order() const {
    workspace use;
    auto fault = compare([&](const trained_version& version, std::size_t i) { return train(setup_, version, i, use); });
    return fault.empty() ? compare([&](const trained_version& version, std::size_t i) {
      static_cast<void>(train(setup_, version, clients_.size() - 1 - i, use));
      return train(setup_, version, i, use);
    })
                         : fault;
  }

  std::string fault_of_threads() const {
    std::mutex lock;
    std::string fault;
    std::atomic<std::size_t> ready = 0;
    const auto work = [&](std::size_t thread) {
      workspace use;
      ++ready;
      while (ready < training_threads) std::this_thread::yield();  // so that all train at once
      for (std::size_t task = 0; task < passes_of_thread * clients_.size(); ++task) {
        const auto i = (task + thread) % clients_.size();
        auto found = result_of_thread(i, use);
        if (found.empty()) continue;
        const std::lock_guard guard(lock);
        if (fault.empty()) fault = std::move(found);
        return;
      }
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t thread = 0; thread < training_threads; ++thread) threads.emplace_back(work, thread);
    }
    return fault;
  }

  /// In a resumed run another instance trains the second version, from what the store has.
  std::string fault_of_restored_state() const {
    storage::memory_store store(setup_.parts.private_);
    store_kept(store);
    const auto& version = versions_.back();
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      workspace use;
      auto restored = version;
      restored.kept[i].reset();
      models::private_parameters loaded(setup_.parts.private_);
      if (const auto found = store.load(clients_[i], loaded); found && *found) restored.kept[i] = std::move(loaded);
      if (auto text = difference(version.results[i], train(rebuilt_, restored, i, use)); !text.empty())
        return place(version, i) + text + " in a resumed run";
    }
    return {};
  }

  std::string fault_of_plan() const {
    const auto plan_of = [](const experiment& asked, std::uint64_t count) {
      return asked.settings.algorithm->does->plan(asked.settings, count);
    };
    for (std::uint64_t count = 1; count <= most_counted; ++count) {
      const auto planned = plan_of(setup_, count);
      if (planned == 0) return fmt::format("plan() of {} examples is 0", count);
      if (const auto resumed = plan_of(rebuilt_, count); resumed != planned)
        return fmt::format("plan() of {} examples is {}, and {} in a resumed run", count, planned, resumed);
    }
    if (setup_.model->own_loop() != nullptr || setup_.model->may_fail())
      return {};  // those may go over them more often
    for (const auto& version : versions_)
      for (std::size_t i = 0; i < clients_.size(); ++i) {
        if (federated::starts_cold(setup_, has_state(version, i))) continue;
        const auto count = setup_.participants->count(clients_[i], part::train);
        const auto planned = plan_of(setup_, count);
        if (const auto counted = version.results[i].update.examples; counted != planned)
          return place(version, i) +
                 fmt::format("plan() of its {} examples is {}, and its task counted {}", count, planned, counted);
      }
    return {};
  }

  std::string fault_of_personalization() const {
    const auto scored = scored_clients();
    storage::memory_store store(setup_.parts.private_);
    store_kept(store);
    std::vector<client_score> expected;
    for (const auto& [scored_group, client] : scored) {
      workspace use;
      expected.push_back(score(setup_, store, scored_group, client, use));
      if (!is_finite(expected.back())) return fmt::format("client {}: its score is not finite", client);
    }
    const auto compare_scores = [&](const experiment& asked, const char* when) -> std::string {
      workspace use;
      for (auto i = scored.size(); i-- > 0;)
        if (const auto again = score(asked, store, scored[i].group, scored[i].client, use);
            !same_scores(expected[i], again))
          return fmt::format("client {}: its loss is {}, and then {} {}", scored[i].client, expected[i].loss,
                             again.loss, when);
      return {};
    };
    auto fault = compare_scores(setup_, "after other clients were scored");
    return fault.empty() ? compare_scores(rebuilt_, "in a resumed run") : fault;
  }

  /// Nothing if no round has a usable aggregate.
  std::optional<std::string> fault_of_step() const {
    const auto expected = close(setup_, *second_, versions_.back());
    if (!expected.applied) return std::nullopt;
    for (const auto* asked : {&setup_, &rebuilt_}) {
      const auto again = close(*asked, *second_, versions_.back());
      const char* const when = asked == &setup_ ? " when the step is repeated" : " in a resumed run";
      if (auto text = difference(expected.state.model.values(), again.state.model.values(), "the model"); !text.empty())
        return text + when;
      if (auto text = difference(expected.state.added.values(), again.state.added.values(), "the added tensors");
          !text.empty())
        return text + when;
    }
    return std::string();
  }

 private:
  [[nodiscard]] std::string place(const trained_version& version, std::size_t i) const {
    return fmt::format("client {} on version {}: ", clients_[i], version.model.version);
  }
  [[nodiscard]] bool has_state(const trained_version& version, std::size_t i) const {
    return version.kept[i].has_value() && setup_.settings.algorithm->traits.keeps_state;
  }

  task_result train(const experiment& asked, const trained_version& version, std::size_t i, workspace& use) const {
    const auto& kept = version.kept[i];
    if (kept) use.own = *kept;
    task_result made;
    made.keeps = client_work(asked, version.model, {asked.run, version.model.version, clients_[i], 0}, kept.has_value(),
                             use, made.update);
    if (made.keeps) made.own = use.own;
    return made;
  }

  void train_version(const server_state& state, std::vector<std::optional<models::private_parameters>> kept) {
    trained_version version{federated::make_broadcast(setup_, state), std::move(kept)};
    for (std::size_t i = 0; i < clients_.size(); ++i) {
      workspace use;
      version.results.push_back(train(setup_, version, i, use));
    }
    versions_.push_back(std::move(version));
  }

  /// The first difference between the results and those of `again`.
  template <class Again>
  std::string compare(const Again& again) const {
    for (const auto& version : versions_)
      for (std::size_t i = 0; i < clients_.size(); ++i)
        if (auto text = difference(version.results[i], again(version, i)); !text.empty())
          return place(version, i) + text;
    return {};
  }

  std::string result_of_thread(std::size_t i, workspace& use) const {
    const auto& version = versions_.back();
    try {
      auto text = difference(version.results[i], train(setup_, version, i, use));
      return text.empty() ? text : place(version, i) + text + " while others train";
    } catch (const std::exception& thrown) {
      return place(version, i) + "failed while others train: " + thrown.what();
    }
  }

  [[nodiscard]] federated::update_bounds bounds_of(const trained_version& version, std::size_t i) const {
    return federated::bounds_of(setup_, federated::longest_update(setup_.settings), version.model.limits,
                                setup_.participants->count(clients_[i], part::train));
  }

  [[nodiscard]] std::string fault_of_update(const trained_version& version, std::size_t i) const {
    const auto& update = version.results[i].update;
    if (!std::isfinite(update.loss_sum)) return "its update is not finite";
    if (update.weight == 0) return "its update has no weight, and the client has examples";
    const auto refused = validate(update, *setup_.parts.up, *setup_.settings.aggregation, bounds_of(version, i));
    return refused ? "its update is refused as " + std::string(to_string(*refused)) : std::string();
  }

  closed_round close(const experiment& asked, const server_state& before, const trained_version& version) const {
    closed_round made{before};
    made.state.ledger = std::make_shared<federated::participation_ledger>(*before.ledger);
    federated::server_optimizer optimizer(*asked.settings.server, asked.parts.shared);
    optimizer.restore(before.optimizer);
    const auto sum = make_open_accumulator(asked, before.reference);
    federated::round_report report{.selected = clients_.size()};
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (fault_of_update(version, i).empty() && !sum->fold(version.results[i].update)) ++report.folded;
    auto round = sum->report();
    close_round(asked, made.state, optimizer, round, report, federated::round_facts(asked));
    made.state.optimizer = optimizer.state();
    made.applied = report.applied;
    return made;
  }

  void store_kept(federated::private_store& store) const {
    for (std::size_t i = 0; i < clients_.size(); ++i)
      if (const auto& kept = versions_.back().kept[i]; kept)
        if (const auto stored = store.commit(clients_[i], 0, *kept); !stored)
          throw std::runtime_error(stored.error().text());
  }

  [[nodiscard]] std::vector<scored_client> scored_clients() const {
    std::vector<scored_client> listed;
    const auto add = [&](federated::group scored_group, std::span<const std::uint32_t> clients, std::size_t most) {
      for (const auto client : clients.first(std::min(most, clients.size()))) listed.push_back({scored_group, client});
    };
    add(federated::group::seen, setup_.clients->training(), most_clients);
    add(federated::group::unseen, setup_.clients->unseen_test(), most_unseen);
    return listed;
  }

  client_score score(const experiment& asked, federated::private_store& store, federated::group scored_group,
                     std::uint32_t client, workspace& use) const {
    const auto& model = versions_.back().model;
    const federated::client_scorer scorer(asked, model.model, model.version, &store);
    auto scored = scorer.score(scored_group, client, use);
    if (!scored) throw std::runtime_error(scored.error().text());
    return std::move(*scored);
  }

  const experiment& setup_;
  experiment rebuilt_;  ///< with another instance of the algorithm
  std::vector<std::uint32_t> clients_;
  std::vector<trained_version> versions_;
  std::optional<server_state> second_;
};

}  // namespace

findings check_algorithm(const experiment& setup, const federated::chosen_algorithm& rebuilt) {
  findings made;
  algorithm_trial trial(setup, rebuilt);
  made.examine(
      {"updates", "a client with examples sends a finite update with a weight, within the bounds of the scenario",
       "correct train(), call count() of the task for what it trained on, and let most_weight() bound that"},
      [&] {
        trial.prepare();
        return kept_unless(trial.fault_of_updates());
      });
  const auto examine = [&](law subject, const auto& question) {
    made.examine(std::move(subject),
                 [&] { return trial.is_prepared() ? question() : skipped("no update to compare with"); });
  };
  examine({"repetition", "a task that is repeated gives the same update and keeps the same values",
           "draw from the task's streams alone, and read neither a clock nor what an earlier call left behind"},
          [&] { return kept_unless(trial.fault_of_repetition()); });
  examine({"order", "a task does not depend on the clients that trained before it",
           "write scratch values before they are read, and remember no client in the algorithm"},
          [&] { return kept_unless(trial.fault_of_order()); });
  examine({"threads", "tasks on several threads give what they give one after the other",
           "let train() write to nothing but its task: all threads share the algorithm"},
          [&] { return kept_unless(trial.fault_of_threads()); });
  examine({"restoration", "a resumed run, with a new instance and the stored values, trains as the run before it did",
           "keep values in groups of tensors or private tensors, not in the algorithm"},
          [&] { return kept_unless(trial.fault_of_restored_state()); });
  examine({"plan", "plan() is the number of examples that the task counts, in every process",
           "compute plan() from its arguments alone, and count() or count_unweighted() each phase of train()"},
          [&] { return kept_unless(trial.fault_of_plan()); });
  examine({"personalization", "a client is scored with the same finite result at any time and in a resumed run",
           "let personalize() and score() depend on their task alone"},
          [&] { return kept_unless(trial.fault_of_personalization()); });
  examine({"step", "the server's step depends on its arguments alone, also in a resumed run",
           "keep what the server remembers in a group of tensors on the server, not in the algorithm"},
          [&] {
            auto fault = trial.fault_of_step();
            return fault ? kept_unless(std::move(*fault)) : skipped("its updates have no usable aggregate");
          });
  return made;
}

}  // namespace furlong::tools::conformance
