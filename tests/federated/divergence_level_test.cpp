// That a run has diverged when it falls to the level of a constant prediction.
#include "federated/rounds/divergence.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "models/work_scope.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(divergence_levels)

using namespace furlong;
using namespace furlong::federated;

namespace {

experiment rated() { return tests::make_experiment({}, tests::make_ratings(41), {}, {}); }

/// The figures of an evaluation, and those of a constant prediction.
group_metrics compared(double loss, std::optional<double> accuracy, const constant_prediction& constant,
                       std::uint64_t examples = 1000) {
  group_metrics made;
  made.clients = 10;
  made.examples = examples;
  made.loss = loss;
  made.accuracy = accuracy;
  made.constant = constant;
  return made;
}

/// Evaluations of the seen group in order; the reason of the divergence.
std::string reason_after(const std::vector<group_metrics>& each, const experiment& e = rated()) {
  auto state = initial_state(e);
  for (const auto& one : each) {
    evaluation_report report;
    report.seen = one;
    watch_evaluation(e, state, report);
  }
  return state.losses.diverged;
}

/// Evaluations with these losses, where a constant has 1.
std::string reason_after_losses(const std::vector<double>& losses, std::uint64_t examples = 1000,
                                const experiment& e = rated()) {
  std::vector<group_metrics> each;
  for (const auto loss : losses) each.push_back(compared(loss, 0.3, {1.0, {}}, examples));
  return reason_after(each, e);
}

/// Another model that rates every item with 9 from a version on, as if an attack had left nothing of it.
class forgetful_model final : public models::model {
 public:
  forgetful_model(std::shared_ptr<const models::model> sound, std::uint64_t from)
      : sound_(std::move(sound)), from_(from) {}

  std::string_view kind() const override { return sound_->kind(); }
  const models::layout_ptr& tensors() const override { return sound_->tensors(); }
  models::objective objective() const override { return sound_->objective(); }
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    sound_->initialize(tensor, stream, values);
  }
  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    return sound_->gradient(weights, batch, out);
  }
  void predict(std::span<const models::tensor_view> weights, const models::examples_view& batch,
               std::span<float> out) const override {
    sound_->predict(weights, batch, out);
    if (models::work_scope::current().version >= from_) std::ranges::fill(out, 9.0F);
  }

 private:
  std::shared_ptr<const models::model> sound_;
  std::uint64_t from_;
};

/// Enough ratings to be compared with a constant, and a model that learns them and loses them in version 20.
experiment forgetting(const run_settings& settings) {
  const auto ratings = tests::make_ratings(41, {.clients = 400, .unseen_validation = 5, .unseen_test = 5});
  auto e = tests::make_experiment(settings, ratings, {}, {"user"});
  e.model = std::make_shared<forgetful_model>(e.model, 20);
  return tests::in_a_world(std::move(e));
}

server_state end_of(const experiment& e, server_state start) {
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  return std::move(simulate(e, std::move(start), store, {}, stop).value().state);
}

}  // namespace

BOOST_AUTO_TEST_CASE(ratings_that_are_no_better_than_their_mean_after_they_were_end_a_run) {
  BOOST_TEST(reason_after_losses({2.0, 0.9, 1.01}) ==
             "the loss of seen clients rose to the level of a constant prediction: 1.01, a constant has 1");
  BOOST_TEST(!reason_after_losses({0.9, 1.0}).empty());
  BOOST_TEST(!reason_after_losses({0.5, 0.95, 1.0}).empty());
  BOOST_TEST(reason_after_losses({0.5, 0.999}).empty());
  BOOST_TEST(reason_after_losses({2.0, 0.91, 1.5}).empty());  // it was never clearly better
  BOOST_TEST(reason_after_losses({0.5, 2.0}, 999).empty());   // too few to tell
  auto e = rated();
  e.settings.diverged_at = 0;
  BOOST_TEST(reason_after_losses({0.5, 2.0}, 1000, e).empty());
  auto unknown = compared(2.0, 0.3, {});
  unknown.constant.reset();  // as of a custom objective
  BOOST_TEST(reason_after({compared(0.5, 0.3, {1.0, {}}), unknown}).empty());
}

// Classifiers that are too sure of themselves have a loss above the constant's, and are right more often.
BOOST_AUTO_TEST_CASE(classes_are_compared_by_accuracy_and_loss) {
  const constant_prediction constant{0.6, 0.7};
  const auto after = [&](std::pair<double, double> before, std::pair<double, double> now) {
    return reason_after({compared(before.first, before.second, constant), compared(now.first, now.second, constant)});
  };
  BOOST_TEST(after({0.54, 0.7}, {0.6, 0.69}) ==
             "the accuracy of seen clients fell to the level of a constant prediction: 0.69, a constant has 0.7");
  BOOST_TEST(!after({0.9, 0.74}, {0.9, 0.7}).empty());
  BOOST_TEST(after({0.55, 0.72}, {0.9, 0.6}).empty());
  BOOST_TEST(after({0.5, 0.8}, {1.5, 0.71}).empty());
  BOOST_TEST(after({0.5, 0.8}, {0.59, 0.6}).empty());
  const constant_prediction rare{0.2, 0.95};  // of 1,000 it gets 50 wrong
  for (const auto& [examples, diverged] : {std::pair(1000U, false), {2100U, true}})
    BOOST_TEST(!reason_after({compared(0.1, 0.99, rare, examples), compared(0.2, 0.95, rare, examples)}).empty() ==
               diverged);
}

BOOST_AUTO_TEST_CASE(tokens_are_compared_by_accuracy) {
  const auto after = [](double before, double now, double constant, std::uint64_t examples) {
    const constant_prediction end{{}, constant};
    return reason_after({compared(5.0, before, end, examples), compared(9.0, now, end, examples)});
  };
  BOOST_TEST(after(0.26, 0.2, 0.2, 1000) ==
             "the accuracy of seen clients fell to the level of a constant prediction: 0.2, a constant has 0.2");
  BOOST_TEST(after(0.24, 0.1, 0.2, 1000).empty());
  BOOST_TEST(after(0.26, 0.21, 0.2, 1000).empty());
  BOOST_TEST(after(0.2, 0.01, 0.05, 1000).empty());  // of which the constant gets 50 right
  BOOST_TEST(!after(0.2, 0.01, 0.05, 2000).empty());
}

BOOST_AUTO_TEST_CASE(a_few_clients_of_ratings_do_not_make_a_run_diverge) {
  const constant_prediction constant{1.0, {}};
  auto few = constant;
  few.loses_to_most = true;
  const auto before = compared(0.5, 0.3, constant);
  BOOST_TEST(reason_after({before, compared(16.0, 0.3, few)}).empty());
  BOOST_TEST(!reason_after({before, compared(16.0, 0.3, few), compared(16.0, 0.3, constant)}).empty());
}

BOOST_AUTO_TEST_CASE(groups_are_compared_with_what_they_were_and_a_best_model_is_none_of_them) {
  auto e = rated();
  const constant_prediction constant{1.0, {}};
  evaluation_report before;
  before.seen = compared(0.5, 0.3, constant);
  before.unseen = compared(1.5, 0.3, constant);
  auto after = before;
  after.unseen = compared(1.6, 0.3, constant);
  auto state = initial_state(e);
  for (const auto& report : {before, after}) watch_evaluation(e, state, report);
  BOOST_TEST(state.losses.diverged.empty());
  BOOST_TEST((state.losses.beat_constant == std::array{false, true, false, false}));
  after.seen = compared(1.5, 0.3, constant);
  auto kept = state;
  kept.best = std::make_shared<const best_model>();
  watch_evaluation(e, kept, after);
  BOOST_TEST(kept.losses.diverged.empty());
  // Under another scoring what was better before may never have been.
  auto other = *e.settings.evaluation;
  other.clients = 3;
  auto changed = state;
  reset_for_evaluation(other, changed);
  BOOST_TEST((changed.losses.beat_constant == std::array{false, false, false, false}));
  reset_for_evaluation(*e.settings.evaluation, state);
  watch_evaluation(e, state, after);
  BOOST_TEST(!state.losses.diverged.empty());
}

BOOST_AUTO_TEST_CASE(a_run_that_falls_to_a_constant_ends_under_every_driver_and_after_a_resume) {
  auto settings = tests::plain_settings();
  settings.rounds = 40;
  settings.evaluation->every = 4;
  settings.participation->per_round = 200;
  settings.client->epochs = 5;
  const auto whole = end_of(forgetting(settings), initial_state(forgetting(settings)));
  BOOST_TEST(whole.version == 20U);
  BOOST_TEST(whole.losses.diverged.find("to the level of a constant prediction: ") != std::string::npos);
  BOOST_TEST(divergence_of(whole).has_value());
  {
    const auto e = forgetting(settings);
    storage::memory_store store(e.parts.private_);
    BOOST_TEST((run_reference(e, store, {}).value().state.losses == whole.losses));
  }
  settings.until->pause_after = 18;
  const auto e = forgetting(settings);
  auto stopped = end_of(e, initial_state(e));
  BOOST_TEST(stopped.version == 18U);
  BOOST_TEST(stopped.losses.beat_constant[1]);
  settings.until->pause_after = 0;
  const auto resumed = end_of(forgetting(settings), std::move(stopped));
  BOOST_TEST(resumed.version == whole.version);
  BOOST_TEST((resumed.losses == whole.losses));
}

BOOST_AUTO_TEST_SUITE_END()
