#include "federated/evaluation.hpp"

#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>
#include <set>

#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

using namespace furlong;
using federated::algorithm_kind;

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

federated::experiment experiment_of(algorithm_kind kind, const std::vector<std::string>& reconstruct,
                                    const std::shared_ptr<const federated::population>& clients = tiny()) {
  federated::run_settings settings;
  settings.algorithm = kind;
  settings.client.batch_size = 1;
  settings.reconstruction = {.solver = federated::solver_kind::least_squares, .ridge = 0.5F};
  settings.evaluation.reconstruct = reconstruct;
  const std::vector<std::string> own =
      kind == algorithm_kind::fedavg ? std::vector<std::string>{} : std::vector<std::string>{"user"};
  return tests::make_experiment(settings, clients, {{"rank", std::int64_t{1}}}, own);
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

federated::evaluation_report report_of(const federated::experiment& e, const models::shared_parameters& model,
                                       federated::private_store* store = nullptr, bool backwards = false) {
  federated::evaluation scores(e, model, store, 7);
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i)
    BOOST_REQUIRE(scores.score(backwards ? scores.size() - 1 - i : i, use));
  return scores.report();
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
  BOOST_TEST(group->accuracy == right / n);
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

BOOST_AUTO_TEST_SUITE(evaluations)

BOOST_AUTO_TEST_CASE(the_shared_model_is_scored_as_it_is_on_seen_clients_test_parts) {
  const auto e = experiment_of(algorithm_kind::fedavg, {});
  const auto got = report_of(e, model_of(e));
  BOOST_TEST(got.version == 7U);
  check(got.seen, 2, {{1.0, 4}, {2.0, 1}, {0.5, 2}});
  // Unseen clients: odd batches only, even ones are support, though nothing is reconstructed.
  check(got.validation, 1, {{1.0, 2}});
  check(got.unseen, 1, {{1.5, 4}, {0.5, 2}});
}

BOOST_AUTO_TEST_CASE(unseen_clients_are_reconstructed_on_support_and_scored_on_query) {
  for (const auto kind : {algorithm_kind::fedavg, algorithm_kind::fedrecon}) {
    const auto e = experiment_of(kind, {"user"});
    const auto got = report_of(e, model_of(e));
    const double user = ridge({{3, 5}, {1, 3}, {1, 1}});
    check(got.unseen, 1, {{3 * user, 4}, {user, 2}});
    check(got.validation, 1, {{2 * ridge({{0, 1}, {2, 3}}), 2}});
  }
}

BOOST_AUTO_TEST_CASE(batches_of_evaluation_can_have_a_size_of_their_own) {
  auto e = experiment_of(algorithm_kind::fedrecon, {"user"});
  e.settings.evaluation.batch_size = 2;  // of five: 0, 1 and 4 support, 2 and 3 query
  const double user = ridge({{3, 5}, {2, 4}, {1, 1}});
  check(report_of(e, model_of(e)).unseen, 1, {{2 * user, 3}, {user, 2}});
}

BOOST_AUTO_TEST_CASE(fedrecon_reconstructs_seen_clients_on_their_whole_train_part) {
  const auto e = experiment_of(algorithm_kind::fedrecon, {"user"});
  const double first = ridge({{0, 3}, {1, 4}});
  check(report_of(e, model_of(e)).seen, 2, {{2 * first, 4}, {4 * first, 1}, {ridge({{2, 5}}), 2}});
}

BOOST_AUTO_TEST_CASE(furl_scores_seen_clients_with_what_they_stored) {
  auto e = experiment_of(algorithm_kind::furl, {"user"});
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
  check(report_of(e, model_of(e), &store).unseen, 1, {{3 * unseen, 4}, {unseen, 2}});
  e.settings.own.cold_start = federated::cold_start_kind::reconstruct;
  const auto cold = report_of(e, model_of(e), &store);
  check(cold.seen, 2, {{3.0, 4}, {6.0, 1}, {ridge({{2, 5}}), 2}});
  const double user = ridge({{3, 5}, {1, 3}, {1, 1}});
  check(cold.unseen, 1, {{3 * user, 4}, {user, 2}});
}

BOOST_AUTO_TEST_CASE(without_unseen_validation_clients_the_seen_ones_validation_parts_count) {
  auto clients = tiny();
  clients->held_out_validation.clear();
  const auto e = experiment_of(algorithm_kind::fedavg, {}, clients);
  check(report_of(e, model_of(e)).validation, 1, {{1.5, 2}});
}

BOOST_AUTO_TEST_CASE(predictions_are_clipped_only_when_asked) {
  auto e = experiment_of(algorithm_kind::fedavg, {});
  auto model = model_of(e);
  for (auto& value : model.tensor(e.parts.shared->find("user").value())) value = 2.0F;
  check(report_of(e, model).seen, 2, {{4.0, 4}, {8.0, 1}, {2.0, 2}});
  e.settings.evaluation.clip = true;
  check(report_of(e, model).seen, 2, {{4.0, 4}, {5.0, 1}, {2.0, 2}});
  for (auto& value : model.tensor(e.parts.shared->find("user").value())) value = -2.0F;
  check(report_of(e, model).seen, 2, {{1.0, 4}, {1.0, 1}, {1.0, 2}});
}

BOOST_AUTO_TEST_CASE(the_order_of_scoring_does_not_matter) {
  for (const auto kind : {algorithm_kind::fedavg, algorithm_kind::fedrecon}) {
    auto e = experiment_of(kind, {"user"}, tests::make_ratings(3));
    e.settings.reconstruction.solver = federated::solver_kind::sgd;
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
  const auto e = experiment_of(algorithm_kind::furl, {});
  const auto model = model_of(e);
  federated::evaluation scores(e, model, &store, 0);
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
  models::random_stream stream(2, models::purpose::test);
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
    BOOST_TEST(got->accuracy == right / static_cast<double>(all.size()));
    BOOST_TEST(std::abs(got->loss - loss / static_cast<double>(all.size())) < 1e-6);
    BOOST_TEST(!got->rmse.has_value());
  }
}

namespace {

/// Another population, and whose examples were loaded from it.
class watched final : public federated::population {
 public:
  using load_record = std::pair<std::uint32_t, federated::part>;

  explicit watched(std::shared_ptr<const federated::population> of) : of_(std::move(of)) {}

  [[nodiscard]] models::data_facts facts() const override { return of_->facts(); }
  [[nodiscard]] std::span<const std::uint32_t> training() const override { return of_->training(); }
  [[nodiscard]] std::span<const std::uint32_t> unseen_validation() const override { return of_->unseen_validation(); }
  [[nodiscard]] std::span<const std::uint32_t> unseen_test() const override { return of_->unseen_test(); }
  [[nodiscard]] models::examples_view load(std::uint32_t client, federated::part which,
                                           models::examples& scratch) const override {
    loaded_.emplace(client, which);
    return of_->load(client, which, scratch);
  }
  [[nodiscard]] std::string client_name(std::uint32_t client) const override { return of_->client_name(client); }
  [[nodiscard]] std::string feature_name(std::uint32_t feature) const override { return of_->feature_name(feature); }

  [[nodiscard]] std::set<load_record> take_loaded() const { return std::exchange(loaded_, {}); }

 private:
  std::shared_ptr<const federated::population> of_;
  mutable std::set<load_record> loaded_;
};

std::vector<std::uint32_t> loaded_of(const std::set<watched::load_record>& all, federated::part which) {
  std::vector<std::uint32_t> clients;
  for (const auto& [client, part] : all)
    if (part == which) clients.push_back(client);
  return clients;
}

constexpr tests::ratings_shape crowd = {.clients = 400, .unseen_validation = 60, .unseen_test = 80, .empty = 0};

/// Scores with a ledger in which client c was folded folded[c] times.
federated::evaluation_report report_with(const federated::experiment& e, const std::vector<std::uint32_t>& folded) {
  federated::participation_ledger ledger(folded.size());
  for (std::uint32_t client = 0; client < folded.size(); ++client) ledger.touch(client).folded = folded[client];
  const auto model = federated::initial_model(e);
  federated::evaluation scores(e, model, nullptr, 1, &ledger);
  ledger = federated::participation_ledger();  // read when the evaluation began, not when it ends
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i) BOOST_REQUIRE(scores.score(i, use));
  return scores.report();
}

using range = std::array<std::uint64_t, 3>;  // least, most, clients

std::vector<range> ranges_of(const federated::evaluation_report& report) {
  std::vector<range> all;
  for (const auto& bin : report.by_participation) all.push_back({bin.least, bin.most, bin.clients});
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sample_of_each_group_is_scored_the_same_in_every_evaluation) {
  const auto clients = std::make_shared<watched>(tests::make_ratings(5, crowd));
  auto e = experiment_of(algorithm_kind::fedavg, {}, clients);
  e.settings.evaluation.clients = 25;
  const auto model = federated::initial_model(e);
  (void)clients->take_loaded();
  const auto first = report_of(e, model);
  const auto loaded = clients->take_loaded();
  for (const auto& group : {first.validation, first.seen, first.unseen}) BOOST_TEST(group.value().clients == 25U);
  const auto seen = loaded_of(loaded, federated::part::test);
  BOOST_TEST(seen.size() == 25U);
  BOOST_TEST(std::ranges::includes(clients->training(), seen));
  const auto unseen = loaded_of(loaded, federated::part::train);  // both groups
  BOOST_TEST(unseen.size() == 50U);
  BOOST_TEST(std::ranges::count_if(unseen, [&](auto c) { return std::ranges::count(clients->unseen_test(), c); }) ==
             25);
  const auto again = report_of(e, model);
  BOOST_TEST((clients->take_loaded() == loaded));
  BOOST_TEST(again.seen->loss == first.seen->loss);
  e.settings.seed += 1;
  (void)report_of(e, model);
  const auto other = clients->take_loaded();
  BOOST_TEST((loaded_of(other, federated::part::test) != seen));
  BOOST_TEST((loaded_of(other, federated::part::train) != unseen));
}

BOOST_AUTO_TEST_CASE(seen_clients_validation_parts_have_a_sample_of_their_own) {
  auto table = tests::make_ratings(5, crowd);
  table->held_out_validation.clear();
  const auto clients = std::make_shared<watched>(table);
  auto e = experiment_of(algorithm_kind::fedavg, {}, clients);
  e.settings.evaluation.clients = 25;
  const auto model = federated::initial_model(e);
  (void)clients->take_loaded();
  (void)report_of(e, model);
  const auto loaded = clients->take_loaded();
  const auto validation = loaded_of(loaded, federated::part::validation);
  BOOST_TEST(validation.size() == 25U);
  BOOST_TEST((validation != loaded_of(loaded, federated::part::test)));
}

BOOST_AUTO_TEST_CASE(a_sample_as_large_as_the_group_is_the_group) {
  auto e = experiment_of(algorithm_kind::fedavg, {}, tests::make_ratings(5, crowd));
  const auto model = federated::initial_model(e);
  const auto all = report_of(e, model);
  e.settings.evaluation.clients = 60;
  const auto most = report_of(e, model);
  BOOST_TEST(most.validation->loss == all.validation->loss);
  BOOST_TEST(most.unseen->clients == 60U);
  e.settings.evaluation.clients = 5000;
  const auto larger = report_of(e, model);
  BOOST_TEST(larger.seen->loss == all.seen->loss);
  BOOST_TEST(larger.unseen->loss == all.unseen->loss);
  BOOST_TEST(all.by_participation.empty());
}

// 12 clients. Four never trained; eight others, fewer than the nine parts left, so each count has its own bin.
BOOST_AUTO_TEST_CASE(bins_of_a_few_clients_are_their_counts) {
  const auto e = experiment_of(algorithm_kind::fedavg, {}, tests::make_ratings(5, {.clients = 19}));
  std::vector<std::uint32_t> folded = {0, 7, 0, 2, 2, 0, 9, 1, 0, 2, 30, 1};
  folded.resize(19, 99);  // unseen clients do not matter
  const std::vector<range> expected = {{0, 0, 4}, {1, 1, 2}, {2, 2, 3}, {7, 7, 1}, {9, 9, 1}, {30, 30, 1}};
  BOOST_TEST((ranges_of(report_with(e, folded)) == expected));
  BOOST_TEST((ranges_of(report_with(e, std::vector<std::uint32_t>(19, 0))) == std::vector<range>{{0, 0, 12}}));
  BOOST_TEST((ranges_of(report_with(e, std::vector<std::uint32_t>(19, 3))) == std::vector<range>{{3, 3, 12}}));
}

// 260 clients with different counts make ten bins of 26; with a tie at a border the bin before takes all of it.
BOOST_AUTO_TEST_CASE(bins_are_deciles_and_do_not_split_equal_counts) {
  const auto e = experiment_of(algorithm_kind::fedavg, {}, tests::make_ratings(5, crowd));
  std::vector<std::uint32_t> folded(crowd.clients);
  for (std::uint32_t client = 0; client < crowd.clients; ++client) folded[client] = 1 + (client * 37) % 260;
  auto got = ranges_of(report_with(e, folded));
  BOOST_REQUIRE(got.size() == 10U);
  for (std::uint32_t i = 0; i < 10; ++i) BOOST_TEST((got[i] == range{26 * i + 1, 26 * i + 26, 26}));
  for (auto& count : folded)
    if (count >= 25 && count <= 30) count = 26;
  got = ranges_of(report_with(e, folded));
  BOOST_REQUIRE(got.size() == 10U);
  BOOST_TEST((got[0] == range{1, 26, 30}));
  BOOST_TEST((got[1] == range{31, 52, 22}));
}

// Each bin's figures are those of an evaluation in which its clients are all the seen ones.
BOOST_AUTO_TEST_CASE(a_bin_has_the_figures_of_its_clients) {
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    const auto clients = trial % 2 == 0 ? tests::make_ratings(trial, crowd) : tests::make_classes(trial, crowd);
    clients->tables[3].test = {};  // nothing to score
    auto e = experiment_of(algorithm_kind::fedavg, {}, clients);
    e.settings.evaluation.clients = trial < 3 ? 0 : 90;
    models::random_stream stream(trial, models::purpose::test, 3);
    std::vector<std::uint32_t> folded(crowd.clients);
    for (auto& count : folded) count = stream.below(1 + stream.below(12));
    const auto report = report_with(e, folded);
    BOOST_REQUIRE(report.by_participation.size() > 2U);
    BOOST_TEST(report.by_participation.size() <= 10U);
    BOOST_TEST(report.by_participation.front().most == 0U);
    std::uint64_t scored = 0;
    for (std::size_t i = 0; i < report.by_participation.size(); ++i) {
      const auto& bin = report.by_participation[i];
      BOOST_TEST((i == 0 || bin.least > report.by_participation[i - 1].most));
      BOOST_TEST(bin.clients == bin.metrics.clients);
      scored += bin.clients;
      if (e.settings.evaluation.clients > 0) continue;
      auto some = std::make_shared<tests::table_population>(*clients);
      std::erase_if(some->seen, [&](auto c) { return folded[c] < bin.least || folded[c] > bin.most; });
      auto alone = e;
      alone.clients = some;
      const auto expected = report_of(alone, federated::initial_model(e)).seen.value();
      BOOST_TEST(bin.clients == expected.clients);
      BOOST_TEST(bin.metrics.examples == expected.examples);
      BOOST_TEST(bin.metrics.accuracy == expected.accuracy);
      BOOST_TEST(std::abs(bin.metrics.loss - expected.loss) < 1e-12 * expected.loss);
      BOOST_TEST(bin.metrics.rmse.has_value() == expected.rmse.has_value());
      if (expected.rmse) BOOST_TEST(std::abs(*bin.metrics.rmse - *expected.rmse) < 1e-12 * *expected.rmse);
      BOOST_TEST((bin.metrics.auc == expected.auc));
    }
    BOOST_TEST(scored == report.seen->clients);
  }
}

BOOST_AUTO_TEST_CASE(figures_are_found_by_name) {
  federated::evaluation_report report;
  report.seen = {.clients = 1, .examples = 2, .loss = 0.3, .accuracy = 0.4, .rmse = 0.5, .auc = {}};
  report.unseen = {.clients = 1, .examples = 2, .loss = 0.6, .accuracy = 0.7, .rmse = {}, .auc = 0.8};
  const std::pair<const char*, std::optional<double>> expected[] = {
      {"seen.loss", 0.3},      {"seen.accuracy", 0.4}, {"seen.rmse", 0.5},  {"seen.auc", {}},
      {"unseen.loss", 0.6},    {"unseen.auc", 0.8},    {"unseen.rmse", {}}, {"unseen.accuracy", 0.7},
      {"validation.loss", {}}, {"validation.rmse", {}}};
  for (const auto& [name, value] : expected) {
    BOOST_TEST((federated::metric_of(report, name) == value), name);
    BOOST_TEST(federated::valid_metric(name), name);
  }
  for (const char* name : {"", ".", "seen", "seen.", ".loss", "loss", "seen.clients", "seen.loss.", "test.loss",
                           "seenloss", "eval.seen.loss", "seen loss"}) {
    BOOST_TEST(!federated::valid_metric(name), name);
    BOOST_TEST(!federated::metric_of(report, name).has_value(), name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
