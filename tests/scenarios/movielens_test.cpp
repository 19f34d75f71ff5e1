// Facts of the real MovieLens-1M. Without it there is nothing to check, and the tests are skipped.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "federated/settings/participation.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(movielens_1m)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;
using testing::has_real_data;

BOOST_AUTO_TEST_CASE(the_published_split_has_its_published_sizes,
                     *boost::unit_test::precondition(has_real_data("ml-1m/ratings.dat"))) {
  const auto root = testing::real_data("ml-1m/ratings.dat");
  auto read = parse_scenario("scenarios/movielens-fedrecon.toml", {{"data.max_examples", "0"}});
  BOOST_REQUIRE(read.has_value());
  const auto data = load_data(*read, *root);
  BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
  const auto& clients = *data->clients;
  BOOST_TEST(clients.facts().clients == 6040U);
  BOOST_TEST(clients.facts().features == 3706U);
  BOOST_TEST(clients.training().size() == 4832U);
  BOOST_TEST(clients.unseen_validation().size() == 604U);
  BOOST_TEST(clients.unseen_test().size() == 604U);
  BOOST_TEST(clients.client_name(16) == "user 17");
  BOOST_TEST(clients.feature_name(0) == "Toy Story (1995)");

  models::examples scratch;
  std::size_t ratings = 0;
  double sum = 0.0;
  for (std::uint32_t client = 0; client < 6040; ++client) {
    const auto own = clients.load(client, part::train, scratch);
    ratings += own.size();
    sum = std::accumulate(own.labels.begin(), own.labels.end(), sum);
  }
  BOOST_TEST(ratings == 1000209U);
  BOOST_TEST(std::abs(sum / 1000209.0 - 3.5816) < 1e-4);  // the mean rating that its README's users know
  BOOST_TEST(scratch.labels.empty());                     // loads look into the population
  BOOST_TEST(fit(*read, *data).has_value());
  BOOST_TEST(read->settings.participation->per_round == 100U);
}

BOOST_AUTO_TEST_CASE(the_cap_of_300_leaves_what_the_published_run_trained_on,
                     *boost::unit_test::precondition(has_real_data("ml-1m/ratings.dat"))) {
  const auto root = testing::real_data("ml-1m/ratings.dat");
  const auto read = parse_scenario("scenarios/movielens-fedrecon.toml");
  BOOST_REQUIRE(read.has_value());
  const auto data = load_data(*read, *root);
  BOOST_REQUIRE(data.has_value());
  models::examples scratch;
  std::size_t longest = 0;
  for (const auto client : data->clients->training())
    longest = std::max(longest, data->clients->load(client, part::train, scratch).size());
  BOOST_TEST(longest == 300U);
}

BOOST_AUTO_TEST_SUITE_END()
