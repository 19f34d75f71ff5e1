// What an evaluation scores, with which parameters, and the metrics' definitions.
#include "federated/evaluation/evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/training.hpp"
#include "storage/memory_store.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(evaluations)

using namespace furlong;
using tests::experiment_of;
using tests::report_of;

namespace {

/// Two training clients, one unseen validation client, one unseen test client; four items; rank 1.
std::shared_ptr<tests::table_population> tiny() {
  auto made = std::make_shared<tests::table_population>();
  made->what = {4, 4, models::objective::squared_error};
  made->seen = {0, 1};
  made->held_out_validation = {2};
  made->held_out_test = {3};
  made->tables.resize(4);
  made->tables[0] = {{{0, 1}, {}, {}, {3, 4}, {}}, {{2}, {}, {}, {2}, {}}, {{1, 3}, {}, {}, {4, 1}, {}}};
  made->tables[1] = {{{2}, {}, {}, {5}, {}}, {}, {{0}, {}, {}, {2}, {}}};
  made->tables[2] = {{{0, 1, 2}, {}, {}, {1, 2, 3}, {}}, {}, {}};
  made->tables[3] = {{{3, 2, 1, 0, 1}, {}, {}, {5, 4, 3, 2, 1}, {}}, {}, {}};
  return made;
}

/// Item i has the vector i + 1; a user's vector, where it is shared, is 0.5.
models::shared_parameters model_of(const federated::experiment& e) {
  models::shared_parameters model(e.parts.shared);
  for (std::size_t t = 0; t < e.parts.shared->count(); ++t) {
    const auto values = model.tensor(t);
    if ((*e.parts.shared)[t].name == "item")
      std::iota(values.begin(), values.end(), 1.0F);
    else
      std::ranges::fill(values, 0.5F);
  }
  return model;
}

struct rating {
  double guess;
  double label;
};

void check(const std::optional<federated::group_metrics>& group, std::uint64_t clients,
           const std::vector<rating>& expected) {
  BOOST_REQUIRE(group.has_value());
  double squares = 0.0;
  double right = 0.0;
  for (const auto& one : expected) {
    squares += std::pow(one.guess - one.label, 2);
    right += std::abs(one.guess - one.label) <= 0.5 ? 1 : 0;
  }
  const auto n = static_cast<double>(expected.size());
  BOOST_TEST(group->clients == clients);
  BOOST_TEST(group->examples == expected.size());
  BOOST_TEST(std::abs(group->rmse.value() - std::sqrt(squares / n)) < 1e-5);
  BOOST_TEST(std::abs(group->loss - squares / n) < 1e-5);
  BOOST_TEST(group->accuracy.value() == right / n);
  BOOST_TEST(!group->auc.has_value());
}

/// Ridge regression of ratings on items (item i counts i + 1), in one dimension.
double ridge(const std::vector<std::pair<int, double>>& support) {
  double xx = 0.5;
  double xy = 0.0;
  for (const auto& [item, label] : support) {
    xx += (item + 1) * (item + 1);
    xy += (item + 1) * label;
  }
  return xy / xx;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_shared_model_is_scored_as_it_is_on_seen_clients_test_parts) {
  const auto e = experiment_of("fedavg", {}, tiny());
  const auto got = report_of(e, model_of(e));
  BOOST_TEST(got.version == 7U);
  check(got.seen, 2, {{1.0, 4}, {2.0, 1}, {0.5, 2}});
  // Unseen clients: all examples, as nothing is reconstructed.
  check(got.validation, 1, {{0.5, 1}, {1.0, 2}, {1.5, 3}});
  check(got.unseen, 1, {{2.0, 5}, {1.5, 4}, {1.0, 3}, {0.5, 2}, {1.0, 1}});
}

BOOST_AUTO_TEST_CASE(unseen_clients_are_reconstructed_on_support_and_scored_on_query) {
  for (const std::string_view kind : {"fedavg", "fedrecon"}) {
    const auto e = experiment_of(kind, {"user"}, tiny());
    const auto got = report_of(e, model_of(e));
    const double user = ridge({{3, 5}, {1, 3}, {1, 1}});
    check(got.unseen, 1, {{3 * user, 4}, {user, 2}});
    check(got.validation, 1, {{2 * ridge({{0, 1}, {2, 3}}), 2}});
  }
}

// Fine-tuning: one SGD step on the first support batch, of w by -lr 2 (guess - label) x, from what was broadcast.
BOOST_AUTO_TEST_CASE(shared_tensors_are_fine_tuned_from_the_models_values) {
  auto clients = tiny();
  clients->tables[3] = {{{1, 1}, {}, {}, {5, 4}, {}}, {}, {}};  // support and query, both of the item of value 2
  const double step = 0.1 * 2 * (0.5 * 2 - 5);
  for (const auto& [tensors, guess] : {std::pair(std::vector<std::string>{"user"}, (0.5 - step * 2) * 2),
                                       {{"item"}, 0.5 * (2 - step * 0.5)},
                                       {{"user", "item"}, (0.5 - step * 2) * (2 - step * 0.5)}}) {
    auto e = experiment_of("fedavg", tensors, clients);
    *e.settings.reconstruction = {.lr = 0.1F, .epochs = 0};
    check(report_of(e, model_of(e)).unseen, 1, {{1.0, 4}});  // as it is
    e.settings.reconstruction->epochs = 1;
    check(report_of(e, model_of(e)).unseen, 1, {{guess, 4}});
  }
}

// The same for clients that train: a step for each of their training examples, one after the other. Client 0 rated item
// 0 with 3 (user 0.5 -> 1), then item 1 with 4 (user -> 1.8, item 2 -> 2.4); client 1 item 2 with 5 (user -> 2.6).
BOOST_AUTO_TEST_CASE(seen_clients_are_fine_tuned_on_their_train_part) {
  auto e = experiment_of("fedavg", {"user", "item"}, tiny());
  *e.settings.reconstruction = {.lr = 0.1F, .epochs = 1};
  check(report_of(e, model_of(e)).seen, 2, {{1.8 * 2.4, 4}, {1.8 * 4, 1}, {2.6, 2}});
}

// What is the client's own is tuned, too, from the stored values; alone it is left as it is.
BOOST_AUTO_TEST_CASE(stored_values_are_where_fine_tuning_starts) {
  auto e = experiment_of("furl", {"user", "item"}, tiny());
  e.settings.own->cold_start = federated::cold_start_kind::reconstruct;
  *e.settings.reconstruction = {.lr = 0.1F, .epochs = 1};
  storage::memory_store store(e.parts.private_);
  models::private_parameters own(e.parts.private_);
  own.values()[0] = 0.5F;
  for (const std::uint32_t client : {0U, 1U}) BOOST_REQUIRE(store.commit(client, 3, own));
  check(report_of(e, model_of(e), &store).seen, 2, {{1.8 * 2.4, 4}, {1.8 * 4, 1}, {2.6, 2}});
  // Who has stored nothing is rebuilt as at any cold start, and then tuned.
  storage::memory_store empty(e.parts.private_);
  const double tuned = report_of(e, model_of(e), &empty).seen->loss;
  e.settings.evaluation->reconstruct = {"user"};
  BOOST_TEST(tuned != report_of(e, model_of(e), &empty).seen->loss);
  check(report_of(e, model_of(e), &store).seen, 2, {{1.0, 4}, {2.0, 1}, {0.5, 2}});
}

BOOST_AUTO_TEST_CASE(how_many_are_scored_at_a_time_changes_no_figure) {
  auto e = experiment_of("fedrecon", {"user"}, tiny());
  const double user = ridge({{3, 5}, {1, 3}, {1, 1}});
  for (const std::uint32_t size : {0U, 1U, 2U, 64U}) {
    e.settings.evaluation->batch_size = size;
    check(report_of(e, model_of(e)).unseen, 1, {{3 * user, 4}, {user, 2}});
  }
}

BOOST_AUTO_TEST_CASE(fedrecon_reconstructs_seen_clients_on_their_whole_train_part) {
  const auto e = experiment_of("fedrecon", {"user"}, tiny());
  const double first = ridge({{0, 3}, {1, 4}});
  check(report_of(e, model_of(e)).seen, 2, {{2 * first, 4}, {4 * first, 1}, {ridge({{2, 5}}), 2}});
}

BOOST_AUTO_TEST_CASE(furl_scores_seen_clients_with_what_they_stored) {
  auto e = experiment_of("furl", {"user"}, tiny());
  storage::memory_store store(e.parts.private_);
  models::private_parameters own(e.parts.private_);
  own.values()[0] = 1.5F;
  BOOST_REQUIRE(store.commit(0, 3, own));
  federated::initial_private(e, 0, 1, own);
  const double fresh = own.values()[0];  // client 1 has never trained
  check(report_of(e, model_of(e), &store).seen, 2, {{3.0, 4}, {6.0, 1}, {fresh, 2}});
  // Unseen clients have their own draw, or are reconstructed: with cold_start = "reconstruct", unseen or not stored.
  federated::initial_private(e, 0, 3, own);
  const double unseen = own.values()[0];
  check(report_of(e, model_of(e), &store).unseen, 1,
        {{4 * unseen, 5}, {3 * unseen, 4}, {2 * unseen, 3}, {unseen, 2}, {2 * unseen, 1}});
  e.settings.own->cold_start = federated::cold_start_kind::reconstruct;
  const auto cold = report_of(e, model_of(e), &store);
  check(cold.seen, 2, {{3.0, 4}, {6.0, 1}, {ridge({{2, 5}}), 2}});
  const double user = ridge({{3, 5}, {1, 3}, {1, 1}});
  check(cold.unseen, 1, {{3 * user, 4}, {user, 2}});
}

BOOST_AUTO_TEST_CASE(without_unseen_validation_clients_the_seen_ones_validation_parts_count) {
  auto clients = tiny();
  clients->held_out_validation.clear();
  const auto e = experiment_of("fedavg", {}, clients);
  check(report_of(e, model_of(e)).validation, 1, {{1.5, 2}});
}

BOOST_AUTO_TEST_CASE(predictions_are_clipped_only_when_asked) {
  auto e = experiment_of("fedavg", {}, tiny());
  auto model = model_of(e);
  for (auto& value : model.tensor(e.parts.shared->find("user").value())) value = 2.0F;
  check(report_of(e, model).seen, 2, {{4.0, 4}, {8.0, 1}, {2.0, 2}});
  e.settings.evaluation->clip = true;
  check(report_of(e, model).seen, 2, {{4.0, 4}, {5.0, 1}, {2.0, 2}});
  for (auto& value : model.tensor(e.parts.shared->find("user").value())) value = -2.0F;
  check(report_of(e, model).seen, 2, {{1.0, 4}, {1.0, 1}, {1.0, 2}});
}

BOOST_AUTO_TEST_CASE(the_order_of_scoring_does_not_matter) {
  for (const std::string_view kind : {"fedavg", "fedrecon"}) {
    auto e = experiment_of(kind, {"user"}, tests::make_ratings(3));
    e.settings.reconstruction->solver = federated::solver_kind::sgd;
    const auto model = federated::initial_model(e);
    const auto one = report_of(e, model);
    const auto other = report_of(e, model, nullptr, true);
    for (const auto& [a, b] : {std::pair(one.seen, other.seen), std::pair(one.unseen, other.unseen),
                               std::pair(one.validation, other.validation)}) {
      BOOST_TEST(a.value().loss == b.value().loss);
      BOOST_TEST(a->rmse.value() == b->rmse.value());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_score_counts_for_its_client_only) {
  auto e = experiment_of("fedavg", {}, tests::make_ratings(3));
  e.settings.evaluation->clients = 6;
  const auto model = federated::initial_model(e);
  federated::evaluation all(e, {0, model}, nullptr);
  std::size_t gaps = 0;  // between clients of a group
  for (std::size_t i = 0; i + 1 < all.size(); ++i) {
    const auto [in, client] = all.client(i);
    BOOST_TEST(all.accept({in, client, {}}));
    if (all.client(i + 1).first != in || all.client(i + 1).second == client + 1) continue;
    ++gaps;
    BOOST_TEST(!all.accept({in, client + 1, {}}));
  }
  BOOST_TEST(gaps > 0U);
}

BOOST_AUTO_TEST_CASE(a_store_that_fails_is_told) {
  struct broken final : federated::private_store {
    result<bool> load(std::uint32_t client, models::private_parameters&) override {
      return fail(error::kind::data, "client " + std::to_string(client), "is damaged");
    }
    result<void> commit(std::uint32_t, std::uint64_t, const models::private_parameters&) override { return {}; }
    result<void> sync() override { return {}; }
    void covered(std::uint64_t) override {}
    result<bool> erase(std::uint32_t) override { return false; }
    result<void> visit(
        const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>&) override {
      return {};
    }
  } store;
  const auto e = experiment_of("furl", {}, tiny());
  const auto model = model_of(e);
  federated::evaluation scores(e, {0, model}, &store);
  federated::workspace use;
  std::size_t failed = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const auto done = scores.score(i, use);
    if (!done) BOOST_TEST(done.error().text().find("is damaged") != std::string::npos);
    failed += done ? 0 : 1;
  }
  BOOST_TEST(failed == 2U);  // the seen ones; unseen clients have nothing stored
}

// With one feature of weight 1 an example's value is its log-odds: every AUC can be asked for, ties and all.
BOOST_AUTO_TEST_CASE(the_auc_is_the_share_of_pairs_ranked_rightly) {
  random_stream stream(2, purpose::test);
  for (int trial = 0; trial < 50; ++trial) {
    auto clients = std::make_shared<tests::table_population>();
    clients->what = {1, 3, models::objective::logistic};
    clients->seen = {0, 1, 2};
    clients->tables.resize(3);
    std::vector<std::pair<float, bool>> all;
    for (auto& table : clients->tables) {
      const std::uint32_t count = stream.below(12);
      for (std::uint32_t i = 0; i < count; ++i) {
        table.test.features.push_back(0);
        table.test.values.push_back(static_cast<float>(stream.below(6)) - 2.5F);  // many ties
        table.test.labels.push_back(static_cast<float>(stream.below(2)));
        all.emplace_back(table.test.values.back(), table.test.labels.back() > 0);
      }
    }
    const auto e = tests::make_experiment({}, clients, {}, {});
    models::shared_parameters model(e.parts.shared);
    model.values()[0] = 1.0F;
    double pairs = 0.0;
    double ranked = 0.0;
    double right = 0.0;
    double loss = 0.0;
    for (const auto& [odds, yes] : all) {
      right += (odds > 0) == yes ? 1 : 0;
      loss += std::log1p(std::exp(static_cast<double>(yes ? -odds : odds)));
      for (const auto& [others, other_yes] : all) {
        if (!yes || other_yes) continue;
        pairs += 1;
        ranked += odds > others ? 1.0 : odds == others ? 0.5 : 0.0;
      }
    }
    const auto got = report_of(e, model).seen;
    BOOST_REQUIRE(got.has_value() == !all.empty());
    if (all.empty()) continue;
    BOOST_TEST(got->auc.has_value() == (pairs > 0));
    if (pairs > 0) BOOST_TEST(std::abs(*got->auc - ranked / pairs) < 1e-12);
    BOOST_TEST(got->accuracy.value() == right / static_cast<double>(all.size()));
    BOOST_TEST(std::abs(got->loss - loss / static_cast<double>(all.size())) < 1e-6);
    BOOST_TEST(!got->rmse.has_value());
  }
}

// Steps of reconstruction that are too long end there, and an evaluation must end all the same.
BOOST_AUTO_TEST_CASE(predictions_that_are_no_numbers_have_no_auc) {
  auto clients = std::make_shared<tests::table_population>();
  clients->what = {1, 1, models::objective::logistic};
  clients->seen = {0};
  clients->tables.resize(1);
  auto& test = clients->tables[0].test;
  test.features = {0, 0, 0};
  test.values = {1.0F, NAN, 2.0F};
  test.labels = {0.0F, 1.0F, 1.0F};
  const auto e = tests::make_experiment({}, clients, {}, {});
  const auto report = report_of(e, models::shared_parameters(e.parts.shared));
  const auto seen = report.seen.value();
  BOOST_TEST(seen.examples == 0U);
  BOOST_TEST(seen.clients == 0U);
  BOOST_TEST(seen.unscored == 1U);
  BOOST_TEST(std::isnan(seen.loss));
  BOOST_TEST(!seen.auc.has_value());
  BOOST_TEST(!seen.accuracy.has_value());
  BOOST_TEST(report.by_participation.empty());
}

// The others are scored as if it were not there.
BOOST_AUTO_TEST_CASE(a_client_without_a_finite_score_is_named_and_counts_in_no_figure) {
  for (const auto& [client, where] : {std::pair(0U, federated::group::seen), {2U, federated::group::validation}}) {
    auto clients = tiny();
    auto& table = clients->tables[client];
    auto& labels = where == federated::group::seen ? table.test.labels : table.train.labels;
    labels.back() = NAN;
    if (client == 2) labels.assign(labels.size(), NAN);
    const auto e = experiment_of("fedavg", {}, clients);
    const auto report = report_of(e, model_of(e));
    BOOST_REQUIRE(report.unscored.size() == 1U);
    BOOST_TEST((report.unscored[0].in == where));
    BOOST_TEST(report.unscored[0].client == client);
    BOOST_TEST(report.unscored[0].figure == "loss");
    if (client == 0) {
      check(report.seen, 1, {{0.5, 2}});
      check(report.validation, 1, {{0.5, 1}, {1.0, 2}, {1.5, 3}});
    } else {
      check(report.seen, 2, {{1.0, 4}, {2.0, 1}, {0.5, 2}});
      BOOST_TEST(report.validation.value().clients == 0U);
      BOOST_TEST(!federated::metric_of(report, "validation.rmse").has_value());
    }
    BOOST_TEST(report.seen->unscored == (client == 0 ? 1U : 0U));
    BOOST_TEST(report.validation->unscored == (client == 0 ? 0U : 1U));
    check(report.unseen, 1, {{2.0, 5}, {1.5, 4}, {1.0, 3}, {0.5, 2}, {1.0, 1}});
  }
}

BOOST_AUTO_TEST_CASE(a_report_names_a_part_of_many_clients_without_a_finite_score) {
  auto clients = std::make_shared<tests::table_population>(*tests::make_ratings(3));
  for (auto& table : clients->tables)
    for (auto& label : table.test.labels) label = INFINITY;
  const auto e = experiment_of("fedavg", {}, clients);
  const auto report = report_of(e, federated::initial_model(e));
  BOOST_REQUIRE(report.seen.has_value());
  BOOST_TEST(report.seen->clients == 0U);
  BOOST_TEST(report.unscored.size() == std::min<std::size_t>(report.seen->unscored, federated::most_unscored));
}

BOOST_AUTO_TEST_SUITE_END()
