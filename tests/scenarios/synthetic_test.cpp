#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "scenarios/data/synthetic_ratings.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(synthetic)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

struct drawn {
  std::vector<std::uint32_t> items;
  std::vector<float> labels;
  friend bool operator==(const drawn&, const drawn&) = default;
};

drawn ratings_of(const synthetic_truth& truth, std::uint32_t user) {
  drawn own;
  truth.ratings_of(user, own.items, own.labels);
  return own;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_error_of_the_truth_is_the_noise) {
  synthetic_settings settings;
  settings.noise = 0.7;
  const synthetic_truth truth(settings);
  double squared = 0.0;
  double sum = 0.0;
  std::size_t n = 0;
  for (std::uint32_t user = 0; user < settings.users; ++user) {
    const auto own = ratings_of(truth, user);
    for (std::size_t i = 0; i < own.items.size(); ++i) {
      const double off = static_cast<double>(own.labels[i]) - truth.expected(user, own.items[i]);
      squared += off * off;
      sum += off;
      ++n;
    }
  }
  BOOST_TEST(n > 20000U);
  // 36,000 draws: the standard error of the deviation is 0.7 / sqrt(2 n) = 0.0026.
  BOOST_TEST(std::abs(std::sqrt(squared / static_cast<double>(n)) - 0.7) < 0.012);
  BOOST_TEST(std::abs(sum / static_cast<double>(n)) < 0.018);
}

BOOST_AUTO_TEST_CASE(the_parts_of_the_truth_have_the_sizes_asked_for) {
  synthetic_settings settings;
  settings.users = 2000;
  settings.taste = 0.5;
  settings.quality = 0.0;
  settings.signal = 0.0;
  const synthetic_truth tastes(settings);
  double squared = 0.0;
  for (std::uint32_t user = 0; user < settings.users; ++user)
    squared += std::pow(tastes.expected(user, 0) - settings.mean, 2) / settings.users;
  BOOST_TEST(std::abs(std::sqrt(squared) - 0.5) < 0.04);
  settings.taste = 0.0;
  settings.signal = 0.8;
  const synthetic_truth factors(settings);
  squared = 0.0;
  for (std::uint32_t user = 0; user < settings.users; ++user)
    for (std::uint32_t item = 0; item < settings.items; ++item)
      squared += std::pow(factors.expected(user, item) - settings.mean, 2) / settings.users / settings.items;
  BOOST_TEST(std::abs(std::sqrt(squared) - 0.8) < 0.06);
}

BOOST_AUTO_TEST_CASE(items_differ_by_their_quality_around_the_mean) {
  synthetic_settings settings;
  settings.items = 4000;
  settings.mean = 2.5;
  settings.quality = 0.6;
  settings.taste = 0.0;
  settings.signal = 0.0;
  const synthetic_truth qualities(settings);
  double sum = 0.0;
  double squares = 0.0;
  for (std::uint32_t item = 0; item < settings.items; ++item) {
    const double rating = qualities.expected(7, item);
    sum += rating;
    squares += (rating - 2.5) * (rating - 2.5);
  }
  // Four standard errors of 4,000 draws: 4 * 0.6 / sqrt(n), and of the deviation 4 * 0.6 / sqrt(2 n).
  BOOST_TEST(std::abs(sum / 4000 - 2.5) < 0.038);
  BOOST_TEST(std::abs(std::sqrt(squares / 4000) - 0.6) < 0.027);
}

BOOST_AUTO_TEST_CASE(a_users_ratings_do_not_depend_on_order_or_number_of_users) {
  synthetic_settings settings;
  const synthetic_truth truth(settings);
  const auto alone = ratings_of(truth, 77);
  for (std::uint32_t user = 100; user-- > 0;) static_cast<void>(ratings_of(truth, user));
  BOOST_TEST((ratings_of(truth, 77) == alone));
  settings.users = 78;
  BOOST_TEST((ratings_of(synthetic_truth(settings), 77) == alone));
  settings.seed = 2;
  BOOST_TEST((ratings_of(synthetic_truth(settings), 77) != alone));
  BOOST_TEST((ratings_of(truth, 78) != alone));
}

BOOST_AUTO_TEST_CASE(counts_are_as_long_tailed_as_asked_and_items_are_distinct) {
  synthetic_settings settings;
  settings.users = 3000;
  settings.items = 4000;
  settings.ratings_per_user = 160;
  settings.spread = 1.0;
  settings.min_ratings = 20;
  const synthetic_truth truth(settings);
  std::vector<std::size_t> counts;
  std::vector<std::size_t> popularity(settings.items);
  double mean = 0.0;
  for (std::uint32_t user = 0; user < settings.users; ++user) {
    const auto own = ratings_of(truth, user);
    BOOST_TEST(std::set<std::uint32_t>(own.items.begin(), own.items.end()).size() == own.items.size());
    counts.push_back(own.items.size());
    mean += static_cast<double>(own.items.size()) / settings.users;
    for (const auto item : own.items) ++popularity[item];
  }
  std::ranges::sort(counts);
  std::ranges::sort(popularity, std::greater<>());
  BOOST_TEST(counts.front() >= 20U);
  BOOST_TEST(std::abs(mean - 160.0) < 20.0);
  // exp(log 160 - 1/2) = 97 is the median of that lognormal.
  BOOST_TEST(std::abs(static_cast<double>(counts[counts.size() / 2]) - 97.0) < 10.0);
  // k^-0.8 over 4,000 items: the hundred most popular take about a fifth, as in MovieLens-1M; equal shares were 2.5 %.
  double top = 0.0;
  double all = 0.0;
  for (std::size_t rank = 0; rank < popularity.size(); ++rank) {
    all += static_cast<double>(popularity[rank]);
    if (rank < 100) top += static_cast<double>(popularity[rank]);
  }
  BOOST_TEST(top / all > 0.15);
  BOOST_TEST(top / all < 0.35);
}

BOOST_AUTO_TEST_CASE(both_ways_of_drawing_items_have_the_same_distribution) {
  // 12 of 100 items are drawn one by one, 13 by arrival times: inclusion must be nearly as frequent.
  synthetic_settings settings;
  settings.items = 100;
  settings.spread = 0.0;
  settings.popularity = 1.0;
  settings.min_ratings = 1;
  const auto frequencies = [&](double count) {
    settings.ratings_per_user = count;
    const synthetic_truth truth(settings);
    std::vector<double> often(settings.items);
    for (std::uint32_t user = 0; user < 20000; ++user) {
      const auto own = ratings_of(truth, user);
      BOOST_REQUIRE(own.items.size() == static_cast<std::size_t>(count));
      for (const auto item : own.items) often[item] += 1.0 / 20000;
    }
    std::ranges::sort(often, std::greater<>());
    return often;
  };
  const auto one_by_one = frequencies(12);
  const auto by_arrival = frequencies(13);
  BOOST_TEST(std::abs(one_by_one[0] - by_arrival[0]) < 0.03);
  for (std::size_t rank = 0; rank < 100; ++rank) {
    BOOST_TEST(by_arrival[rank] > one_by_one[rank] - 0.01);
    BOOST_TEST(by_arrival[rank] < one_by_one[rank] * 13.0 / 12.0 + 0.02);
  }
}

BOOST_AUTO_TEST_CASE(rounded_ratings_are_stars) {
  synthetic_settings settings;
  settings.rounding = star_rounding::half;
  for (const float label : ratings_of(synthetic_truth(settings), 3).labels) {
    BOOST_TEST(label == std::round(label * 2.0F) / 2.0F);
    BOOST_TEST((label >= 1.0F && label <= 5.0F));
  }
  settings.rounding = star_rounding::whole;
  for (const float label : ratings_of(synthetic_truth(settings), 3).labels) BOOST_TEST(label == std::round(label));
}

BOOST_AUTO_TEST_CASE(a_scenario_loads_it_with_its_splits) {
  const auto read = parse_scenario_text(
      testing::valid_scenario(), "valid.toml",
      {{"data.unseen_users", "{validation = 0.1, test = 0.2}"}, {"data.split", "[0.5, 0.25, 0.25]"}});
  BOOST_REQUIRE(read.has_value());
  const auto data = load_data(*read);
  BOOST_REQUIRE(data.has_value());
  BOOST_TEST(data->clients->training().size() == 35U);
  BOOST_TEST(data->clients->facts().features == 60U);
  BOOST_TEST(data->clients->client_name(3) == "user 3");
  BOOST_TEST(data->clients->feature_name(3) == "item 3");
  const auto client = data->clients->training()[0];
  models::examples scratch;
  const auto train = data->clients->load(client, federated::part::train, scratch).size();
  const auto test = data->clients->load(client, federated::part::test, scratch).size();
  BOOST_TEST(std::abs(static_cast<double>(train) - 2.0 * static_cast<double>(test)) <= 2.0);
}

BOOST_AUTO_TEST_SUITE_END()
