// The numbers of examples that nodes declare for their clients, and which nodes the server refuses.
#include "federated/protocol/client_sizes.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(client_size)

using namespace furlong;
using namespace furlong::federated::protocol;
using federated::group;
using federated::part;

namespace {

federated::experiment some_ratings() { return tests::make_experiment({}, tests::make_ratings(12), {}, {}); }

}  // namespace

BOOST_AUTO_TEST_CASE(sizes_are_those_of_the_parts_that_each_group_is_scored_on) {
  const auto e = some_ratings();
  const auto& who = *e.clients;
  const auto last = who.facts().clients - 1;
  const auto sizes = sizes_of(e, {0, last});
  BOOST_REQUIRE(sizes.size() == last + 1U);
  for (const auto client : who.training()) {
    BOOST_TEST(sizes[client].train == who.count(client, part::train));
    BOOST_TEST(sizes[client].scored(group::seen) == who.count(client, part::test));
    BOOST_TEST(sizes[client].scored(group::validation) == 0U);  // there are unseen clients for that
    BOOST_TEST(sizes[client].scored(group::unseen) == 0U);
  }
  for (const auto client : who.unseen_validation()) {
    BOOST_TEST(sizes[client].train == 0U);
    BOOST_TEST(sizes[client].scored(group::validation) == who.count(client, part::train));
  }
  for (const auto client : who.unseen_test())
    BOOST_TEST(sizes[client].scored(group::unseen) == who.count(client, part::train));
  BOOST_TEST((sizes_of(e, {3, 5}) == std::vector(sizes.begin() + 3, sizes.begin() + 6)));
}

BOOST_AUTO_TEST_CASE(of_a_held_out_client_with_a_part_to_score_that_part_counts) {
  auto clients = tests::make_ratings(12);
  const auto validation = clients->held_out_validation.front();
  const auto unseen = clients->held_out_test.front();
  for (const auto client : {validation, unseen}) {
    clients->tables[client].validation = clients->tables[4].validation;
    clients->tables[client].test = clients->tables[4].test;
  }
  const auto e = tests::make_experiment({}, clients, {}, {});
  BOOST_TEST(sizes_of(e, {validation, validation})[0].validation == 2U);
  BOOST_TEST(sizes_of(e, {unseen, unseen})[0].unseen == 3U);
}

BOOST_AUTO_TEST_CASE(a_node_with_other_data_than_the_servers_is_refused) {
  const auto e = some_ratings();
  const auto sizes = sizes_of(e, {2, 7});
  BOOST_TEST(!size_mismatch(e, {2, 7}, sizes));
  for (const auto field :
       {&client_sizes::train, &client_sizes::validation, &client_sizes::seen, &client_sizes::unseen}) {
    auto other = sizes;
    ++(other[3].*field);
    const auto why = size_mismatch(e, {2, 7}, other);
    BOOST_REQUIRE(why.has_value());
    BOOST_TEST(why->find("client 5 ") != std::string::npos, *why);
  }
}

BOOST_AUTO_TEST_CASE(where_only_nodes_have_data_a_bound_of_the_scenario_holds) {
  auto e = some_ratings();
  e.sizes_declared = true;
  e.settings.aggregation->max_weight = 50;
  std::vector<client_sizes> sizes(3, {50, 50, 50, 50});
  BOOST_TEST(!size_mismatch(e, {0, 2}, sizes));
  sizes[1].seen = 51;
  const auto why = size_mismatch(e, {0, 2}, sizes);
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST(why->find("client 1 ") != std::string::npos, *why);
  BOOST_TEST(why->find("max_weight = 50") != std::string::npos, *why);
}

BOOST_AUTO_TEST_CASE(where_only_nodes_have_data_the_weight_of_all_epochs_is_bounded) {
  auto e = some_ratings();
  e.sizes_declared = true;
  e.settings.aggregation->max_weight = 50;
  e.settings.client->epochs = 3;
  std::vector<client_sizes> sizes(3, {16, 50, 50, 50});
  BOOST_TEST(!size_mismatch(e, {0, 2}, sizes));
  sizes[2].train = 17;
  const auto why = size_mismatch(e, {0, 2}, sizes);
  BOOST_REQUIRE(why.has_value());
  BOOST_TEST(why->find("client 2 (" + e.clients->client_name(2) + ") ") != std::string::npos, *why);
  BOOST_TEST(why->ends_with("its updates count 51 examples, more than algorithm.aggregation.max_weight = 50"), *why);
  e.settings.aggregation->rule = federated::chosen_rule("uniform-mean");  // weighs nothing
  BOOST_TEST(!size_mismatch(e, {0, 2}, sizes));
}

BOOST_AUTO_TEST_SUITE_END()
