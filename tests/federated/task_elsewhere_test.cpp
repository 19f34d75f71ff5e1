// What an algorithm has that gives its tasks to another program: the orders of a client's examples, seeds, its weight
// apart from its work, and scores that are no prediction of a set of weights.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <set>
#include <vector>

#include "federated/client/client_work.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(tasks_elsewhere)

using namespace furlong;

namespace {

/// A dense model that computes elsewhere.
class far_model final : public models::model {
 public:
  std::string_view kind() const override { return "far"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::custom; }
  bool may_fail() const override { return true; }
  void initialize(std::size_t, random_stream, std::span<float> values) const override {
    std::ranges::fill(values, 0.0F);
  }
  double gradient(std::span<const models::tensor_view>, const models::examples_view&,
                  models::gradient_views&) const override {
    return 0.0;
  }
  void predict(std::span<const models::tensor_view>, const models::examples_view&,
               std::span<float> out) const override {
    std::ranges::fill(out, 0.0F);
  }
  void score(std::span<const models::tensor_view>, const models::examples_view& batch,
             models::class_scores& to) const override {
    to.predictions += batch.size();
  }

 private:
  models::layout_ptr tensors_ =
      std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{.name = "w", .cols = 2}});
};

/// Remembers what tasks give it.
class elsewhere final : public federated::algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const federated::run_settings&, std::uint64_t count) const override { return count; }
  void train(federated::local_task& task) const override {
    const auto orders = task.orders(task.client_loop());
    visits.assign(orders.begin(), orders.end());
    seeds.push_back(task.draw_seed());
    task.weights()[0].data[0] += 1.0F;
    task.count_unweighted({.examples = 1000});
    task.weigh(weight, 2.0 * static_cast<double>(weight));
  }
  bool score(federated::personal_task& task, const federated::client_kind& who, const models::examples_view& asked,
             models::class_scores& to) const override {
    if (!scores) return false;
    seeds.push_back(task.draw_seed());
    to.predictions += asked.size();
    to.loss += who.trains ? 7.0 : 9.0;
    return true;
  }

  mutable std::vector<std::uint32_t> visits;
  mutable std::vector<std::uint64_t> seeds;
  std::uint64_t weight = 1;
  bool scores = false;
};

struct setup {
  explicit setup(const federated::client_settings& client) {
    federated::run_settings settings;
    *settings.client = client;
    e = tests::make_experiment(settings, tests::make_ratings(8), {}, {});
    e.model = std::make_shared<const far_model>();
    e.settings.algorithm->does = algorithm;
    BOOST_REQUIRE(federated::lay_out(e, {}));
  }
  federated::client_update task(std::uint32_t client, std::uint64_t version = 0) {
    federated::broadcast down{e.run, version, models::shared_parameters(e.parts.down), {}};
    federated::client_update made;
    static_cast<void>(federated::client_work(e, down, {e.run, version, client, 0}, false, use, made));
    return made;
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t client) const {
    return e.clients->count(client, federated::part::train);
  }

  std::shared_ptr<elsewhere> algorithm = std::make_shared<elsewhere>();
  federated::experiment e;
  federated::workspace use;
};

}  // namespace

BOOST_AUTO_TEST_CASE(there_is_an_order_for_each_epoch_that_is_reached) {
  setup three({.epochs = 3, .batch_size = 2, .shuffle = true});
  static_cast<void>(three.task(4));
  const auto n = three.count(4);
  BOOST_REQUIRE(n > 4U);
  const auto visits = three.algorithm->visits;
  BOOST_REQUIRE(visits.size() == 3 * n);
  const auto epoch = [&](std::size_t i) {
    return std::vector(visits.begin() + static_cast<std::ptrdiff_t>(i * n),
                       visits.begin() + static_cast<std::ptrdiff_t>((i + 1) * n));
  };
  BOOST_TEST(epoch(0) != epoch(1));
  for (std::size_t i = 1; i < 3; ++i) {
    auto first = epoch(0);
    auto other = epoch(i);
    std::ranges::sort(first);
    std::ranges::sort(other);
    BOOST_TEST(first == other, boost::test_tools::per_element());
  }
  setup capped({.epochs = 3, .batch_size = 2, .max_steps = (n + 1) / 2 + 1, .shuffle = true});
  static_cast<void>(capped.task(4));
  BOOST_TEST(capped.algorithm->visits == std::vector(visits.begin(), visits.begin() + 2 * n),
             boost::test_tools::per_element());
  setup fixed({.epochs = 3, .batch_size = 2});
  static_cast<void>(fixed.task(4));
  BOOST_TEST(fixed.algorithm->visits.size() == n);
}

BOOST_AUTO_TEST_CASE(seeds_are_those_of_the_task_alone) {
  setup run({});
  for (const std::uint64_t version : {0U, 1U})
    for (const std::uint32_t client : {4U, 9U}) static_cast<void>(run.task(client, version));
  static_cast<void>(run.task(4, 0));
  const auto& seeds = run.algorithm->seeds;
  BOOST_TEST(seeds.back() == seeds.front());
  BOOST_TEST(std::set(seeds.begin(), seeds.end()).size() == 4U);
  BOOST_TEST(std::ranges::count(seeds, 0U) == 0);
}

BOOST_AUTO_TEST_CASE(the_weight_is_apart_from_the_work_and_no_larger_than_that_of_the_loop) {
  setup run({.epochs = 2});
  run.algorithm->weight = 3;
  const auto small = run.task(4);
  BOOST_TEST(small.weight == 3U);
  BOOST_TEST(small.examples == 1000U);
  BOOST_TEST(small.loss_sum == 6.0);
  run.algorithm->weight = 1'000'000;
  const auto large = run.task(4);
  BOOST_TEST(large.weight == 2 * run.count(4));
  BOOST_TEST(large.loss_sum == 2.0 * large.weight, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_CASE(an_algorithm_may_score_by_itself) {
  setup run({});
  const auto model = federated::initial_model(run.e);
  const federated::client_scorer scorer(run.e, model, 0, nullptr);
  const auto by_model = scorer.score(federated::group::seen, 4, run.use);
  BOOST_REQUIRE(by_model.has_value());
  BOOST_TEST(by_model->loss == 0.0);
  run.algorithm->scores = true;
  const auto own = scorer.score(federated::group::seen, 4, run.use);
  BOOST_TEST(own->loss == 7.0);
  BOOST_TEST(own->examples == by_model->examples);
  const auto unseen = run.e.clients->unseen_test().front();
  BOOST_TEST(scorer.score(federated::group::unseen, unseen, run.use)->loss == 9.0);
  BOOST_TEST(run.algorithm->seeds[0] != run.algorithm->seeds[1]);
}

BOOST_AUTO_TEST_SUITE_END()
