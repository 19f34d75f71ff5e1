// Scores of two classes list every prediction: what of them goes into a message, and what a server allows for.
#include <boost/test/unit_test.hpp>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "federated/settings/network.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "wire/control.hpp"

BOOST_AUTO_TEST_SUITE(score_messages)

using namespace furlong;
using namespace furlong::actors::federation;
using federated::protocol::evaluation_scores;

namespace {

federated::scored_client scored(std::uint32_t client, std::size_t predictions) {
  federated::scored_client one{federated::group::seen, client, {}};
  one.score.examples = predictions;
  one.score.odds.resize(predictions);
  return one;
}

/// How many predictions each client of each message has.
using table = std::vector<std::vector<std::size_t>>;
table cut_of(const std::vector<std::size_t>& predictions) {
  evaluation_scores all{7, {}};
  for (const auto n : predictions) all.each.push_back(scored(static_cast<std::uint32_t>(all.each.size()), n));
  table messages;
  std::uint32_t next = 0;
  for (const auto& message : cut(all)) {
    BOOST_TEST(message.version == 7U);
    messages.emplace_back();
    for (const auto& one : message.each) {
      BOOST_TEST(one.client == next++);
      messages.back().push_back(one.score.odds.size());
    }
  }
  BOOST_TEST(next == predictions.size());
  return messages;
}

/// A run on two classes whose client 2 has so many examples to be scored.
federated::experiment two_classes(std::size_t examples) {
  auto clients = std::make_shared<tests::table_population>(*tests::make_ratings(12));
  clients->what.labels = models::objective::logistic;
  models::examples many;
  const auto one = clients->tables[5].train.view().slice(0, 1);
  for (std::size_t i = 0; i < examples; ++i) many.append(one);
  clients->tables[2].test = std::move(many);
  return tests::make_experiment({}, clients, {}, {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_are_cut_by_predictions_and_clients_are_not) {
  constexpr auto most = predictions_per_message;
  BOOST_TEST((cut_of({0, 0, 0}) == table{{0, 0, 0}}));
  BOOST_TEST((cut_of({1, most - 1, 0, 1}) == table{{1, most - 1, 0}, {1}}));
  BOOST_TEST((cut_of({0, 3 * most, 2, most, 5}) == table{{0, 3 * most}, {2}, {most}, {5}}));
}

BOOST_AUTO_TEST_CASE(a_node_may_send_the_scores_of_any_client) {
  auto e = two_classes(300'000);
  BOOST_TEST(check_max_message(e, 24, false).has_value());
  const evaluation_scores longest{1, {scored(2, most_predictions(e))}};
  BOOST_TEST(most_predictions(e) == wire::longest_list);
  BOOST_TEST(wire::encoded_size(longest) <= longest_node_frame(e, 24));
  // A tighter bound leaves room for fewer; and the server says so where it has the data.
  e.settings.network->max_message = std::uint64_t{1} << 21U;
  const auto most = most_predictions(e);
  BOOST_TEST((most > 0 && most < 300'000));
  BOOST_TEST(wire::encoded_size(evaluation_scores{1, {scored(2, most)}}) <= longest_node_frame(e, 24));
  const auto refused = check_max_message(e, 24, false);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text().find("a message of scores of this run takes up to") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_with_more_to_score_than_any_message_holds_is_refused_before_the_run) {
  const auto e = two_classes(wire::longest_list + 1);
  const auto refused = check_max_message(e, 24, false);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text().find("client 2: has 1048577 examples to be scored") == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
