// Evaluations of data that are interactions: what held-out items are ranked among, and the figures of groups.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <limits>
#include <set>

#include "federated/client/item_scores.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/ranking/candidates.hpp"
#include "federated/ranking/figures.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(ranking_evaluations)

using namespace furlong;
using federated::group;
using federated::ranking::item_use;

namespace {

/// A value for each item is its score, for everybody.
class item_values final : public models::model {
 public:
  explicit item_values(std::uint32_t items)
      : tensors_(std::make_shared<const models::layout>(std::vector<models::tensor_spec>{
            {.name = "item", .rows = items, .index = models::row_index::by_feature}})) {}

  std::string_view kind() const override { return "item-values"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::squared_error; }
  void initialize(std::size_t, random_stream, std::span<float> values) const override {
    std::ranges::fill(values, 0.0F);
  }
  double gradient(std::span<const models::tensor_view>, const models::examples_view&,
                  models::gradient_views&) const override {
    return 0.0;
  }
  void predict(std::span<const models::tensor_view> weights, const models::examples_view& batch,
               std::span<float> scores) const override {
    for (std::size_t i = 0; i < batch.size(); ++i) scores[i] = weights[0].data[batch.features[i]];
  }

 private:
  models::layout_ptr tensors_;
};

models::examples items_of(const std::vector<std::uint32_t>& items) {
  models::examples table;
  table.features = items;
  table.labels.resize(items.size(), 1.0F);
  return table;
}

struct own_items {
  std::vector<std::uint32_t> train;
  std::vector<std::uint32_t> validation;
  std::vector<std::uint32_t> test;
};

std::shared_ptr<tests::table_population> people(std::uint32_t items, const std::vector<own_items>& all) {
  auto made = std::make_shared<tests::table_population>();
  made->what = {items, static_cast<std::uint32_t>(all.size()), models::objective::ranking};
  for (const auto& own : all) {
    made->seen.push_back(static_cast<std::uint32_t>(made->tables.size()));
    made->tables.push_back({items_of(own.train), items_of(own.validation), items_of(own.test)});
  }
  return made;
}

federated::experiment ranked(std::shared_ptr<const federated::population> clients,
                             const federated::ranking_settings& how, std::string_view kind = "fedavg") {
  federated::experiment e;
  *e.settings.algorithm = federated::chosen_algorithm(kind);
  e.settings.evaluation->ranking = how;
  e.model = federated::ranking::rank_by(std::make_shared<const item_values>(clients->facts().features), how);
  BOOST_REQUIRE(federated::lay_out(e, {}));
  e.clients = clients;
  e.participants = std::move(clients);
  return e;
}

models::shared_parameters valued(const federated::experiment& e, const std::vector<float>& values) {
  models::shared_parameters model(e.parts.shared);
  std::ranges::copy(values, model.values().begin());
  return model;
}

/// Three people and six items, of which the first one has the highest score.
std::shared_ptr<tests::table_population> three() {
  return people(6, {{{0}, {1}, {2}}, {{5}, {4}, {3}}, {{0}, {5}, {2}}});
}
const std::vector<float> falling = {6, 5, 4, 3, 2, 1};

void check_figure(const std::optional<federated::group_metrics>& of_group, const std::string& name, double wanted) {
  BOOST_REQUIRE(of_group.has_value());
  const auto figure = std::ranges::find(of_group->custom, name, &federated::named_figure::name);
  BOOST_REQUIRE_MESSAGE(figure != of_group->custom.end(), name);
  BOOST_TEST(std::abs(figure->value - wanted) < 1e-12, name << ": " << figure->value << ", " << wanted);
}

bool has_figure(const federated::group_metrics& of_group, const std::string& name) {
  return std::ranges::find(of_group.custom, name, &federated::named_figure::name) != of_group.custom.end();
}

}  // namespace

BOOST_AUTO_TEST_CASE(figures_among_all_items_are_those_by_hand) {
  const auto e = ranked(three(), {.top = {1, 2}, .candidates = 2, .exposed = {"3"}, .exposed_items = {3}});
  const auto report = tests::report_of(e, valued(e, falling));
  const auto& seen = report.seen;
  BOOST_TEST(seen->clients == 3U);
  BOOST_TEST(seen->examples == 3U);
  BOOST_TEST(!seen->accuracy.has_value());
  // The test items have ranks 1, 4 and 2 among what each does not know.
  check_figure(seen, "full_mrr", (1.0 + 0.25 + 0.5) / 3);
  check_figure(seen, "full_hr_1", 1.0 / 3);
  check_figure(seen, "full_hr_2", 2.0 / 3);
  check_figure(seen, "full_ndcg_2", (1.0 + 1.0 / std::log2(3.0)) / 3);
  check_figure(seen, "full_recall_2", 2.0 / 3);
  check_figure(seen, "full_precision_2", 1.0 / 3);
  check_figure(seen, "full_map_2", 1.5 / 3);
  // First items 2, 0 and 1; second ones 3, 1 and 2.
  check_figure(seen, "coverage_1", 3.0 / 6);
  check_figure(seen, "coverage_2", 4.0 / 6);
  // Nobody knows item 3 as an own one, except as a test item; its places are 2, 4 and 3.
  check_figure(seen, "exposure_1", 0.0);
  check_figure(seen, "exposure_2", 1.0 / 3);
  // The validation items have ranks 1, 5 and 5: test items are candidates then.
  check_figure(report.validation, "full_mrr", (1.0 + 0.2 + 0.2) / 3);
}

BOOST_AUTO_TEST_CASE(a_standard_error_is_that_of_the_mean_over_clients) {
  const auto e = ranked(three(), {.top = {2}, .candidates = 2});
  const auto report = tests::report_of(e, valued(e, falling));
  const auto hits = std::ranges::find(report.seen->custom, "full_hr_2", &federated::named_figure::name);
  BOOST_REQUIRE(hits->standard_error.has_value());
  BOOST_TEST(std::abs(*hits->standard_error - 1.0 / 3) < 1e-12);  // 1, 0 and 1: deviation .577, over the root of 3
  const auto covered = std::ranges::find(report.seen->custom, "coverage_2", &federated::named_figure::name);
  BOOST_TEST(!covered->standard_error.has_value());
  const auto alone = ranked(people(6, {{{0}, {1}, {2}}}), {.top = {2}, .candidates = 2});
  const auto lone_report = tests::report_of(alone, valued(alone, falling));
  for (const auto& figure : lone_report.seen->custom) BOOST_TEST(!figure.standard_error.has_value(), figure.name);
}

BOOST_AUTO_TEST_CASE(equal_scores_are_ranked_by_chance) {
  const auto e = ranked(three(), {.top = {2}, .candidates = 2});
  const auto report = tests::report_of(e, valued(e, std::vector<float>(6, 0.5F)));
  check_figure(report.seen, "full_mrr", (1.0 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 4);
  check_figure(report.seen, "full_hr_2", 0.5);
  BOOST_TEST(std::abs(report.seen->loss - std::log(2.0)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(scores_that_are_not_finite_are_counted_as_unscored) {
  const auto e = ranked(three(), {.top = {2}, .candidates = 2});
  auto values = falling;
  values[4] = std::numeric_limits<float>::quiet_NaN();
  const auto report = tests::report_of(e, valued(e, values));
  BOOST_TEST(report.seen->unscored == 3U);
  BOOST_TEST(report.seen->custom.empty());
}

BOOST_AUTO_TEST_CASE(the_figures_follow_from_the_settings) {
  const auto names = [](const federated::ranking_settings& how) {
    std::vector<std::string> all;
    for (const auto& figure : federated::ranking::figures_of(how)) all.push_back(figure.name);
    return all;
  };
  using list = std::vector<std::string>;
  BOOST_TEST((names({.top = {5, 10}, .sampled = false, .one_held_out = true}) ==
              list{"full_mrr", "full_hr_5", "full_hr_10", "full_ndcg_5", "full_ndcg_10", "coverage_5", "coverage_10"}));
  BOOST_TEST((names({.top = {3}, .full = false}) == list{"sampled_mrr", "sampled_hr_3", "sampled_ndcg_3",
                                                         "sampled_recall_3", "sampled_precision_3", "sampled_map_3"}));
  BOOST_TEST(names({.top = {3}, .exposed = {"7"}}).back() == "exposure_3");
  // All that eight numbers of places make fit into a message.
  const federated::ranking_settings most{.top = {1, 2, 3, 4, 5, 6, 7, 8}, .exposed = {"7"}};
  BOOST_TEST(names(most).size() <= models::most_metrics);
  const auto e = ranked(three(), most);
  BOOST_TEST((e.model->objective() == models::objective::ranking));
  BOOST_TEST(federated::valid_metric("seen.full_ndcg_8", e.model.get()));
  BOOST_TEST(federated::valid_metric("seen.loss", e.model.get()));
  BOOST_TEST(!federated::valid_metric("seen.full_ndcg_9", e.model.get()));
  BOOST_TEST(!federated::valid_metric("seen.accuracy", e.model.get()));
  BOOST_TEST(!federated::smaller_is_better(*e.model, "full_hr_1"));
  BOOST_TEST(federated::smaller_is_better(*e.model, "exposure_1"));
}

BOOST_AUTO_TEST_CASE(scores_of_other_processes_have_no_lists_of_items) {
  const auto e = ranked(three(), {.top = {2}, .candidates = 2});
  const auto model = valued(e, falling);
  federated::evaluation scores(e, {7, model}, nullptr);
  federated::workspace use;
  BOOST_REQUIRE(scores.score_all(use));
  BOOST_TEST(has_figure(*scores.report().seen, "coverage_2"));
  const federated::client_scorer scorer(e, model, 7, nullptr);
  auto score = scorer.score(group::seen, 1, use);
  BOOST_REQUIRE(score.has_value());
  BOOST_TEST(score->best.size() == 2U);
  BOOST_TEST(!federated::implausible(*score, *e.model).has_value());
  BOOST_TEST(scores.accept({group::seen, 1, *score}));
  BOOST_TEST(!has_figure(*scores.report().seen, "coverage_2"));
  check_figure(scores.report().seen, "full_mrr", (1.0 + 0.25 + 0.5) / 3);
  score->metrics[0].sum = 1.5;
  BOOST_TEST(federated::implausible(*score, *e.model).value() == "a figure of a ranking that is not from 0 to 1");
  score->metrics[0].count = 3.0;
  BOOST_TEST(federated::implausible(*score, *e.model).value() ==
             "a figure of a ranking that counts for more than one client");
}

BOOST_AUTO_TEST_CASE(people_are_divided_by_their_activity) {
  std::vector<own_items> all;
  for (std::uint32_t person = 0; person < 10; ++person) {
    all.push_back({{}, {30}, {31}});
    for (std::uint32_t item = 0; item <= person; ++item) all.back().train.push_back(item);
  }
  const auto e = ranked(people(40, all), {.top = {2}, .candidates = 2});
  std::vector<float> values(40);
  for (std::size_t item = 0; item < values.size(); ++item) values[item] = static_cast<float>(40 - item);
  const auto bins = tests::report_of(e, valued(e, values)).by_activity;
  BOOST_REQUIRE(bins.size() == 5U);
  for (std::uint32_t bin = 0; bin < 5; ++bin) {
    BOOST_TEST(bins[bin].least == 2 * bin + 1);
    BOOST_TEST(bins[bin].most == 2 * bin + 2);
    BOOST_TEST(bins[bin].clients == 2U);
    // Item 31 comes after those of 0 to 29 that a person does not know.
    const double first = 31.0 - bins[bin].least;
    check_figure(bins[bin].metrics, "full_mrr", (1.0 / first + 1.0 / (first - 1.0)) / 2);
  }
}

// A client without values of its own is scored like others, although every row of the model is gathered for it.
BOOST_AUTO_TEST_CASE(rows_that_clients_may_keep_are_gathered) {
  const auto clients = three();
  for (const auto* kind : {"fedavg", "ditto"}) {
    const auto e = ranked(clients, {.top = {2}, .candidates = 2}, kind);
    const auto model = valued(e, falling);
    const federated::item_scores scorer(e, model);
    federated::workspace use;
    use.own = models::private_parameters(e.parts.private_);
    std::vector<float> scores(6);
    models::examples scratch;
    scorer.score(1, {}, clients->load(1, federated::part::train, scratch), use, scores);
    BOOST_TEST(scores == falling, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(candidates_are_items_that_nobody_knows_of_the_client) {
  constexpr std::uint32_t items = 1000;
  const auto clients = people(items, {{{1, 2, 3}, {4}, {5}}});
  std::vector<item_use> uses;
  std::vector<std::uint32_t> tested;
  std::vector<std::uint32_t> validated;
  const std::vector<std::uint32_t> test_item = {5};
  const std::vector<std::uint32_t> validation_item = {4};
  federated::ranking::mark_items(*clients, group::seen, 0, test_item, uses);
  BOOST_TEST((uses[1] == item_use::known && uses[4] == item_use::known && uses[5] == item_use::held_out));
  federated::ranking::draw_candidates(1, 0, group::seen, 99, uses, tested);
  federated::ranking::mark_items(*clients, group::validation, 0, validation_item, uses);
  BOOST_TEST((uses[1] == item_use::known && uses[4] == item_use::held_out && uses[5] == item_use::later));
  federated::ranking::draw_candidates(1, 0, group::validation, 99, uses, validated);
  std::set<std::uint32_t> both(tested.begin(), tested.end());
  both.insert(validated.begin(), validated.end());
  BOOST_TEST(tested.size() == 99U);
  BOOST_TEST(validated.size() == 99U);
  BOOST_TEST(both.size() == 198U);
  for (std::uint32_t item = 1; item <= 5; ++item) BOOST_TEST(!both.contains(item));
}

BOOST_AUTO_TEST_CASE(few_items_are_shared_by_both_parts) {
  const std::vector<item_use> uses(7, item_use::candidate);
  std::vector<std::uint32_t> drawn;
  federated::ranking::draw_candidates(1, 0, group::seen, 99, uses, drawn);
  BOOST_TEST(drawn.size() == 3U);
  std::set<std::uint32_t> both(drawn.begin(), drawn.end());
  federated::ranking::draw_candidates(1, 0, group::validation, 99, uses, drawn);
  BOOST_TEST(drawn.size() == 3U);
  both.insert(drawn.begin(), drawn.end());
  BOOST_TEST(both.size() == 6U);
}

// A stream that another seed only shifts would give almost the same items.
BOOST_AUTO_TEST_CASE(candidates_of_two_seeds_overlap_by_chance_only) {
  constexpr std::uint32_t items = 3706;
  constexpr std::uint32_t people_count = 200;
  const std::vector<item_use> uses(items, item_use::candidate);
  const auto drawn = [&](std::uint64_t seed, std::uint32_t client) {
    std::vector<std::uint32_t> some;
    federated::ranking::draw_candidates(seed, client, group::seen, 99, uses, some);
    return std::set<std::uint32_t>(some.begin(), some.end());
  };
  // Of 99 items 99 x 99 / 3706 = 2.64 are common by chance, with a deviation of 1.58: over 200 people .11 of the mean.
  const auto common = [&](std::uint64_t seed, std::uint64_t other, std::uint32_t shift) {
    double count = 0.0;
    for (std::uint32_t client = 0; client < people_count; ++client)
      for (const auto item : drawn(other, client + shift)) count += drawn(seed, client).contains(item) ? 1.0 : 0.0;
    return count / people_count;
  };
  constexpr std::array<std::array<std::uint32_t, 3>, 4> pairs = {{{1, 2, 0}, {1, 2, 1}, {1, 1, 1}, {7, 8, 0}}};
  for (const auto [seed, other, shift] : pairs) BOOST_TEST(std::abs(common(seed, other, shift) - 2.64) < 0.6);
  BOOST_TEST(common(1, 1, 0) == 99.0);
}

BOOST_AUTO_TEST_SUITE_END()
