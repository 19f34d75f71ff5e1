#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "scenarios/data/rating_split.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(splits)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;

namespace {

constexpr std::uint32_t users = 200;
constexpr std::uint32_t items = 300;

/// User u has 1 + u ratings, of items u, u + 1, ... (modulo), times falling so that file order is not time order.
rating_table sample() {
  rating_table table;
  table.user_ids.resize(users);
  std::iota(table.user_ids.begin(), table.user_ids.end(), 1000U);
  table.item_ids.resize(items);
  std::iota(table.item_ids.begin(), table.item_ids.end(), 0U);
  table.offsets.push_back(0);
  for (std::uint32_t user = 0; user < users; ++user) {
    for (std::uint32_t i = 0; i <= user; ++i) {
      table.features.push_back((user + i) % items);
      table.labels.push_back(static_cast<float>(1 + (user + i) % 5));
      table.times.push_back(10000 - i);
    }
    table.offsets.push_back(table.features.size());
  }
  return table;
}

std::vector<std::uint32_t> features_of(const federated::population& from, std::uint32_t client, part which) {
  models::examples scratch;
  const auto view = from.load(client, which, scratch);
  return {view.features.begin(), view.features.end()};
}

std::vector<std::uint32_t> as_vector(std::span<const std::uint32_t> from) { return {from.begin(), from.end()}; }

rating_settings usual() {
  rating_settings settings;
  settings.seed = 5;
  settings.validation = 0.1;
  settings.test = 0.1;
  settings.unseen_validation = 0.1;
  settings.unseen_test = 0.2;
  return settings;
}

}  // namespace

BOOST_AUTO_TEST_CASE(users_fall_into_disjoint_groups_of_the_right_sizes) {
  const auto all = split_ratings(sample(), usual());
  BOOST_TEST(all->training().size() == 140U);
  BOOST_TEST(all->unseen_validation().size() == 20U);
  BOOST_TEST(all->unseen_test().size() == 40U);
  std::set<std::uint32_t> seen;
  for (const auto group : {all->training(), all->unseen_validation(), all->unseen_test()}) {
    BOOST_TEST(std::ranges::is_sorted(group));
    seen.insert(group.begin(), group.end());
  }
  BOOST_TEST(seen.size() == users);
  BOOST_TEST(*seen.rbegin() == users - 1);
}

BOOST_AUTO_TEST_CASE(a_users_parts_are_disjoint_complete_and_of_the_right_sizes) {
  const auto table = sample();
  const auto all = split_ratings(table, usual());
  for (const auto client : all->training()) {
    std::multiset<std::uint32_t> together;
    std::map<part, std::size_t> sizes;
    for (const auto which : {part::train, part::validation, part::test}) {
      const auto own = features_of(*all, client, which);
      together.insert(own.begin(), own.end());
      sizes[which] = own.size();
      models::examples scratch;
      const auto view = all->load(client, which, scratch);
      for (std::size_t i = 0; i < view.size(); ++i)  // labels stay with their items
        BOOST_TEST(view.labels[i] ==
                   static_cast<float>(1 + (view.features[i] + (view.features[i] < client ? items : 0)) % 5));
    }
    const std::multiset<std::uint32_t> expected(
        table.features.begin() + static_cast<std::ptrdiff_t>(table.offsets[client]),
        table.features.begin() + static_cast<std::ptrdiff_t>(table.offsets[client + 1]));
    BOOST_TEST((together == expected));
    const auto n = static_cast<double>(client + 1);
    BOOST_TEST(sizes[part::train] == static_cast<std::size_t>(std::llround(0.8 * n)));
    BOOST_TEST(sizes[part::train] + sizes[part::validation] == static_cast<std::size_t>(std::llround(0.9 * n)));
  }
}

BOOST_AUTO_TEST_CASE(held_out_users_have_everything_in_train) {
  const auto all = split_ratings(sample(), usual());
  for (const auto group : {all->unseen_validation(), all->unseen_test()})
    for (const auto client : group) {
      BOOST_TEST(features_of(*all, client, part::train).size() == client + 1);
      BOOST_TEST(features_of(*all, client, part::validation).empty());
      BOOST_TEST(features_of(*all, client, part::test).empty());
    }
}

BOOST_AUTO_TEST_CASE(the_seed_decides_and_nothing_else) {
  auto settings = usual();
  const auto one = split_ratings(sample(), settings);
  const auto same = split_ratings(sample(), settings);
  settings.seed = 6;
  const auto other = split_ratings(sample(), settings);
  BOOST_TEST((as_vector(one->training()) == as_vector(same->training())));
  BOOST_TEST((as_vector(one->training()) != as_vector(other->training())));
  for (std::uint32_t client = 0; client < users; ++client)
    for (const auto which : {part::train, part::validation, part::test})
      BOOST_TEST((features_of(*one, client, which) == features_of(*same, client, which)));
  BOOST_TEST((features_of(*one, users - 1, part::train) != features_of(*other, users - 1, part::train)));

  // A user's order does not depend on who else there is.
  auto fewer = sample();
  fewer.user_ids.resize(100);
  fewer.offsets.resize(101);
  rating_settings plain;
  BOOST_TEST((features_of(*split_ratings(fewer, plain), 99, part::train) ==
              features_of(*split_ratings(sample(), plain), 99, part::train)));
}

BOOST_AUTO_TEST_CASE(shuffling_mixes_and_the_cap_keeps_its_beginning) {
  rating_settings settings;
  const auto all = features_of(*split_ratings(sample(), settings), 150, part::train);
  BOOST_TEST(!std::ranges::is_sorted(all));
  settings.max_examples = 40;
  const auto first = features_of(*split_ratings(sample(), settings), 150, part::train);
  BOOST_TEST(first.size() == 40U);
  BOOST_TEST(std::equal(first.begin(), first.end(), all.begin()));
  BOOST_TEST(features_of(*split_ratings(sample(), settings), 20, part::train).size() == 21U);
}

BOOST_AUTO_TEST_CASE(by_time_the_newest_are_tested_and_order_can_be_time_too) {
  auto settings = usual();
  settings.unseen_test = settings.unseen_validation = 0.0;
  settings.split_by_time = true;
  const auto shuffled = split_ratings(sample(), settings);
  settings.order_by_time = true;
  const auto ordered = split_ratings(sample(), settings);
  // Times fall along the file: user 99's items 99, 100, ..., 198 were rated last to first.
  auto test = features_of(*shuffled, 99, part::test);
  std::ranges::sort(test);
  BOOST_TEST((test == std::vector<std::uint32_t>{99, 100, 101, 102, 103, 104, 105, 106, 107, 108}));
  const auto train = features_of(*ordered, 99, part::train);
  BOOST_TEST(train.size() == 80U);
  BOOST_TEST(train.front() == 198U);
  BOOST_TEST(train.back() == 119U);
  BOOST_TEST(std::ranges::is_sorted(train, std::greater<>()));
  BOOST_TEST(!std::ranges::is_sorted(features_of(*shuffled, 99, part::train), std::greater<>()));
}

BOOST_AUTO_TEST_CASE(binarized_labels_are_zero_and_one) {
  rating_settings settings;
  settings.binarize = 4.0;
  const auto all = split_ratings(sample(), settings);
  BOOST_TEST((all->facts().labels == models::objective::logistic));
  models::examples scratch;
  const auto view = all->load(100, part::train, scratch);
  BOOST_TEST(std::ranges::count(view.labels, 1.0F) + std::ranges::count(view.labels, 0.0F) == 101);
  for (std::size_t i = 0; i < view.size(); ++i) BOOST_TEST((view.labels[i] == 1.0F) == (view.features[i] % 5 >= 3));
}

BOOST_AUTO_TEST_CASE(counts_are_the_sizes_of_loads) {
  auto settings = usual();
  settings.max_examples = 77;
  const auto all = split_ratings(sample(), settings);
  models::examples scratch;
  for (std::uint32_t client = 0; client < users; ++client)
    for (const auto which : {part::train, part::validation, part::test})
      BOOST_TEST(all->count(client, which) == all->load(client, which, scratch).size());
}

BOOST_AUTO_TEST_CASE(taste_is_the_normal_score_of_the_mean_label_by_rank) {
  rating_table table;
  const std::vector<std::vector<float>> labels = {{3, 3}, {5}, {1, 2, 3, 4}, {3}, {2, 2, 2}};
  table.item_ids = {0, 1, 2, 3};
  table.offsets.push_back(0);
  for (std::uint32_t client = 0; client < labels.size(); ++client) {
    table.user_ids.push_back(client);
    for (std::uint32_t i = 0; i < labels[client].size(); ++i) {
      table.features.push_back(i);
      table.labels.push_back(labels[client][i]);
    }
    table.offsets.push_back(table.features.size());
  }
  rating_settings settings;
  settings.test = 0.5;  // every part counts
  const auto all = split_ratings(table, settings);
  // Means 3, 5, 2.5, 3, 2: ranks 2, 4, 1, 3 (a tie: the later client above), 0; Phi^-1 of (rank + 1/2) / 5.
  const double expected[] = {0.0, 1.2815515655, -0.5244005127, 0.5244005127, -1.2815515655};
  for (std::uint32_t client = 0; client < 5; ++client)
    BOOST_TEST(std::abs(all->taste(client) - expected[client]) < 1e-6);

  settings.binarize = 3.0;  // shares of the class: 1, 1, 1/2, 1, 0
  const auto classes = split_ratings(table, settings);
  const double by_class[] = {0.0, 0.5244005127, -0.5244005127, 1.2815515655, -1.2815515655};
  for (std::uint32_t client = 0; client < 5; ++client)
    BOOST_TEST(std::abs(classes->taste(client) - by_class[client]) < 1e-6);

  table.tastes = {1.0F, 2.0F, 3.0F, 4.0F, 5.0F};  // where it is known
  BOOST_TEST(split_ratings(table, settings)->taste(3) == 4.0);
}

BOOST_AUTO_TEST_CASE(tastes_of_many_clients_are_standard_normal) {
  const auto all = split_ratings(sample(), usual());
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint32_t client = 0; client < users; ++client) {
    sum += all->taste(client);
    squares += all->taste(client) * all->taste(client) / users;
  }
  BOOST_TEST(std::abs(sum) < 1e-4);
  BOOST_TEST(std::abs(squares - 1.0) < 0.02);
}

BOOST_AUTO_TEST_SUITE_END()
