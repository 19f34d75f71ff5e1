// A model with a row for each client, shared as everything else is: a client that trained has its own, others have
// none.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "federated/client/inference.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(user_tables)

using namespace furlong;
using federated::personal_source;
using federated::solver_kind;
using tests::report_of;

namespace {

/// Clients 0 and 1 train, 2 and 3 do not; item i has the value i + 1.
std::shared_ptr<tests::table_population> four_clients() {
  auto made = std::make_shared<tests::table_population>();
  made->what = {4, 4, models::objective::squared_error};
  made->seen = {0, 1};
  made->held_out_validation = {2};
  made->held_out_test = {3};
  made->tables.resize(4);
  made->tables[0] = {{{0, 1}, {}, {}, {3, 4}, {}}, {}, {{1}, {}, {}, {4}, {}}};
  made->tables[1] = {{{2}, {}, {}, {5}, {}}, {}, {{0}, {}, {}, {2}, {}}};
  made->tables[2] = {{{1, 2}, {}, {}, {2, 3}, {}}, {}, {}};
  made->tables[3] = {{{3, 2}, {}, {}, {5, 4}, {}}, {}, {}};
  return made;
}

federated::experiment with_table(const std::vector<std::string>& reconstruct, solver_kind solver) {
  federated::run_settings settings;
  settings.client->batch_size = 1;
  *settings.reconstruction = {.solver = solver, .lr = 0.02F, .ridge = 0.5F};
  settings.evaluation->reconstruct = reconstruct;
  return tests::make_experiment(settings, four_clients(), {{"rank", std::int64_t{1}}, {"user_table", true}}, {});
}

models::shared_parameters model_of(const federated::experiment& e, const std::vector<float>& rows) {
  models::shared_parameters model(e.parts.shared);
  std::ranges::copy(rows, model.tensor(e.parts.shared->find("user").value()).begin());
  const auto items = model.tensor(e.parts.shared->find("item").value());
  std::iota(items.begin(), items.end(), 1.0F);
  return model;
}

/// What somebody without a row begins with.
double draw_of(const federated::experiment& e, std::uint32_t client) {
  const auto user = static_cast<std::uint32_t>(e.parts.model->find("user").value());
  float drawn = 0.0F;
  e.model->initialize(user, {e.settings.seed, purpose::initialize_private, 0, client, user}, {&drawn, 1});
  return drawn;
}

struct rating {
  int item;
  double label;
};

/// Ridge regression from nothing, or SGD of one rating a step from the draw.
double found(const federated::experiment& e, std::uint32_t client, const std::vector<rating>& support) {
  const auto& how = *e.settings.reconstruction;
  double xx = how.ridge;
  double xy = 0.0;
  double user = draw_of(e, client);
  for (const auto& [item, label] : support) {
    const double x = item + 1;
    xx += x * x;
    xy += x * label;
    user -= how.lr * 2 * (user * x - label) * x;
  }
  return how.solver == solver_kind::sgd ? user : xy / xx;
}

federated::inference infer(const federated::experiment& e, const models::shared_parameters& model,
                           std::optional<std::uint32_t> client, const models::examples& known) {
  const models::examples questions{{2}, {}, {}, {0}, {}};  // the item of value 3
  return federated::predict_examples(e, model, nullptr, client, known.view(), questions.view()).value();
}

void check(const federated::inference& got, personal_source source, double user) {
  BOOST_TEST(to_string(got.source) == to_string(source));
  BOOST_TEST(std::abs(got.predictions.at(0) - 3 * user) < 1e-4);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_row_of_a_table_is_left_for_seen_and_rebuilt_for_unseen) {
  for (const auto solver : {solver_kind::least_squares, solver_kind::sgd})
    for (const float row : {0.25F, 1e3F}) {
      const auto e = with_table({"user"}, solver);
      const auto got = report_of(e, model_of(e, {1.5F, 2.5F, row, row}));
      const double seen = (std::pow(2 * 1.5 - 4, 2) + std::pow(2.5 - 2, 2)) / 2;
      BOOST_TEST(std::abs(got.seen.value().loss - seen) < 1e-5);
      // The first rating is support, the second one is asked about.
      BOOST_TEST(std::abs(got.validation.value().loss - std::pow(3 * found(e, 2, {{1, 2}}) - 3, 2)) < 1e-4);
      BOOST_TEST(std::abs(got.unseen.value().loss - std::pow(3 * found(e, 3, {{3, 5}}) - 4, 2)) < 1e-4);
    }
}

BOOST_AUTO_TEST_CASE(a_prediction_uses_the_row_of_who_trained_and_rebuilds_it_for_others) {
  const models::examples known{{0, 3}, {}, {}, {1, 5}, {}};
  for (const auto solver : {solver_kind::least_squares, solver_kind::sgd}) {
    const auto e = with_table({"user"}, solver);
    const auto model = model_of(e, {1.5F, 2.5F, 1e3F, 1e3F});
    check(infer(e, model, 0, known), personal_source::model, 1.5);
    check(infer(e, model, 1, known), personal_source::model, 2.5);
    check(infer(e, model, 3, known), personal_source::reconstructed, found(e, 3, {{0, 1}, {3, 5}}));
  }
}

// Somebody new goes by no number, so that no client's row may show; rebuilt or not, the item's values fine-tuned or
// not.
BOOST_AUTO_TEST_CASE(somebody_new_sees_nothing_of_the_first_row) {
  const models::examples known{{0, 3}, {}, {}, {1, 5}, {}};
  for (const auto solver : {solver_kind::least_squares, solver_kind::sgd})
    for (const float row : {0.25F, 1e3F}) {
      const auto e = with_table({"user"}, solver);
      check(infer(e, model_of(e, {row, 2.5F, 0, 0}), {}, known), personal_source::reconstructed,
            found(e, 0, {{0, 1}, {3, 5}}));
      check(infer(e, model_of(e, {row, 2.5F, 0, 0}), {}, {}), personal_source::initial, draw_of(e, 0));
      const auto nothing = with_table({}, solver);
      check(infer(nothing, model_of(nothing, {row, 2.5F, 0, 0}), {}, known), personal_source::initial, draw_of(e, 0));
    }
  const auto tuned = with_table({"item"}, solver_kind::sgd);
  const auto one = infer(tuned, model_of(tuned, {0.25F, 2.5F, 0, 0}), {}, known);
  const auto other = infer(tuned, model_of(tuned, {1e3F, 2.5F, 0, 0}), {}, known);
  BOOST_TEST(one.predictions.at(0) == other.predictions.at(0));
}

BOOST_AUTO_TEST_SUITE_END()
