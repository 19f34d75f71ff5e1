// evaluation.select = "best": a run ends with the model that was best for the validation clients.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/rounds/round.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/class_table.hpp"

BOOST_AUTO_TEST_SUITE(best_model)

using namespace furlong;

namespace {

/// Steps so long that the loss of others soon grows again.
federated::run_settings settings_of(std::uint64_t rounds, bool keep_best) {
  federated::run_settings settings;
  settings.rounds = rounds;
  *settings.client = {.lr = 1.5F, .epochs = 2, .batch_size = 3};
  settings.participation->per_round = 2;
  settings.evaluation->every = 1;
  settings.evaluation->keep_best = keep_best;
  return settings;
}

struct finished {
  federated::run_outcome outcome;
  std::vector<federated::evaluation_report> evaluations;
};

finished run(const federated::run_settings& settings) {
  const auto e = tests::class_experiment(settings, tests::make_sentences(9));
  storage::memory_store store(e.parts.private_);
  finished done;
  const federated::run_observer observer{nullptr, [&](const auto& report) {
                                           done.evaluations.push_back(report);
                                           return result<void>{};
                                         }};
  done.outcome = federated::run_reference(e, store, observer).value();
  return done;
}

federated::evaluation_report report_of(double loss, double accuracy) {
  federated::evaluation_report report;
  report.validation.emplace();
  report.validation->loss = loss;
  report.validation->accuracy = accuracy;
  return report;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_run_ends_with_the_model_of_the_least_validation_loss) {
  const auto last = run(settings_of(12, false));
  BOOST_TEST(last.outcome.state.best == nullptr);
  std::uint64_t best = 0;
  double least = INFINITY;
  for (const auto& report : last.evaluations)
    if (report.validation->loss < least) {
      least = report.validation->loss;
      best = report.version;
    }
  BOOST_REQUIRE(best > 0U);
  BOOST_REQUIRE(best < 12U);  // or this would show nothing
  const auto chosen = run(settings_of(12, true));
  BOOST_TEST(chosen.outcome.state.chosen().version == best);
  BOOST_TEST(chosen.outcome.state.best->figure == least);
  const auto short_run = run(settings_of(best, false));
  BOOST_TEST(tests::same_bits(chosen.outcome.state.chosen().model.values(), short_run.outcome.state.model.values()));
  BOOST_TEST(tests::same_bits(chosen.outcome.state.model.values(), last.outcome.state.model.values()));
  // What is reported at the end is about that model.
  BOOST_TEST(chosen.evaluations.size() == 13U);
  BOOST_TEST(chosen.outcome.evaluation.version == best);
  BOOST_TEST(chosen.outcome.evaluation.unseen->loss == short_run.outcome.evaluation.unseen->loss);
}

BOOST_AUTO_TEST_CASE(the_targets_figure_is_the_one_that_counts) {
  auto settings = settings_of(12, true);
  BOOST_TEST(federated::selection_metric(*settings.evaluation) == "validation.loss");
  settings.evaluation->target.metric = "unseen.accuracy";
  BOOST_TEST(federated::selection_metric(*settings.evaluation) == "validation.accuracy");
  const auto e = tests::class_experiment(settings, tests::make_sentences(9));
  auto state = federated::initial_state(e);
  const auto told = [&](std::uint64_t version, double loss, double accuracy) {
    state.version = version;
    federated::note_evaluation(e, state, report_of(loss, accuracy));
    return state.best ? state.best->version : 0;
  };
  BOOST_TEST(told(1, 1.0, NAN) == 0U);  // no figure
  BOOST_TEST(told(2, 1.0, 0.5) == 2U);
  BOOST_TEST(told(3, 0.1, 0.4) == 2U);
  BOOST_TEST(told(4, 9.0, 0.6) == 4U);
  BOOST_TEST(told(5, 0.1, 0.6) == 4U);  // no better: the first counts
  BOOST_TEST(told(6, 0.1, INFINITY) == 4U);
  // Another figure is asked for when the run is resumed: the old one says nothing about it.
  auto other = e;
  other.settings.evaluation->target.metric.clear();
  state.version = 6;
  federated::note_evaluation(other, state, report_of(5.0, 0.1));
  BOOST_TEST(state.best->version == 6U);
  BOOST_TEST(state.best->metric == "validation.loss");
  // So it does of the same figure of other clients.
  other.settings.evaluation->clients = 2;
  state.version = 7;
  federated::note_evaluation(other, state, report_of(6.0, 0.1));
  BOOST_TEST(state.best->version == 7U);
  state.version = 8;
  federated::note_evaluation(e, state, {});  // nobody was scored
  BOOST_TEST(state.best->version == 7U);
}

BOOST_AUTO_TEST_SUITE_END()
