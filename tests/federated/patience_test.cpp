// Runs that end because they do not improve, runs that pause, and evaluations without the test parts.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/evaluation/evaluation.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tests/support/class_table.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(patience)

using namespace furlong;
using namespace furlong::federated;

namespace {

/// Reports a figure after every `every`-th version. Returns the version after which a run with this patience is over;
/// 0: it is not.
std::uint64_t end_after(const std::vector<double>& figures, std::uint64_t every, std::uint64_t patience,
                        const std::string& metric = "accuracy") {
  run_settings settings;
  settings.rounds = 1000;
  settings.until->patience = patience;
  settings.evaluation->metric = metric;
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  auto state = initial_state(e);
  for (const double figure : figures) {
    for (std::uint64_t i = 0; i < every; ++i) {
      ++state.version;
      if (is_over(e.settings, state)) return state.version;
    }
    evaluation_report report;
    report.validation.emplace();
    report.validation->accuracy = figure;
    report.validation->loss = metric == "loss" ? figure : 0.5;  // one that is not finite ends a run
    note_evaluation(e, state, report);
    if (is_over(e.settings, state)) return state.version;
  }
  return 0;
}

/// Steps so long that the loss of others soon grows again.
experiment overshooting(const run_settings& settings) {
  return tests::in_a_world(tests::class_experiment(settings, tests::make_sentences(9)));
}

run_settings overshooting_settings(std::uint64_t rounds) {
  run_settings settings;
  settings.rounds = rounds;
  *settings.client = {.lr = 1.5F, .epochs = 2, .batch_size = 3};
  settings.participation->per_round = 2;
  settings.evaluation->every = 1;
  return settings;
}

struct ended_run {
  run_outcome outcome;
  std::vector<double> losses;  ///< of the validation clients, by evaluation
  std::vector<std::uint64_t> evaluated;
};

ended_run run_from(const experiment& e, std::optional<server_state> start, private_store& store, bool in_virtual_time) {
  ended_run done;
  const run_observer observer{nullptr, [&](const evaluation_report& report) {
                                done.losses.push_back(report.validation.value().loss);
                                done.evaluated.push_back(report.version);
                                return result<void>{};
                              }};
  const std::atomic<bool> stop = false;
  done.outcome = in_virtual_time
                     ? simulate(e, start ? std::move(*start) : initial_state(e), store, observer, stop).value()
                     : run_reference(e, store, observer).value();
  return done;
}

ended_run run_whole(const experiment& e, bool in_virtual_time = true) {
  storage::memory_store store(e.parts.private_);
  return run_from(e, std::nullopt, store, in_virtual_time);
}

/// Fails when an example of a test part is looked at.
class without_test final : public population {
 public:
  explicit without_test(std::shared_ptr<const population> all) : all_(std::move(all)) {}
  models::data_facts facts() const override { return all_->facts(); }
  std::span<const std::uint32_t> training() const override { return all_->training(); }
  std::span<const std::uint32_t> unseen_validation() const override { return all_->unseen_validation(); }
  std::span<const std::uint32_t> unseen_test() const override { return all_->unseen_test(); }
  models::examples_view load(std::uint32_t client, part which, models::examples& scratch) const override {
    if (which == part::test || std::ranges::binary_search(all_->unseen_test(), client))
      throw std::runtime_error("a test part was read");
    return all_->load(client, which, scratch);
  }
  std::uint32_t count(std::uint32_t client, part which) const override { return all_->count(client, which); }
  std::string client_name(std::uint32_t client) const override { return all_->client_name(client); }
  std::string feature_name(std::uint32_t feature) const override { return all_->feature_name(feature); }

 private:
  std::shared_ptr<const population> all_;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_rounds_since_the_best_evaluation_are_counted) {
  const std::vector<double> falls = {0.5, 0.7, 0.6, 0.65, 0.69, 0.1};
  BOOST_TEST(end_after(falls, 1, 3) == 5U);
  BOOST_TEST(end_after(falls, 1, 4) == 6U);
  BOOST_TEST(end_after(falls, 1, 5) == 0U);
  BOOST_TEST(end_after(falls, 1, 0) == 0U);
  // Only evaluations end it: the best is that of version 20, and 25 rounds later is version 45.
  BOOST_TEST(end_after(falls, 10, 25) == 50U);
  BOOST_TEST(end_after(falls, 10, 20) == 40U);
  BOOST_TEST(end_after(falls, 10, 1) == 30U);
  // Neither an equal figure nor none is better.
  BOOST_TEST(end_after({0.5, 0.5, 0.5}, 1, 2) == 3U);
  BOOST_TEST(end_after({0.5, NAN, INFINITY, 0.6, 0.5}, 1, 2) == 3U);
  BOOST_TEST(end_after({0.5, 0.4, 0.6, 0.5, 0.7}, 1, 2) == 0U);
  // Nothing was scored: that is no evaluation.
  BOOST_TEST(end_after({0.5, 0.4, 0.3}, 1, 1, "rmse") == 0U);
  // Of a loss the smaller is better.
  BOOST_TEST(end_after(falls, 1, 3, "loss") == 4U);
}

BOOST_AUTO_TEST_CASE(a_run_ends_where_its_figures_say_under_every_driver) {
  const auto whole = run_whole(overshooting(overshooting_settings(14)));
  for (const std::uint64_t patience : {1U, 2U, 4U}) {
    std::uint64_t best = 1;
    std::uint64_t end = 0;
    for (std::uint64_t version = 2; version <= 14 && end == 0; ++version)
      if (whole.losses[version - 1] < whole.losses[best - 1])
        best = version;
      else if (version - best >= patience)
        end = version;
    BOOST_REQUIRE(end > 0U);
    BOOST_REQUIRE(end < 14U);
    auto settings = overshooting_settings(14);
    settings.until->patience = patience;
    for (const bool in_virtual_time : {true, false})
      for (const bool keep_best : {true, false}) {
        settings.evaluation->keep_best = keep_best;
        const auto e = overshooting(settings);
        const auto done = run_whole(e, in_virtual_time);
        BOOST_TEST(done.outcome.state.version == end);
        BOOST_TEST(done.outcome.state.chosen().version == (keep_best ? best : end));
        BOOST_TEST(done.outcome.state.progress->best == best);
        BOOST_TEST(!done.outcome.interrupted);
      }
    // With more patience it goes on, and ends where one with that patience from the start ends.
    auto state = run_whole(overshooting(settings)).outcome.state;
    settings.until->patience = 100;
    const auto e = overshooting(settings);
    storage::memory_store store(e.parts.private_);
    const auto more = run_from(e, std::move(state), store, true);
    BOOST_TEST(more.outcome.state.version == 14U);
    BOOST_TEST(tests::same_bits(more.outcome.state.model.values(), whole.outcome.state.model.values()));
  }
}

BOOST_AUTO_TEST_CASE(another_metric_or_scoring_begins_anew) {
  const std::string before = "accuracy";
  run_settings settings;
  settings.until->patience = 2;
  settings.evaluation->metric = before;
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  auto state = initial_state(e);
  state.progress = {selection_metric(*settings.evaluation), scoring_id(*settings.evaluation), 0.5, 3, 9};
  reset_for_evaluation(*settings.evaluation, state);
  BOOST_TEST(state.progress.has_value());
  for (const bool metric : {true, false}) {
    auto other = settings;
    if (metric)
      other.evaluation->metric = "loss";
    else
      other.evaluation->clients = 3;
    auto changed = state;
    reset_for_evaluation(*other.evaluation, changed);
    BOOST_TEST(!changed.progress);
  }
}

BOOST_AUTO_TEST_CASE(a_run_pauses_after_a_round_evaluated_and_goes_on) {
  auto settings = overshooting_settings(9);
  settings.evaluation->every = 4;
  const auto whole = run_whole(overshooting(settings));
  std::optional<server_state> state;
  std::vector<std::uint64_t> evaluated;
  std::optional<storage::memory_store> store;
  for (const std::uint64_t pause : {3U, 4U, 7U, 0U}) {
    settings.until->pause_after = pause;
    const auto e = overshooting(settings);
    if (!store) store.emplace(e.parts.private_);
    auto done = run_from(e, std::move(state), *store, true);
    BOOST_TEST(done.outcome.interrupted == (pause > 0));
    BOOST_TEST(done.outcome.state.version == (pause > 0 ? pause : 9U));
    evaluated.insert(evaluated.end(), done.evaluated.begin(), done.evaluated.end());
    state = std::move(done.outcome.state);
  }
  BOOST_TEST(evaluated == (std::vector<std::uint64_t>{3, 4, 7, 8, 9}), boost::test_tools::per_element());
  BOOST_TEST(tests::same_bits(state->model.values(), whole.outcome.state.model.values()));
}

BOOST_AUTO_TEST_CASE(an_evaluation_that_is_made_only_for_a_pause_decides_nothing) {
  auto settings = overshooting_settings(12);
  const auto each = run_whole(overshooting(settings)).losses;
  settings.evaluation->every = 4;
  std::uint64_t least = 1;  // a version that a run with pauses would select, and one without them never evaluates
  for (std::uint64_t version = 1; version <= 12; ++version)
    if (each[version - 1] < each[least - 1]) least = version;
  BOOST_REQUIRE(least % 4 != 0);
  BOOST_REQUIRE(each[least - 1] < each[3]);
  settings.evaluation->keep_best = true;
  settings.evaluation->target = {"validation.loss", each[least - 1], true};
  settings.until->target = true;
  settings.until->patience = 9;
  settings.diverged_at = each[3] / each[least - 1] * 1.001;  // of what the pause sees, not of what counts
  const auto whole = run_whole(overshooting(settings)).outcome.state;
  for (const std::uint64_t pause : {least, std::uint64_t{4}, std::uint64_t{10}}) {
    settings.until->pause_after = pause;
    const auto stopped = overshooting(settings);
    storage::memory_store store(stopped.parts.private_);
    auto first = run_from(stopped, std::nullopt, store, true);
    BOOST_TEST(first.evaluated.back() == pause);
    BOOST_TEST(first.outcome.interrupted);
    settings.until->pause_after = 0;
    const auto resumed = overshooting(settings);
    const auto end = run_from(resumed, std::move(first.outcome.state), store, true).outcome.state;
    BOOST_TEST(end.version == whole.version);
    BOOST_TEST(end.chosen().version == whole.chosen().version);
    BOOST_TEST((end.progress == whole.progress));
    BOOST_TEST((end.losses == whole.losses));
    BOOST_TEST(end.target_version == whole.target_version);
    BOOST_TEST(tests::same_bits(end.chosen().model.values(), whole.chosen().model.values()));
  }
}

BOOST_AUTO_TEST_CASE(groups_that_are_left_out_are_not_read) {
  auto settings = overshooting_settings(3);
  const auto whole = run_whole(overshooting(settings));
  BOOST_REQUIRE(whole.outcome.evaluation.seen || whole.outcome.evaluation.unseen);
  auto poisoned = overshooting(settings);
  poisoned.clients = std::make_shared<without_test>(poisoned.clients);
  BOOST_CHECK_THROW(static_cast<void>(run_whole(poisoned)), std::runtime_error);
  settings.evaluation->groups = {true, false, false};
  auto blind = overshooting(settings);
  blind.clients = std::make_shared<without_test>(blind.clients);
  blind.participants = blind.clients;
  for (const bool in_virtual_time : {true, false}) {
    const auto done = run_whole(blind, in_virtual_time);
    BOOST_TEST(!done.outcome.evaluation.seen);
    BOOST_TEST(!done.outcome.evaluation.unseen);
    BOOST_TEST(done.outcome.evaluation.validation.value().loss == whole.outcome.evaluation.validation.value().loss);
    BOOST_TEST(tests::same_bits(done.outcome.state.model.values(), whole.outcome.state.model.values()));
  }
}

BOOST_AUTO_TEST_SUITE_END()
