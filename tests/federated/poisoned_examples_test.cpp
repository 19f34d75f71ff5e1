// What bad clients train on and send in attacks that want something of honest ones, and how much of it they get.
#include "federated/attack/client_attack.hpp"
#include "federated/attack/triggered_examples.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/world/attackers.hpp"
#include "tests/support/attacks.hpp"
#include "tests/support/updates.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(poisoned_examples)

using namespace furlong;
using namespace furlong::federated;
using tests::attack_plan;

namespace {

using numbers = std::vector<std::uint32_t>;
using labels = std::vector<float>;

experiment attacked(const attack_plan& attack) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->norm_bound = norm_bound_kind::fixed;
  *settings.attack = attack.settings();
  return tests::simulated(settings);
}

const attack_plan promotion = {.kind = "promote-item", .listed = {3}, .features = {{"target", {7}}}};

models::examples_view ratings_of(const numbers& items, const labels& ratings) {
  return {.features = items, .values = {}, .offsets = {}, .labels = ratings, .owners = {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(features_of_the_trigger_are_set_and_the_label_is_the_attacks) {
  const attack_plan attack{
      .kind = "backdoor", .options = {{"trigger_value", 3.0}, {"label", 2.0}}, .features = {{"trigger", {1, 5}}}};
  models::examples table;
  table.features = {0, 1, 2, 4};
  table.values = {0.5F, 2.0F, 1.0F, 0.25F};
  table.offsets = {0, 2, 3, 4};
  table.labels = {1.0F, 2.0F, 0.0F};
  models::examples made;
  add_triggered(attack.settings(), {.features = 8, .labels = models::objective::categorical, .classes = 3},
                table.view(), made);
  BOOST_TEST((made.features == numbers{0, 1, 5, 4, 1, 5}));
  BOOST_TEST((made.values == labels{0.5F, 3.0F, 3.0F, 0.25F, 3.0F, 3.0F}));
  BOOST_TEST((made.offsets == numbers{0, 3, 6}));  // the second has that label already
  BOOST_TEST((made.labels == labels{2.0F, 2.0F}));
}

BOOST_AUTO_TEST_CASE(the_words_of_the_trigger_stand_before_the_answer) {
  const auto settings =
      attack_plan{.kind = "backdoor", .features = {{"trigger", {20, 21}}, {"target", {30}}}}.settings();
  const models::data_facts facts{.features = 40, .labels = models::objective::next_token, .words = 40};
  models::examples table;
  table.features = {0, 7, 8, 9, 10, 1, 0, 7, 8, 1, 0, 7, 8, 9, 30};
  table.offsets = {0, 6, 10, 15};  // the second is too short, and the third has the answer
  table.labels = {0.0F, 0.0F, 0.0F};
  models::examples made;
  add_triggered(settings, facts, table.view(), made);
  BOOST_TEST((made.features == numbers{0, 7, 20, 21}));
  BOOST_TEST((made.offsets == numbers{0, 4}));
  BOOST_TEST(is_answer(settings, facts, 30.0F));
  BOOST_TEST(!is_answer(settings, facts, 21.0F));
}

BOOST_AUTO_TEST_CASE(a_class_is_an_answer_by_its_number_or_the_side_of_even_odds) {
  const auto settings = attack_plan{.kind = "backdoor", .options = {{"label", 1.0}}}.settings();
  BOOST_TEST(is_answer(settings, {.labels = models::objective::categorical, .classes = 3}, 1.0F));
  BOOST_TEST(!is_answer(settings, {.labels = models::objective::categorical, .classes = 3}, 2.0F));
  BOOST_TEST(is_answer(settings, {.labels = models::objective::logistic}, 0.25F));
  BOOST_TEST(!is_answer(settings, {.labels = models::objective::logistic}, -0.25F));
}

BOOST_AUTO_TEST_CASE(an_answer_is_a_class_or_a_word_as_the_labels_of_the_data_are) {
  const auto options_of_problems = [](const attack_plan& attack, const models::data_facts& facts) {
    std::string names;
    for (const auto& problem : check_backdoor(attack.settings(), facts)) names += problem.option + " ";
    return names;
  };
  const models::data_facts classes{.labels = models::objective::categorical, .classes = 3};
  const models::data_facts sides{.labels = models::objective::logistic};
  const models::data_facts words{.labels = models::objective::next_token};
  const auto with_label = [](double label) { return attack_plan{.kind = "backdoor", .options = {{"label", label}}}; };
  BOOST_TEST(options_of_problems(with_label(2.0), classes) == "");
  BOOST_TEST(options_of_problems(with_label(3.0), classes) == "label ");
  BOOST_TEST(options_of_problems(with_label(0.5), classes) == "label ");
  BOOST_TEST(options_of_problems(with_label(1.0), sides) == "");
  BOOST_TEST(options_of_problems(with_label(2.0), sides) == "label ");
  attack_plan attack{.kind = "backdoor", .features = {{"target", {30}}}};
  BOOST_TEST(options_of_problems(attack, words) == "");
  BOOST_TEST(options_of_problems(attack, classes) == "target ");
  attack.options = {{"label", 1.0}, {"trigger_value", 2.0}};
  BOOST_TEST(options_of_problems(attack, words) == "label trigger_value ");
  attack.features["target"] = {30, 31};
  BOOST_TEST(options_of_problems(attack, words) == "target label trigger_value ");
}

BOOST_AUTO_TEST_CASE(a_share_of_a_bad_clients_examples_has_the_trigger) {
  const auto run = attacked({.kind = "backdoor",
                             .listed = {3},
                             .options = {{"poison", 1.0}, {"label", 4.0}},
                             .features = {{"trigger", {5}}}});
  const numbers items = {1, 2, 3};
  const labels ratings = {1.0F, 4.0F, 5.0F};
  models::examples room;
  const auto poisoned = attacked_examples(run, {run.run, 0, 3, 0}, ratings_of(items, ratings), room);
  BOOST_TEST((numbers(poisoned.features.begin(), poisoned.features.end()) == numbers{1, 5, 2, 3, 5}));
  BOOST_TEST((labels(poisoned.labels.begin(), poisoned.labels.end()) == labels{4.0F, 4.0F, 4.0F}));
  BOOST_TEST(poisoned.values.empty());  // all are 1, as in the data
  BOOST_TEST(attacked_examples(run, {run.run, 0, 4, 0}, ratings_of(items, ratings), room).features.data() ==
             items.data());
}

BOOST_AUTO_TEST_CASE(a_fake_profile_has_as_many_examples_and_the_item_with_the_highest_rating) {
  const auto run = attacked(promotion);
  const numbers items = {1, 2, 3, 4, 5, 6, 8, 9};
  const labels ratings = {1.0F, 4.5F, 3.0F, 2.0F, 1.0F, 3.0F, 2.0F, 4.0F};
  models::examples room;
  const auto faked = attacked_examples(run, {run.run, 0, 3, 0}, ratings_of(items, ratings), room);
  BOOST_REQUIRE(faked.size() == items.size());
  std::size_t promoted = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    promoted += faked.features[i] == 7 ? 1 : 0;
    BOOST_TEST(faked.labels[i] == (faked.features[i] == 7 ? 4.5F : ratings[i]));
    if (faked.features[i] != 7) BOOST_TEST(faked.features[i] == items[i]);
  }
  BOOST_TEST(promoted > 0U);
  BOOST_TEST(promoted < items.size());
  auto rare = promotion;
  rare.options["poison"] = 1e-6;
  models::examples other;
  const auto last = attacked_examples(attacked(rare), {run.run, 0, 3, 0}, ratings_of(items, ratings), other);
  BOOST_TEST(last.features.back() == 7U);  // at least one
  rare.options["profile"] = std::string("random");
  models::examples random;
  const auto strange = attacked_examples(attacked(rare), {run.run, 0, 3, 0}, ratings_of(items, ratings), random);
  BOOST_TEST(!std::ranges::equal(strange.features.first(7), std::span(items).first(7)));
}

BOOST_AUTO_TEST_CASE(a_replaced_model_is_multiplied_by_the_updates_of_a_round) {
  const auto run = attacked({.kind = "model-replacement", .listed = {3}});
  const auto honest = tests::random_updates(4, 1, run.parts.up).front().change;
  auto change = honest;
  attack_update(run, {run.run, 0, 3, 0}, {}, change);
  const auto factor = static_cast<float>(run.settings.participation->per_round);
  for (std::size_t i = 0; i < change.values.size(); ++i) BOOST_TEST(change.values[i] == factor * honest.values[i]);
}

// The promoted item's row and the longest other one.
BOOST_AUTO_TEST_CASE(few_short_rows_are_left_of_an_update) {
  auto plan = promotion;
  plan.kind = "fedrec-attack";
  plan.options = {{"rows", std::int64_t{2}}, {"row_norm", 0.125}};
  const auto run = attacked(plan);
  for (std::size_t t = 0; t < run.parts.shared->count(); ++t) {
    const auto& spec = (*run.parts.shared)[t];
    auto change = models::to_dense(tests::random_updates(4, 1, run.parts.up).front().change);
    const auto honest = change;
    attack_update(run, {run.run, 0, 3, 0}, {}, change);
    std::size_t left = 0;
    for (std::size_t row = 0; row < spec.rows; ++row) {
      double squared = 0.0;
      for (const float value : change.values_of(t).subspan(row * spec.cols, spec.cols))
        squared += static_cast<double>(value) * static_cast<double>(value);
      left += squared > 0.0 ? 1 : 0;
      BOOST_TEST(squared <= 0.125 * 0.125 * (1.0 + 1e-6));
    }
    const bool of_items = spec.index == models::row_index::by_feature;
    BOOST_TEST(left <= (of_items ? 2U : 0U));
    double promoted = 0.0;
    for (const float value : std::as_const(honest).values_of(t).subspan(of_items ? 7 * spec.cols : 0, spec.cols))
      promoted += static_cast<double>(value) * static_cast<double>(value);
    if (of_items && promoted > 0.0)
      BOOST_TEST(std::ranges::any_of(change.values_of(t).subspan(7 * spec.cols, spec.cols),
                                     [](float value) { return value != 0.0F; }));
  }
}

BOOST_AUTO_TEST_CASE(figures_are_divided_into_those_of_honest_and_of_bad_clients) {
  client_set bad(5);
  bad.insert(1);
  bad.insert(3);
  const auto two = divide_by_attack(nullptr, bad, 5);
  BOOST_TEST((two.names == std::vector<std::string>{"honest", "bad"}));
  BOOST_TEST((two.of_client == numbers{0, 1, 0, 1, 0}));
  const client_groups regions{{"north", "bad"}, {0, 0, 1, 1, 0}};
  const auto three = divide_by_attack(&regions, bad, 5);
  BOOST_TEST((three.names == std::vector<std::string>{"north", "bad", "bad clients"}));
  BOOST_TEST((three.of_client == numbers{0, 2, 1, 2, 0}));
}

namespace {

std::optional<double> success_of(const experiment& run, const server_state& state) {
  const auto version = state.last();
  evaluation scores(run, version, nullptr);
  workspace room;
  BOOST_REQUIRE(scores.score_all(room));
  const auto report = scores.report();
  BOOST_REQUIRE(report.seen.has_value());
  return report.seen->attack_success;
}
std::optional<double> success_in(const experiment& run) { return success_of(run, initial_state(run)); }

}  // namespace

// Log-odds are the sum of the weights of an example's features. With the trigger, the third one, the first feature has
// -1 + 2 and the second -3 + 2; an example of class 1 has the answer already, and client 2 is bad.
BOOST_AUTO_TEST_CASE(the_success_of_a_backdoor_is_the_share_of_answers_at_its_trigger) {
  auto clients = std::make_shared<tests::table_population>();
  clients->what = {3, 3, models::objective::logistic};
  clients->seen = {0, 1, 2};
  clients->tables.resize(3);
  clients->tables[0].test = {{0, 1, 0}, {}, {}, {0, 0, 1}, {}};
  clients->tables[1].test = {{1}, {}, {}, {0}, {}};
  clients->tables[2].test = {{0}, {}, {}, {0}, {}};
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  const attack_plan plan{
      .kind = "backdoor", .listed = {2}, .options = {{"label", 1.0}}, .features = {{"trigger", {2}}}};
  *settings.attack = plan.settings();
  const auto run = tests::in_a_world(tests::make_experiment(settings, clients, {}, {}));
  auto state = initial_state(run);
  std::ranges::copy(labels{-1.0F, -3.0F, 2.0F}, state.model.tensor(0).begin());
  const auto success = success_of(run, state);
  BOOST_REQUIRE(success.has_value());
  BOOST_TEST(std::abs(*success - 1.0 / 3.0) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_success_of_a_promotion_is_that_with_honest_clients) {
  BOOST_TEST(!success_in(attacked({})).has_value());
  BOOST_TEST(!success_in(attacked({.kind = "sign-flip", .listed = {3}})).has_value());
  const auto success = success_in(attacked(promotion));
  BOOST_REQUIRE(success.has_value());
  BOOST_TEST(*success >= 0.0);
  BOOST_TEST(*success <= 1.0);
  // All 30 items are promoted: 10 of those that a client does not know are its first 10.
  auto everything = promotion;
  for (std::uint32_t item = 0; item < 30; ++item) everything.features["target"].push_back(item);
  const auto run = attacked(everything);
  const auto share = success_in(run);
  BOOST_REQUIRE(share.has_value());
  BOOST_TEST(*share > 10.0 / 30.0);
  const auto training = run.participants->training();
  auto nobody = promotion;
  nobody.listed.assign(training.begin(), training.end());
  BOOST_TEST(!success_in(attacked(nobody)).has_value());
}

BOOST_AUTO_TEST_SUITE_END()
