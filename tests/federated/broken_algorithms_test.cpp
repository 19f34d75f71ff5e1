// Algorithms of other libraries that do not keep their contracts: each mistake is told when the algorithm is
// registered, when a run is opened, or ends the run with a message, in every engine.
#include <functional>
#include <stdexcept>

#include "federated/aggregation/contracts.hpp"
#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/client/training_job.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/federated/broken_runs.hpp"
#include "tests/support/behaving_algorithm.hpp"

BOOST_AUTO_TEST_SUITE(broken_algorithms)

using namespace furlong;
using namespace furlong::federated;
using tests::check_says;
using tests::failure_of;
using tests::failure_over_nodes;
using behaviour = tests::algorithm_behaviour;

namespace {

run_settings settings_with(const behaviour& of) {
  register_algorithm({.kind = "broken",
                      .doc = "An algorithm of this test.",
                      .build = [of](const option_values&) -> result<std::shared_ptr<const algorithm>> {
                        return std::make_shared<const tests::behaving_algorithm>(of);
                      }});
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("broken");
  return settings;
}

/// What is said in every engine, and over nodes; without the client, which may be another.
std::string failure_everywhere(const behaviour& of) {
  const auto e = tests::simulated(settings_with(of));
  const auto common = [](const std::string& text) {
    return std::regex_replace(text, std::regex("client [0-9]+"), "a client");
  };
  auto said = common(failure_of(e));
  BOOST_TEST(common(failure_over_nodes(e)) == said);
  return said;
}

std::string contract_of(const behaviour& of) {
  const auto kept = check_contracts(tests::simulated(settings_with(of)));
  return kept ? std::string() : kept.error().text();
}

/// What is wrong with its tensors.
std::string layout_with(tensor_group group) {
  auto e = tests::simulated(settings_with({}));
  e.settings = settings_with({.groups = {std::move(group)}});
  const auto placed = lay_out(e, {});
  return placed ? std::string() : placed.error().text();
}

/// As a class of another program: labels mean nothing to it.
class class_elsewhere : public models::model {
 public:
  std::string_view kind() const override { return "elsewhere"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::custom; }
  bool may_fail() const override { return true; }
  void initialize(std::size_t, random_stream, std::span<float>) const override {}
  double gradient(std::span<const models::tensor_view>, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    out.data[0][0] = 0.0F;
    return static_cast<double>(batch.size());
  }
  void predict(std::span<const models::tensor_view>, const models::examples_view&, std::span<float>) const override {}

 private:
  models::layout_ptr tensors_ = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{.name = "w"}});
};

const tensor_group reported = {.name = "sums", .where = place::report, .specs = {{"s", 1, 2}}};

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_algorithm_is_none_of_these) {
  BOOST_TEST(failure_everywhere({}) == "");
  BOOST_TEST(contract_of({}) == "");
}

// A node tells its server that the part failed: starting the node again does not help.
BOOST_AUTO_TEST_CASE(a_task_on_which_the_algorithm_failed_is_known_as_such) {
  for (const bool fails : {true, false}) {
    behaviour what;
    if (fails) what.train = [](local_task&) { throw std::runtime_error("no teacher"); };
    const auto e = tests::simulated(settings_with(what));
    storage::memory_store store(e.parts.private_);
    training_job job{.id = {e.run, 0, 3, 0},
                     .from = std::make_shared<const broadcast>(make_broadcast(e, initial_state(e)))};
    workspace use;
    perform(e, store, job, use);
    BOOST_TEST(job.part_failed == fails);
    BOOST_TEST((job.failure != nullptr) == fails);
  }
}

BOOST_AUTO_TEST_CASE(training_that_cannot_be_ends_the_run) {
  struct fault {
    behaviour of;
    std::string says;
  };
  const auto counted = [](local_task& task) { task.count(task.sgd(task.parts().all_tensors, task.client_loop())); };
  const std::vector<fault> faults = {
      {{.train = [](local_task& task) { static_cast<void>(task.sgd(task.parts().all_tensors, task.client_loop())); }},
       "train() gave the update no weight: call count() or weigh() of the task"},
      {{.train = [](local_task&) { throw std::runtime_error("no teacher"); }}, ": no teacher"},
      {{.train =
            [=](local_task& task) {
              counted(task);
              static_cast<void>(task.group(3));
            }},
       "the algorithm has 0 groups, and group 3 was asked for"},
      {{.train =
            [=](local_task& task) {
              counted(task);
              static_cast<void>(task.reported(0, 1));
            },
        .groups = {reported}},
       "the group sums has 1 tensors, and tensor 1 was asked for"},
      {{.train =
            [=](local_task& task) {
              counted(task);
              static_cast<void>(task.reported(0));
            },
        .groups = {{.name = "told", .where = place::broadcast, .specs = {{"s"}}}}},
       "the group told is not reported"},
      {{.train =
            [=](local_task& task) {
              counted(task);
              static_cast<void>(task.feature_model());
            }},
       "the model matrix-factorization has no features before a linear head: set needs_features"},
      {{.train =
            [=](local_task& task) {
              counted(task);
              const auto term = [](const models::tensor_view&, const models::tensor_view&) { return 0.0; };
              static_cast<void>(
                  task.gradient(task.examples(), task.weights(), task.parts().all_tensors, task.scratch(0), term));
            }},
       "the model matrix-factorization has no features before a linear head"},
  };
  for (const auto& [of, says] : faults) {
    const auto said = failure_everywhere(of);
    check_says(said, "algorithm.kind: is \"broken\", which failed in the training of a client");
    check_says(said, says);
  }
}

// A built-in algorithm fails where the model does that it asks.
BOOST_AUTO_TEST_CASE(a_model_that_throws_ends_the_run) {
  class throwing_model final : public class_elsewhere {
    [[nodiscard]] bool may_fail() const override { return false; }
    double gradient(std::span<const models::tensor_view>, const models::examples_view&,
                    models::gradient_views&) const override {
      throw std::runtime_error("no such layer");
    }
  };
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  e.model = std::make_shared<const throwing_model>();
  BOOST_REQUIRE(lay_out(e, {}));
  check_says(failure_of(tests::in_a_world(std::move(e))),
             "model.kind: is \"elsewhere\", which failed in the training of client ");
}

BOOST_AUTO_TEST_CASE(a_step_that_throws_ends_the_run) {
  const std::string failed = "algorithm.kind: is \"broken\", which failed in the step of the server: ";
  check_says(failure_everywhere({.step = [](server_view&, const aggregate&) { throw std::runtime_error("no votes"); }}),
             failed + "no votes");
  check_says(failure_everywhere({.step = [](server_view& server,
                                            const aggregate& of) { static_cast<void>(server.reported(of, 0, 1)); },
                                 .groups = {reported}}),
             failed + "tensor 1 of group 0 is not among the algorithm's");
  check_says(
      failure_everywhere({.step = [](server_view& server, const aggregate&) { static_cast<void>(server.tensor(0)); },
                          .groups = {reported}}),
      failed + "tensor 0 of group 0 is at another place");
}

BOOST_AUTO_TEST_CASE(a_personalization_that_throws_ends_the_run) {
  check_says(failure_everywhere({.personalize = [](personal_task&) { throw std::runtime_error("no head"); }}),
             "algorithm.kind: is \"broken\", which failed in the scoring of a client");
}

// What a client predicts in training is what the model predicts with these weights.
BOOST_AUTO_TEST_CASE(training_can_predict_at_any_weights) {
  const auto train = [](local_task& task) {
    const auto before = task.examples();
    std::vector<float> first(before.size());
    std::vector<float> trained(before.size());
    std::vector<float> received(before.size());
    task.predict(before, task.weights(), first);
    task.count(task.sgd(task.parts().all_tensors, {.step = {.rate = 0.1F}}));
    task.predict(before, task.weights(), trained);
    task.predict(before, task.received(), received);
    if (first != received || first == trained) throw std::runtime_error("predictions of other weights");
  };
  BOOST_TEST(failure_everywhere({.train = train}) == "");
}

BOOST_AUTO_TEST_CASE(a_plan_that_cannot_be_is_refused_when_a_run_is_opened) {
  check_says(contract_of({.plan = [](std::uint64_t) { return std::uint64_t{0}; }}),
             "plans no work for a task of a client with ");
  check_says(contract_of({.plan = [](std::uint64_t count) { return 3 - 4 * count; }}),
             "plan() is too large; correct it");
  check_says(contract_of({.plan = [calls = std::uint64_t{0}](std::uint64_t) mutable { return ++calls; }}),
             "plans to process 1 examples in a task of a client with ");
  check_says(contract_of({.plan = [](std::uint64_t) -> std::uint64_t { throw std::runtime_error("no table"); }}),
             "algorithm.kind: is \"broken\", which failed: no table; correct it");
  check_says(contract_of({.most_weight = [](std::uint64_t) { return std::uint64_t{0}; }}),
             "allows no weight of an update");
}

BOOST_AUTO_TEST_CASE(groups_that_cannot_be_are_refused) {
  BOOST_TEST(layout_with(reported) == "");
  check_says(layout_with({.name = "g", .where = place::server, .specs = {{"s", 0, 2}}}),
             "has the tensor \"s\" without values");
  check_says(layout_with({.name = "g", .where = place::server, .specs = {{"s"}, {"s"}}}), "has the tensor \"s\" twice");
  check_says(layout_with({.name = "g", .where = place::server, .copies_of = {0, 0}}), "twice");
  check_says(layout_with({.name = "g", .where = place::server, .specs = {{"s"}}, .clients = 24}),
             "has values for each client, and is not broadcast");
}

BOOST_AUTO_TEST_CASE(private_tensors_that_are_required_and_discarded_are_refused) {
  const auto registers = [](const algorithm_traits& traits) {
    register_algorithm({.kind = "broken",
                        .doc = "An algorithm of this test.",
                        .traits = traits,
                        .build = [](const option_values&) -> result<std::shared_ptr<const algorithm>> {
                          return std::make_shared<const tests::behaving_algorithm>(behaviour{});
                        }});
  };
  BOOST_CHECK_THROW(registers({.private_tensors = private_use::required}), std::invalid_argument);
  BOOST_CHECK_NO_THROW(registers({.private_tensors = private_use::required, .keeps_state = true}));
  BOOST_CHECK_NO_THROW(registers({.private_tensors = private_use::required, .reconstructs = true}));
  BOOST_CHECK_NO_THROW(registers({.private_tensors = private_use::required, .start = private_start::common}));
}

BOOST_AUTO_TEST_CASE(labels_that_a_class_elsewhere_would_ignore_end_the_run) {
  for (const float label : {0.0F, 0.5F}) {
    const auto settings = settings_with({.train = [label](local_task& task) {
      const auto out = task.scratch(0);
      task.count(task.each_batch(task.client_loop(), [&](const models::examples_view& batch) {
        const std::vector<float> labels(batch.size(), label);
        auto taught = batch;
        taught.labels = labels;
        return task.gradient(taught, task.weights(), task.parts().all_tensors, out);
      }));
    }});
    auto clients = tests::make_ratings(41);
    for (auto& table : clients->tables)
      for (auto* data : {&table.train, &table.validation, &table.test}) std::ranges::fill(data->labels, 0.0F);
    auto e = tests::make_experiment(settings, clients, {}, {});
    clients->what.labels = models::objective::custom;
    e.model = std::make_shared<const class_elsewhere>();
    BOOST_REQUIRE(lay_out(e, {}));
    const auto said = failure_of(tests::in_a_world(std::move(e)));
    if (label == 0.0F)
      BOOST_TEST(said == "");
    else
      check_says(said, "gradient() was given labels, and the model is a class of another program");
  }
}

BOOST_AUTO_TEST_SUITE_END()
