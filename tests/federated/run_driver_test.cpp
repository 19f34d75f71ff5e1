// Who does the work of a run, and when, changes nothing.
#include "federated/engine/run_driver.hpp"

#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(run_drivers)

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;
using tests::text_of;

namespace {

/// Does what it was given in an order drawn from a seed, also training during an evaluation.
class shuffled_pool final : public work_pool {
 public:
  shuffled_pool(const experiment& e, private_store& store, std::uint64_t seed)
      : e_(e), store_(store), draw_(seed, purpose::test, 60) {}

  [[nodiscard]] std::size_t wanted(std::size_t ahead) const override {
    BOOST_TEST(!evaluation_);
    return blocks_.empty() || (blocks_.size() < 4 && ahead < 12) ? 2 : 0;
  }
  void train(std::vector<training_job>& jobs) override {
    BOOST_TEST(jobs.size() <= 2U);
    blocks_.push_back(std::move(jobs));
    jobs = {};
  }
  void score(evaluation_work_ptr work) override { evaluation_ = std::move(work); }

  /// Does one thing of these.
  void work(run_driver& driver) {
    BOOST_REQUIRE((evaluation_ != nullptr || !blocks_.empty()));
    BOOST_TEST(driver.is_scoring() == (evaluation_ != nullptr));
    if (evaluation_ && (blocks_.empty() || draw_.below(2) == 0)) {
      trained_meanwhile_ += blocks_.empty() ? 0 : 1;
      BOOST_REQUIRE(std::exchange(evaluation_, nullptr)->score_rest(use_));
      BOOST_REQUIRE(driver.on_scored(nullptr));
      return;
    }
    std::swap(blocks_[draw_.below(static_cast<std::uint32_t>(blocks_.size()))], blocks_.back());
    auto block = std::move(blocks_.back());
    blocks_.pop_back();
    for (auto& job : block) perform(e_, store_, job, use_);
    driver.on_trained(block);
  }
  [[nodiscard]] std::size_t trained_meanwhile() const { return trained_meanwhile_; }

 private:
  const experiment& e_;
  private_store& store_;
  random_stream draw_;
  workspace use_;
  std::vector<std::vector<training_job>> blocks_;
  evaluation_work_ptr evaluation_;
  std::size_t trained_meanwhile_ = 0;  ///< evaluations with jobs out
};

struct driven_run {
  recorder seen;
  std::vector<std::string> evaluations;
  std::size_t trained_meanwhile = 0;
};

run_observer noting(driven_run& made) {
  auto observer = made.seen.observer();
  observer.on_evaluation = [&made](const evaluation_report& figures) {
    made.evaluations.push_back(text_of(figures));
    return result<void>{};
  };
  return observer;
}

driven_run run_shuffled(const experiment& e, std::uint64_t seed) {
  driven_run made;
  const auto observer = noting(made);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  run_driver driver(e, initial_state(e), store, observer, stop);
  shuffled_pool pool(e, store, seed);
  for (auto over = driver.go_on(pool); !over.value(); over = driver.go_on(pool)) pool.work(driver);
  made.seen.finish(driver.outcome(), store);
  made.trained_meanwhile = pool.trained_meanwhile();
  return made;
}

driven_run run_serially(const experiment& e) {
  driven_run made;
  const auto observer = noting(made);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  made.seen.finish(simulate(e, initial_state(e), store, observer, stop).value(), store);
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(any_pool_gives_the_same_run) {
  std::size_t trained_meanwhile = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      auto settings = tests::random_settings(seed);
      settings.evaluation->every = 1;
      settings.checkpoint_every = 1 + static_cast<std::uint32_t>(seed % 3);
      const auto e = tests::simulated(settings);
      const auto expected = run_serially(e);
      const auto shuffled = run_shuffled(e, seed);
      tests::check_same(shuffled.seen.trace, expected.seen.trace);
      BOOST_TEST(!expected.evaluations.empty());
      BOOST_TEST(shuffled.evaluations == expected.evaluations, boost::test_tools::per_element());
      trained_meanwhile += shuffled.trained_meanwhile;
    }
  }
  BOOST_TEST(trained_meanwhile > 0U);
}

BOOST_AUTO_TEST_CASE(a_shared_evaluation_scores_every_client) {
  const auto e = tests::simulated(tests::plain_settings());
  storage::memory_store store(e.parts.private_);
  const auto state = initial_state(e);
  workspace use;
  evaluation whole(e, state.last(), &store);
  BOOST_REQUIRE(whole.score_all(use));
  evaluation_work shared(e, state.last(), store, nullptr);
  BOOST_REQUIRE(shared.score_rest(use));
  BOOST_TEST(text_of(shared.scores().report()) == text_of(whole.report()));
  BOOST_TEST(whole.report().seen->clients > 0U);
}

// Other threads need not score the rest of clients of an evaluation that is lost.
BOOST_AUTO_TEST_CASE(a_shared_evaluation_ends_with_its_first_failure) {
  class damaged_store final : public storage::memory_store {
   public:
    using storage::memory_store::memory_store;
    result<bool> load(std::uint32_t client, models::private_parameters& /*out*/) override {
      ++loads;
      return fail(error::kind::data, "client " + std::to_string(client), "its value is damaged");
    }
    std::size_t loads = 0;
  };
  const auto e = tests::simulated(tests::plain_settings());
  damaged_store store(e.parts.private_);
  const auto state = initial_state(e);
  workspace use;
  evaluation_work shared(e, state.last(), store, nullptr);
  const auto failed = shared.score_rest(use);
  BOOST_REQUIRE(!failed);
  BOOST_TEST(failed.error().reason == "its value is damaged");
  BOOST_TEST(store.loads == 1U);
  BOOST_TEST(shared.score_rest(use).has_value());
  BOOST_TEST(store.loads == 1U);
}

BOOST_AUTO_TEST_CASE(a_failed_evaluation_ends_the_run_unless_the_model_failed) {
  for (const auto kind : {error::kind::data, error::kind::model}) {
    auto settings = tests::plain_settings();
    settings.evaluation->every = 1;
    const auto e = tests::simulated(settings);
    storage::memory_store store(e.parts.private_);
    const run_observer observer{};
    const std::atomic<bool> stop = false;
    run_driver driver(e, initial_state(e), store, observer, stop);
    shuffled_pool pool(e, store, 1);
    while (!driver.is_scoring()) {
      BOOST_REQUIRE(!driver.go_on(pool).value());
      if (!driver.is_scoring()) pool.work(driver);
    }
    const auto scored =
        driver.on_scored(std::make_shared<const error>(error{kind, "client 3", "cannot be scored", ""}));
    BOOST_TEST(scored.has_value() == (kind == error::kind::model));
    if (!scored) {
      BOOST_TEST(scored.error().text() == "client 3: cannot be scored");
      continue;
    }
    shuffled_pool another(e, store, 2);
    const auto over = driver.go_on(another);  // a checkpoint, and then the failure
    BOOST_REQUIRE(!over);
    BOOST_TEST(over.error().text() == "client 3: cannot be scored");
  }
}

BOOST_AUTO_TEST_SUITE_END()
