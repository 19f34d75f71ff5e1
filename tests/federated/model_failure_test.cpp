// A model that fails in the middle of a run: the run is kept up to its last round, and ends after a resume as if the
// model had not failed.
#include <atomic>
#include <map>

#include "base/random.hpp"
#include "federated/aggregation/server_view.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "models/model.hpp"
#include "models/work_scope.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(model_failures)

using namespace furlong;
using namespace furlong::federated;

namespace {

/// Another model, which fails at one of its calls in training or in an evaluation.
class fallible_model final : public models::model {
 public:
  explicit fallible_model(std::shared_ptr<const models::model> sound) : sound_(std::move(sound)) {}

  std::string_view kind() const override { return sound_->kind(); }
  const models::layout_ptr& tensors() const override { return sound_->tensors(); }
  models::objective objective() const override { return sound_->objective(); }
  bool may_fail() const override { return true; }
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    sound_->initialize(tensor, stream, values);
  }
  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    count_call();
    return sound_->gradient(weights, batch, out);
  }
  void predict(std::span<const models::tensor_view> weights, const models::examples_view& batch,
               std::span<float> out) const override {
    count_call();
    sound_->predict(weights, batch, out);
  }
  bool affine_in(std::span<const std::size_t> tensors) const override { return sound_->affine_in(tensors); }
  bool affine_in_rows(std::span<const std::size_t> tensors) const override { return sound_->affine_in_rows(tensors); }
  void affine_design(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                     std::span<const std::size_t> tensors, std::span<float> x, std::span<float> offset) const override {
    count_call();
    sound_->affine_design(weights, batch, tensors, x, offset);
  }

  /// Fails once, at the `number`-th call from now on in work of that kind; 0: never.
  void fail_at(models::work_kind kind, std::uint64_t number) const {
    kind_ = kind;
    left_ = number;
  }
  mutable std::map<models::work_kind, std::uint64_t> calls;

 private:
  void count_call() const {
    const auto kind = models::work_scope::current().kind;
    ++calls[kind];
    if (kind != kind_ || left_ == 0 || --left_ > 0) return;
    throw models::model_failure({error::kind::runtime, "problem.py:7", "ZeroDivisionError: division by zero", ""});
  }

  std::shared_ptr<const models::model> sound_;
  mutable models::work_kind kind_ = models::work_kind::other;
  mutable std::uint64_t left_ = 0;
};

/// Another algorithm, whose step fails once, at the `left`-th from now on; 0: never.
class fallible_step final : public algorithm {
 public:
  explicit fallible_step(std::shared_ptr<const algorithm> sound) : sound_(std::move(sound)) {}

  std::vector<tensor_group> tensors(const models::model& model, const models::partition& parts) const override {
    return sound_->tensors(model, parts);
  }
  bool sends_model() const override { return sound_->sends_model(); }
  std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return sound_->plan(settings, count);
  }
  std::uint64_t most_weight(const run_settings& settings, std::uint64_t count) const override {
    return sound_->most_weight(settings, count);
  }
  void train(local_task& task) const override { sound_->train(task); }
  void step(server_view& server, const aggregate& of) const override {
    if (left > 0 && --left == 0)
      throw models::model_failure({error::kind::model, "problem.py:7", "ZeroDivisionError: division by zero", ""});
    sound_->step(server, of);
  }
  bool personalizes_from_examples(const experiment& e, const client_kind& who) const override {
    return sound_->personalizes_from_examples(e, who);
  }
  personal_source personalize(personal_task& task, const client_kind& who) const override {
    return sound_->personalize(task, who);
  }

  mutable std::uint64_t left = 0;

 private:
  std::shared_ptr<const algorithm> sound_;
};

/// Lets the steps of an experiment fail, whose model is in another process.
std::shared_ptr<const fallible_step> make_fallible(experiment& e) {
  auto made = std::make_shared<const fallible_step>(e.settings.algorithm->does);
  e.settings.algorithm->does = made;
  e.model = std::make_shared<fallible_model>(e.model);
  return made;
}

/// A run with everything that must not differ.
struct observed_run {
  tests::recorder recorder;
  std::map<std::uint64_t, double> losses;  ///< of seen clients, by evaluated version
};

/// Runs to the end, and goes on from the last checkpoint as often as the model fails.
observed_run run(const experiment& e, const std::function<void()>& on_failure = {}) {
  observed_run made;
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  auto observer = made.recorder.observer();
  observer.on_evaluation = [&](const evaluation_report& report) {
    if (report.seen) made.losses[report.version] = report.seen->loss;
    return result<void>{};
  };
  auto state = initial_state(e);
  for (std::uint64_t life = 1;; ++life) {
    auto outcome = simulate(e, std::move(state), store, observer, stop);
    if (outcome) {
      made.recorder.finish(*outcome, store);
      return made;
    }
    BOOST_REQUIRE_MESSAGE(outcome.error().what == error::kind::model, outcome.error().text());
    BOOST_REQUIRE(outcome.error().place == "problem.py:7");
    on_failure();
    const auto closed = made.recorder.trace.rounds.size();
    if (closed == 0) return run(e, on_failure);  // from the start
    BOOST_REQUIRE(made.recorder.checkpoint.has_value());
    made.recorder.cut_back();
    state = *made.recorder.checkpoint;
    BOOST_TEST(state.version == closed);  // no round is made twice
    BOOST_TEST(made.recorder.trace.rounds.size() == closed);
    state.ledger = std::make_shared<participation_ledger>(*state.ledger);
    state.history.resume(state.version, life);
    store.resume(state.history);
  }
}

void check_same(const observed_run& a, const observed_run& b) {
  tests::check_same(a.recorder.trace, b.recorder.trace);
  BOOST_TEST((a.losses == b.losses));
}

}  // namespace

BOOST_AUTO_TEST_CASE(runs_whose_model_fails_anywhere_end_as_if_it_had_not) {
  std::size_t failures = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    auto settings = tests::random_settings(seed);
    settings.topology->nodes = 0;
    settings.evaluation->every = 2;
    random_stream draw(seed, purpose::test, 33);
    auto e = tests::simulated(settings);
    const auto whole = run(e);
    const auto fallible = std::make_shared<fallible_model>(e.model);
    e.model = fallible;
    BOOST_TEST_CONTEXT("seed " << seed) {
      check_same(run(e), whole);  // that it may fail changes nothing
      for (const auto kind : {models::work_kind::training, models::work_kind::evaluation}) {
        const auto calls = static_cast<std::uint32_t>(fallible->calls[kind]);
        if (calls == 0) continue;
        std::size_t times = 0;
        const auto again = [&] {
          ++failures;
          fallible->fail_at(kind, ++times < 3 ? 1 + draw.below(calls) : 0);
        };
        fallible->fail_at(kind, 1 + draw.below(calls));
        check_same(run(e, again), whole);
        fallible->fail_at(kind, 0);
        fallible->calls[kind] = calls;
      }
    }
  }
  BOOST_TEST(failures > 60U);
}

// One task ends while the round waits for clients, the next one before it closes.
BOOST_AUTO_TEST_CASE(a_client_that_trains_twice_in_a_round_keeps_what_it_trained_last) {
  auto settings = tests::random_settings(120);
  settings.topology->nodes = 0;
  settings.evaluation->every = 2;
  auto e = tests::simulated(settings);
  const auto whole = run(e);
  e.model = std::make_shared<fallible_model>(e.model);
  check_same(run(e), whole);
}

// The version is made by the next life, as if nothing had happened; clients keep nothing of it before.
BOOST_AUTO_TEST_CASE(runs_whose_step_fails_anywhere_end_as_if_it_had_not) {
  std::size_t failures = 0;
  for (std::uint64_t seed = 100; seed < 160; ++seed) {
    auto settings = tests::random_settings(seed);
    settings.topology->nodes = 0;
    settings.evaluation->every = 2;
    random_stream draw(seed, purpose::test, 34);
    auto e = tests::simulated(settings);
    const auto whole = run(e);
    const auto steps = make_fallible(e);
    std::size_t times = 0;
    const auto again = [&] {
      ++failures;
      steps->left = ++times < 3 ? 1 + draw.below(3) : 0;
    };
    steps->left = 1 + draw.below(static_cast<std::uint32_t>(settings.rounds));
    BOOST_TEST_CONTEXT("seed " << seed) { check_same(run(e, again), whole); }
  }
  BOOST_TEST(failures > 40U);
}

BOOST_AUTO_TEST_CASE(a_failed_step_leaves_no_trace_on_the_server) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("scaffold");
  settings.own->commit = commit_kind::after_ack;
  settings.aggregation->rule = chosen_rule("uniform-mean");
  auto e = tests::simulated(settings);
  const auto steps = make_fallible(e);
  steps->left = 3;
  tests::recorder recorder;
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto observer = recorder.observer();
  const auto failed = simulate(e, initial_state(e), store, observer, stop);
  BOOST_REQUIRE(!failed.has_value());
  BOOST_TEST(recorder.trace.rounds.size() == 2U);
  auto before = settings;
  before.rounds = 2;
  auto shorter = tests::simulated(before);
  storage::memory_store other(shorter.parts.private_);
  tests::recorder whole;
  const auto watch = whole.observer();
  const auto done = simulate(shorter, initial_state(shorter), other, watch, stop);
  BOOST_REQUIRE(done.has_value());
  BOOST_TEST((recorder.checkpoint->model.values().size() == done->state.model.values().size()));
  BOOST_TEST(std::ranges::equal(recorder.checkpoint->model.values(), done->state.model.values()));
  BOOST_TEST(std::ranges::equal(recorder.checkpoint->added.values(), done->state.added.values()));
  BOOST_TEST((recorder.checkpoint->counts == done->state.counts));
  std::map<std::uint32_t, std::uint64_t> kept[2];
  for (auto* one : {&store, &other})
    BOOST_REQUIRE(one->visit([&](std::uint32_t client, std::uint64_t version, const models::private_parameters&) {
      kept[one == &other][client] = version;
    }));
  BOOST_TEST((kept[0] == kept[1]));
  BOOST_TEST(!kept[0].empty());
}

BOOST_AUTO_TEST_CASE(a_failed_step_ends_the_reference_loop) {
  auto e = tests::simulated(tests::plain_settings());
  make_fallible(e)->left = 2;
  tests::recorder recorder;
  storage::memory_store store(e.parts.private_);
  const auto observer = recorder.observer();
  const auto outcome = run_reference(e, store, observer);
  BOOST_REQUIRE(!outcome.has_value());
  BOOST_TEST(outcome.error().place == "problem.py:7");
  BOOST_TEST(recorder.trace.rounds.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_step_that_fails_over_nodes_is_made_by_the_next_life) {
  auto settings = tests::plain_settings();
  settings.rounds = 6;
  settings.topology->nodes = 3;
  settings.checkpoint_every = 1;
  auto e = tests::simulated(settings);
  const auto whole = run(e);
  const auto steps = make_fallible(e);
  steps->left = 4;
  std::size_t failures = 0;
  const auto resumed = run(e, [&] { ++failures; });
  BOOST_TEST(failures == 1U);
  BOOST_TEST(resumed.recorder.trace.model == whole.recorder.trace.model);
  BOOST_TEST(resumed.recorder.trace.own == whole.recorder.trace.own);
}

BOOST_AUTO_TEST_CASE(a_failed_evaluation_decides_when_it_is_made_after_all) {
  auto settings = tests::plain_settings();
  settings.rounds = 6;
  settings.evaluation->every = 2;
  settings.evaluation->keep_best = true;
  auto e = tests::simulated(settings);
  const auto whole = run(e);
  BOOST_REQUIRE(whole.losses.size() == 3U);
  const auto fallible = std::make_shared<fallible_model>(e.model);
  e.model = fallible;
  static_cast<void>(run(e));
  const auto each = fallible->calls[models::work_kind::evaluation] / 3;
  for (const std::uint64_t evaluation : {0U, 1U, 2U}) {
    std::size_t failures = 0;
    fallible->fail_at(models::work_kind::evaluation, evaluation * each + 1);
    check_same(run(e, [&] { ++failures; }), whole);
    BOOST_TEST(failures == 1U);
  }
}

// Evaluations of nodes are made by clients on nodes; the round before one that fails is kept likewise.
BOOST_AUTO_TEST_CASE(an_evaluation_on_nodes_that_fails_leaves_a_checkpoint) {
  auto settings = tests::plain_settings();
  settings.rounds = 6;
  settings.topology->nodes = 3;
  settings.evaluation->every = 3;
  auto e = tests::simulated(settings);
  const auto whole = run(e);
  const auto fallible = std::make_shared<fallible_model>(e.model);
  e.model = fallible;
  std::size_t failures = 0;
  fallible->fail_at(models::work_kind::evaluation, 2);
  const auto resumed = run(e, [&] { ++failures; });
  BOOST_TEST(failures == 1U);
  BOOST_TEST(resumed.recorder.trace.model == whole.recorder.trace.model);
  BOOST_TEST(resumed.recorder.trace.own == whole.recorder.trace.own);
  BOOST_TEST((resumed.losses == whole.losses));
}

BOOST_AUTO_TEST_CASE(a_failure_of_the_store_leaves_no_checkpoint) {
  struct broken_store final : storage::memory_store {
    using memory_store::memory_store;
    result<bool> load(std::uint32_t client, models::private_parameters& out) override {
      if (++loads > 30) return fail(error::kind::runtime, "store", "the disk is broken");
      return memory_store::load(client, out);
    }
    std::size_t loads = 0;
  };
  auto e = tests::simulated(tests::plain_settings());
  e.model = std::make_shared<fallible_model>(e.model);
  broken_store store(e.parts.private_);
  tests::recorder recorder;
  const std::atomic<bool> stop = false;
  const auto observer = recorder.observer();
  const auto outcome = simulate(e, initial_state(e), store, observer, stop);
  BOOST_REQUIRE(!outcome.has_value());
  BOOST_TEST(outcome.error().reason == "the disk is broken");
  BOOST_TEST(!recorder.trace.rounds.empty());
  BOOST_TEST(!recorder.checkpoint.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
