// Whoever adds the updates of a run up, and when, changes nothing.
#include "federated/engine/run_driver.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/add_mode.hpp"
#include "federated/simulation/cluster/update_sums.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/support/updates.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(add_modes)

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;

namespace {

/// Trains in an order drawn from a seed, on threads that each add up what they trained.
class summing_pool final : public work_pool {
 public:
  summing_pool(const experiment& e, private_store& store, std::uint64_t seed, std::size_t threads)
      : e_(e), store_(store), draw_(seed, purpose::test, 61) {
    while (threads_.size() < threads) threads_.emplace_back(e);
  }

  [[nodiscard]] std::size_t wanted(std::size_t ahead) const override {
    return jobs_.empty() || (jobs_.size() < 12 && ahead < 16) ? 3 : 0;
  }
  void train(std::vector<training_job>& jobs) override { std::ranges::move(jobs, std::back_inserter(jobs_)); }
  void score(evaluation_work_ptr work) override { evaluation_ = std::move(work); }
  void add(const std::vector<add_order>& orders) override {
    for (const auto& order : orders) {
      ++(order.counts ? added_ : dropped_);
      std::size_t found = 0;
      for (auto& thread : threads_) {
        if (order.counts)
          found += thread.add(order.task, number_of(order.version, order.aggregator), order.freshness) ? 1 : 0;
        else
          thread.drop(order.task);
      }
      BOOST_TEST(found == (order.counts ? 1U : 0U));
    }
  }
  void collect(std::uint64_t version, const std::vector<std::uint32_t>& aggregators) override {
    BOOST_TEST(wanted_.empty());
    version_ = version;
    wanted_ = aggregators;
  }

  /// Does one thing of these.
  void work(run_driver& driver) {
    if (!wanted_.empty() && (jobs_.empty() || draw_.below(2) == 0)) return send_sum(driver);
    if (evaluation_) {
      BOOST_REQUIRE(std::exchange(evaluation_, nullptr)->score_rest(use_));
      BOOST_REQUIRE(driver.on_scored(nullptr));
      return;
    }
    BOOST_REQUIRE(!jobs_.empty());
    std::swap(jobs_[draw_.below(static_cast<std::uint32_t>(jobs_.size()))], jobs_.back());
    auto& thread = threads_[draw_.below(static_cast<std::uint32_t>(threads_.size()))];
    std::vector<training_job> done;
    done.push_back(std::move(jobs_.back()));
    jobs_.pop_back();
    auto& job = done.front();
    BOOST_TEST((job.use == update_use::returned || !job.stores));
    perform(e_, store_, job, use_);
    thread.take(job, number_of(job.id.version, job.aggregator));
    driver.on_trained(done);
  }
  [[nodiscard]] std::size_t added() const { return added_; }
  [[nodiscard]] std::size_t dropped() const { return dropped_; }
  [[nodiscard]] std::size_t collected() const { return collected_; }

 private:
  static cluster::sum_number number_of(std::uint64_t version, std::uint32_t aggregator) {
    return 1 + version * 1000 + aggregator;  // not no_sum
  }
  void send_sum(run_driver& driver) {
    const auto aggregator = wanted_.back();
    wanted_.pop_back();
    const auto sum = make_accumulator(e_, {});
    for (auto& thread : threads_)
      if (auto part = thread.collect(number_of(version_, aggregator)); !part.words.empty())
        BOOST_REQUIRE(sum->merge(accumulator_state{std::move(part.words)}));
    ++collected_;
    driver.on_sums(aggregator, sum->is_empty() ? accumulator_state{} : sum->take());
  }

  const experiment& e_;
  private_store& store_;
  random_stream draw_;
  std::vector<cluster::update_sums> threads_;
  workspace use_;
  std::vector<training_job> jobs_;
  evaluation_work_ptr evaluation_;
  std::uint64_t version_ = 0;
  std::vector<std::uint32_t> wanted_;
  std::size_t added_ = 0;
  std::size_t dropped_ = 0;
  std::size_t collected_ = 0;
};

struct summed_run {
  recorder seen;
  std::vector<std::string> evaluations;
  std::size_t added = 0;
  std::size_t dropped = 0;
  std::size_t collected = 0;
};

run_observer noting(recorder& seen, std::vector<std::string>& evaluations) {
  auto observer = seen.observer();
  observer.on_evaluation = [&evaluations](const evaluation_report& figures) {
    evaluations.push_back(tests::text_of(figures));
    return result<void>{};
  };
  return observer;
}

summed_run run_summing(const experiment& e, std::uint64_t seed, add_mode mode) {
  summed_run made;
  const auto observer = noting(made.seen, made.evaluations);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  run_driver driver(e, initial_state(e), store, observer, stop, mode);
  summing_pool pool(e, store, seed, 1 + seed % 3);
  for (;;) {
    const auto over = driver.go_on(pool);
    BOOST_REQUIRE_MESSAGE(over.has_value(), (over ? std::string() : over.error().text()));
    if (*over) break;
    pool.work(driver);
  }
  made.seen.finish(driver.outcome(), store);
  made.added = pool.added();
  made.dropped = pool.dropped();
  made.collected = pool.collected();
  return made;
}

summed_run run_alone(const experiment& e) {
  summed_run made;
  const auto observer = noting(made.seen, made.evaluations);
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  made.seen.finish(simulate(e, initial_state(e), store, observer, stop).value(), store);
  return made;
}

run_settings settings_of(participation_mode mode) {
  auto settings = tests::plain_settings();
  settings.participation->mode = mode;
  return settings;
}

/// The mode of a run with other settings than plain ones.
template <class Change>
add_mode mode_with(participation_mode mode, const Change& change) {
  auto settings = settings_of(mode);
  change(settings);
  return add_mode_of(tests::simulated(settings));
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_mode_follows_from_the_settings) {
  using enum add_mode;
  const auto sync = [](const auto& change) { return mode_with(participation_mode::sync, change); };
  const auto async = [](const auto& change) { return mode_with(participation_mode::async, change); };
  const auto plain = [](run_settings&) {};
  BOOST_TEST((sync(plain) == at_once));
  BOOST_TEST((sync([](auto& s) { s.participation->deadline = 1; }) == when_told));
  BOOST_TEST((sync([](auto& s) { s.participation->over_selection = 1.2; }) == when_told));
  BOOST_TEST((sync([](auto& s) { *s.events = {{.seconds = 1, .what = event_kind::kill}}; }) == when_told));
  BOOST_TEST((sync([](auto& s) { s.dropout->train = 0.2; }) == at_once));
  const auto fedatt = [](auto& s) { s.aggregation->rule = chosen_rule("fedatt"); };
  BOOST_TEST((sync(fedatt) == at_once));
  BOOST_TEST((async(plain) == when_told));
  BOOST_TEST((async(fedatt) == by_run));
  BOOST_TEST((async([](auto& s) { s.privacy->clip = 1, s.privacy->clip_quantile = 0.5; }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.privacy->clip = 1, s.privacy->clip_quantile = 0.5; }) == at_once));
  BOOST_TEST((sync([](auto& s) { s.aggregation->rule = chosen_rule("median"); }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.privacy->secure_aggregation = true; }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.topology->nodes = 2; }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.attack->choose("ipm"); }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.attack->choose("sign-flip"); }) == at_once));
  BOOST_TEST((sync([](auto& s) { s.aggregation->max_updates = 7; }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.aggregation->max_updates = 8; }) == at_once));
  BOOST_TEST((async([](auto& s) { s.participation->buffer = 4000, s.participation->concurrency = 97; }) == by_run));
  BOOST_TEST((sync([](auto& s) { s.algorithm->traits.sees_updates = true; }) == by_run));
  // Private values of 4 floats: 2^26 clients have 1 GiB.
  const auto values_of = [&](std::uint32_t clients) {
    auto run = tests::simulated(settings_of(participation_mode::sync));
    run.settings.participation->per_round = run.settings.aggregation->max_updates = clients;
    run.settings.aggregation->rule.traits.most_updates = clients;
    return add_mode_of(run);
  };
  BOOST_TEST(tests::simulated(settings_of(participation_mode::sync)).parts.private_->size() == 4U);
  BOOST_TEST((values_of(1U << 26U) == at_once));
  BOOST_TEST((values_of((1U << 26U) + 1) == by_run));
}

BOOST_AUTO_TEST_CASE(a_rule_that_refuses_an_update_though_it_takes_all_is_broken) {
  auto run = tests::simulated(tests::plain_settings());
  run.settings.aggregation->rule = chosen_rule("fedatt");
  run.settings.aggregation->rule.traits.takes_all = true;
  random_stream stream(5, purpose::test);
  training_job job;
  job.id = {run.run, 0, 3, 0};
  job.from = std::make_shared<const broadcast>(make_broadcast(run, initial_state(run)));
  job.use = update_use::kept;
  job.update = tests::random_update(stream, run.parts.shared);
  job.update.change.values.at(0) = 100.0F;  // FedAtt takes norms up to 30
  job.update.id = job.id;
  job.update.weight = 1;
  job.update.loss_sum = 0.0;
  cluster::update_sums sums(run);
  sums.take(job, cluster::no_sum);
  BOOST_TEST(job.held);
  BOOST_CHECK_THROW(sums.add(job.id, 1, 1.0), models::broken_part);
}

BOOST_AUTO_TEST_CASE(runs_that_are_added_up_elsewhere_are_the_same) {
  std::size_t added = 0;
  std::size_t dropped = 0;
  std::size_t at_once = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    BOOST_TEST_CONTEXT("seed " << seed) {
      auto settings = tests::random_settings(seed);
      if (seed % 7 == 0) tests::use_exact_state(settings);
      settings.evaluation->every = 1;
      settings.checkpoint_every = 1 + static_cast<std::uint32_t>(seed % 3);
      const auto e = tests::simulated(settings);
      const auto how = add_mode_of(e);
      const auto expected = run_alone(e);
      for (const auto mode : {how, how == add_mode::at_once ? add_mode::when_told : how}) {
        const auto summed = run_summing(e, seed, mode);
        tests::check_same(summed.seen.trace, expected.seen.trace);
        BOOST_TEST(summed.evaluations == expected.evaluations, boost::test_tools::per_element());
        added += summed.added;
        dropped += summed.dropped;
        if (mode == add_mode::at_once) {
          BOOST_TEST(summed.added + summed.dropped == 0U);
          at_once += summed.collected;
        }
      }
    }
  }
  BOOST_TEST(added > 1000U);
  BOOST_TEST(dropped > 100U);
  BOOST_TEST(at_once > 20U);
}

BOOST_AUTO_TEST_SUITE_END()
