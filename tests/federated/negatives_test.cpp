// Negatives of implicit feedback: which items are drawn, from which stream, and what they count for.
#include "federated/experiment/negatives.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "federated/client/client_work.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(negatives_of_implicit_feedback)

using namespace furlong;

namespace {

constexpr std::uint32_t client = 9;
constexpr std::uint32_t items = 30;

federated::experiment made(std::shared_ptr<const federated::population> clients, const char* loss = "logistic",
                           std::uint64_t seed = 1) {
  federated::run_settings settings;
  settings.seed = seed;
  *settings.algorithm = federated::chosen_algorithm("furl");
  return tests::make_experiment(settings, std::move(clients), {{"loss", std::string(loss)}}, {"user"});
}

std::vector<std::uint32_t> drawn(const federated::experiment& e, std::uint32_t version,
                                 const models::examples_view& interactions) {
  federated::negatives_room room;
  const auto examples = with_negatives(e, {version, client}, interactions, room);
  std::vector<std::uint32_t> negatives;
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (examples.labels[i] == 0.0F) negatives.push_back(examples.features[i]);
  return negatives;
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_interaction_is_followed_by_items_without_one) {
  const auto clients = tests::make_interactions(8);
  const auto e = made(clients);
  const auto& own = clients->tables[client].train;
  federated::negatives_room room;
  const auto examples = with_negatives(e, {3, client}, own.view(), room);
  BOOST_REQUIRE(examples.size() == 5 * own.labels.size());
  BOOST_TEST(examples.offsets.empty());
  for (std::size_t i = 0; i < examples.size(); ++i) {
    BOOST_TEST(examples.labels[i] == (i % 5 == 0 ? 1.0F : 0.0F));
    if (i % 5 == 0)
      BOOST_TEST(examples.features[i] == own.features[i / 5]);
    else
      BOOST_TEST((std::ranges::find(own.features, examples.features[i]) == own.features.end()));
  }
}

// A client does not know its held-out items; if they are left out of the draws, only their competitors sink.
BOOST_AUTO_TEST_CASE(held_out_items_are_drawn_unless_all_are_excluded) {
  const auto clients = tests::make_interactions(8);
  auto e = made(clients);
  const auto& table = clients->tables[client];
  const auto all_drawn = [&] {
    std::set<std::uint32_t> found;
    for (std::uint32_t version = 0; version < 40; ++version)
      for (const auto item : drawn(e, version, table.train.view())) found.insert(item);
    return found;
  };
  const auto honest = all_drawn();
  BOOST_TEST(honest.contains(table.test.features[0]));
  BOOST_TEST(honest.contains(table.validation.features[0]));
  BOOST_TEST(honest.size() == items - table.train.labels.size());
  e.settings.client->exclude = federated::excluded_items::all;
  const auto leaking = all_drawn();
  BOOST_TEST(!leaking.contains(table.test.features[0]));
  BOOST_TEST(!leaking.contains(table.validation.features[0]));
  BOOST_TEST(leaking.size() == items - table.train.labels.size() - 2);
}

BOOST_AUTO_TEST_CASE(negatives_of_a_personalization_never_depend_on_what_is_held_out) {
  const auto clients = tests::make_interactions(8);
  auto e = made(clients);
  *e.settings.algorithm = federated::chosen_algorithm("fedrecon");
  const auto own = clients->tables[client].train.view();
  federated::negatives_room room[2];
  const auto honest = personal_examples(e, {}, client, own, room[0]);
  BOOST_TEST(honest.size() == 5 * own.size());
  e.settings.client->exclude = federated::excluded_items::all;
  BOOST_TEST(std::ranges::equal(personal_examples(e, {}, client, own, room[1]).features, honest.features));
  // Kept values predict as they are.
  *e.settings.algorithm = federated::chosen_algorithm("furl");
  BOOST_TEST(personal_examples(e, {.has_state = true}, client, own, room[1]).size() == own.size());
}

BOOST_AUTO_TEST_CASE(draws_are_keyed_by_seed_version_client_and_use) {
  const auto clients = tests::make_interactions(8);
  const auto e = made(clients);
  const auto own = clients->tables[client].train.view();
  const auto first = drawn(e, 3, own);
  BOOST_TEST((drawn(e, 3, own) == first));
  BOOST_TEST((drawn(e, 4, own) != first));
  BOOST_TEST((drawn(made(clients, "logistic", 2), 3, own) != first));
  federated::negatives_room room;
  const auto others =
      with_negatives(e, {3, client, federated::negatives_key::use::personalization}, own, room).features;
  std::vector<std::uint32_t> negatives;
  for (std::size_t i = 0; i < others.size(); ++i)
    if (i % 5 != 0) negatives.push_back(others[i]);
  BOOST_TEST((negatives != first));
}

// Streams of neighbouring seeds that are shifted copies of each other would agree almost everywhere.
BOOST_AUTO_TEST_CASE(two_seeds_agree_no_more_than_by_chance) {
  tests::ratings_shape shape;
  shape.items = 2000;
  const auto clients = tests::make_interactions(8, shape);
  const auto own = clients->tables[client].train.view();
  std::set<std::uint32_t> found[2];
  for (std::uint64_t seed = 1; seed <= 2; ++seed)
    for (std::uint32_t version = 0; version < 5; ++version)
      for (const auto item : drawn(made(clients, "logistic", seed), version, own)) found[seed - 1].insert(item);
  std::size_t both = 0;
  for (const auto item : found[0]) both += found[1].contains(item) ? 1 : 0;
  const double expected = static_cast<double>(found[0].size()) * static_cast<double>(found[1].size()) / 2000.0;
  BOOST_TEST(static_cast<double>(both) < 2.0 * expected + 10.0);
}

BOOST_AUTO_TEST_CASE(items_are_drawn_uniformly_whether_few_or_many_are_free) {
  tests::ratings_shape shape;
  for (const std::uint32_t interactions : {5U, 25U}) {
    shape.fewest = shape.most = interactions;
    const auto clients = tests::make_interactions(8, shape);
    const auto e = made(clients);
    std::vector<double> counts(items, 0.0);
    double all = 0.0;
    for (std::uint32_t version = 0; version < 2000; ++version)
      for (const auto item : drawn(e, version, clients->tables[client].train.view())) {
        counts[item] += 1.0;
        all += 1.0;
      }
    const double expected = all / (items - interactions);
    for (std::uint32_t item = 0; item < items; ++item)
      if (counts[item] > 0.0) BOOST_TEST(std::abs(counts[item] - expected) < 5.0 * std::sqrt(expected));
    BOOST_TEST(static_cast<std::uint32_t>(std::ranges::count_if(counts, [](double count) { return count > 0.0; })) ==
               items - interactions);
  }
}

BOOST_AUTO_TEST_CASE(a_client_with_all_items_has_interactions_alone_and_no_pairs) {
  const auto clients = tests::make_interactions(8);
  models::examples everything;
  for (std::uint32_t item = 0; item < items; ++item) {
    everything.features.push_back(item);
    everything.labels.push_back(1.0F);
  }
  federated::negatives_room room;
  BOOST_TEST((with_negatives(made(clients), {0, client}, everything.view(), room).size() == items));
  BOOST_TEST((with_negatives(made(clients, "bpr"), {0, client}, everything.view(), room).size() == 0U));
}

BOOST_AUTO_TEST_CASE(models_of_pairs_get_pairs) {
  const auto clients = tests::make_interactions(8);
  const auto own = clients->tables[client].train.view();
  federated::negatives_room room;
  const auto pairs = with_negatives(made(clients, "bpr"), {3, client}, own, room);
  const auto negatives = drawn(made(clients), 3, own);
  BOOST_REQUIRE(pairs.size() == 4 * own.size());
  BOOST_REQUIRE(pairs.offsets.size() == pairs.size() + 1);
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    BOOST_TEST(pairs.offsets[i] == 2 * i);
    BOOST_TEST(pairs.labels[i] == 1.0F);
    BOOST_TEST(pairs.features[2 * i] == own.features[i / 4]);
    BOOST_TEST(pairs.features[2 * i + 1] == negatives[i]);
  }
}

// Of the data of all clients together each owner has the negatives that it would draw itself.
BOOST_AUTO_TEST_CASE(owners_of_pooled_data_draw_as_clients_do) {
  const auto clients = tests::make_interactions(8);
  const auto e = made(clients);
  models::examples room_of_data;
  const auto pooled = federated::pool_clients(clients);
  const auto all = pooled->load(0, federated::part::train, room_of_data);
  federated::negatives_room room;
  const auto examples = with_negatives(e, {3, 0}, all, room);
  BOOST_REQUIRE(examples.size() == 5 * all.size());
  BOOST_REQUIRE(examples.owners.size() == examples.size());
  std::vector<std::uint32_t> own;
  for (std::size_t i = 0; i < examples.size(); ++i)
    if (examples.owners[i] == client && examples.labels[i] == 0.0F) own.push_back(examples.features[i]);
  BOOST_TEST((own == drawn(e, 3, clients->tables[client].train.view())));
}

BOOST_AUTO_TEST_CASE(an_update_weighs_interactions_and_its_loss_is_the_mean_of_all_examples) {
  const auto clients = tests::make_interactions(8);
  auto e = made(clients);
  e.settings.client->epochs = 2;
  const federated::broadcast from{e.run, 0, federated::initial_model(e), {}};
  federated::workspace use;
  federated::client_update update;
  static_cast<void>(federated::client_work(e, from, {e.run, 0, client, 0}, false, use, update));
  const auto count = clients->tables[client].train.labels.size();
  BOOST_TEST(update.weight == 2 * count);
  BOOST_TEST(update.examples == 2 * count);
  BOOST_TEST(use.weights.data().size() == 5 * count);
  BOOST_TEST(update.loss_sum / update.weight < 0.8);  // log 2 of vectors near 0
  BOOST_TEST(update.loss_sum / update.weight > 0.6);
}

BOOST_AUTO_TEST_CASE(the_largest_weight_is_that_of_batches_with_negatives) {
  const auto clients = tests::make_interactions(8);
  const auto count = static_cast<std::uint32_t>(clients->tables[client].train.labels.size());
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  *settings.client = {.batch_size = count};  // five batches, of which the second and the fourth are the query's
  const auto e = tests::make_experiment(settings, clients, {{"loss", std::string("logistic")}}, {"user"});
  const federated::broadcast from{e.run, 0, federated::initial_model(e), {}};
  federated::workspace use;
  federated::client_update update;
  static_cast<void>(federated::client_work(e, from, {e.run, 0, client, 0}, false, use, update));
  BOOST_TEST(update.weight == (2 * count + 4) / 5);
  BOOST_TEST(federated::most_weight(e, count) == update.weight);
}

BOOST_AUTO_TEST_SUITE_END()
