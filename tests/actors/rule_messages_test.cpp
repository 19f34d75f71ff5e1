// Messages as long as the aggregation rule of a run makes them, and what of a run no message can hold.
#include <boost/test/unit_test.hpp>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "actors/federation/processes.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "tests/actors/sessions.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "wire/control.hpp"

BOOST_AUTO_TEST_SUITE(rule_messages)

using namespace furlong;
using namespace furlong::actors::federation;
using federated::protocol::evaluation_request;
using federated::protocol::evaluation_scores;

namespace {

constexpr std::size_t constants = 300'000;

constexpr std::size_t words_of_rule = 500'000;

/// The uniform mean with many words that stay zero.
class long_mean final : public federated::aggregation_rule {
 public:
  explicit long_mean(std::unique_ptr<aggregation_rule> mean) : mean_(std::move(mean)) {}
  [[nodiscard]] std::size_t words() const override { return words_of_rule; }
  std::optional<federated::rejection> encode(const models::delta& change, const federated::fold_context& of,
                                             std::span<std::int64_t> sum) override {
    return mean_->encode(change, of, sum.first(mean_->words()));
  }
  void report(std::span<std::int64_t> sum, federated::aggregate& out) override {
    mean_->report(sum.first(mean_->words()), out);
  }

 private:
  std::unique_ptr<aggregation_rule> mean_;
};

/// A run with a rule that has many words and many constants.
federated::experiment with_long_rule(bool secure) {
  auto entry = *federated::find_rule("uniform-mean");
  entry.kind = "long-messages";
  entry.build = [mean = entry.build](const federated::aggregation_settings& settings, const models::layout_ptr& shared,
                                     const std::vector<double>& reference, const federated::rule_draws& draws) {
    return std::make_unique<long_mean>(mean(settings, shared, reference, draws));
  };
  entry.first_reference = [](const federated::aggregation_settings&, const models::layout&) {
    return std::vector<double>(constants);
  };
  federated::register_rule(entry);
  federated::run_settings settings;
  settings.aggregation->rule = federated::chosen_rule("long-messages");
  settings.privacy->secure_aggregation = secure;
  return tests::make_experiment(settings, tests::make_ratings(12), {}, {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(messages_are_as_long_as_the_rule_makes_them) {
  for (const bool secure : {false, true}) {
    const auto e = with_long_rule(secure);
    const federated::broadcast model{e.run, 0, models::shared_parameters(e.parts.down), std::vector<double>(constants)};
    BOOST_TEST(wire::encoded_size(model) <= longest_node_frame(e, 24));
    federated::client_update masked;
    masked.words.resize(federated::accumulated_words(e));
    const auto bytes = wire::encoded_size(masked, wire::update_format::dense);
    BOOST_TEST(bytes > wire::encoded_size(model));
    BOOST_TEST((bytes <= longest_node_frame(e, 24)) == secure);
    BOOST_TEST(check_max_message(e, 24, true).has_value());
  }
}

BOOST_AUTO_TEST_CASE(a_run_whose_rule_makes_messages_too_long_is_refused) {
  auto e = with_long_rule(true);
  const auto why = [&] {
    const auto fits = check_max_message(e, 24, false);
    return fits ? std::string() : fits.error().text();
  };
  e.settings.network->max_message = std::uint64_t{3} << 20U;
  BOOST_TEST(why().find("an update of this run takes up to") != std::string::npos, why());
  e.settings.privacy->secure_aggregation = false;
  BOOST_TEST(why() == "");
  e.settings.network->max_message = std::uint64_t{2} << 20U;
  BOOST_TEST(why().find("the model of this run takes up to") != std::string::npos, why());
}

BOOST_AUTO_TEST_CASE(a_run_whose_lists_no_message_holds_is_refused) {
  auto e = tests::make_experiment({}, tests::make_ratings(12), {}, {});
  e.settings.participation->per_round = wire::longest_list;
  BOOST_TEST(check_max_message(e, 24, false).has_value());
  e.settings.participation->per_round = wire::longest_list + 1;
  const auto refused = check_max_message(e, 24, false);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text().starts_with("participation.per_round: asks up to 1048577 clients at once"));
}

BOOST_AUTO_TEST_CASE(a_node_hosts_no_more_clients_than_its_messages_list) {
  BOOST_TEST(check_hosted({5, 5 + wire::longest_list - 1}).has_value());
  BOOST_TEST(!check_hosted({5, 5 + wire::longest_list}).has_value());
  BOOST_TEST(!check_hosted({0, UINT32_MAX}).has_value());
}

BOOST_AUTO_TEST_CASE(requests_for_scores_and_scores_are_cut_by_clients) {
  const auto shape = tests::make_experiment({}, tests::make_ratings(12), {}, {}).parts.shared;
  tests::listening_channel to;
  const std::vector<std::pair<federated::group, std::uint32_t>> many(2 * scored_per_message + 1,
                                                                     {federated::group::seen, 3});
  BOOST_TEST(send_request(to, 7, many).has_value());
  BOOST_TEST(to.heard<evaluation_request>(3, shape) == 3U);
  BOOST_TEST(send_request(to, 7, {}).has_value());
  BOOST_TEST(to.heard<evaluation_request>(3, shape) == 3U);
  evaluation_scores none{7, std::vector<federated::scored_client>(2 * scored_per_message), true};
  const auto messages = cut(none);
  BOOST_TEST(messages.size() == 2U);
  for (const auto& one : messages)
    BOOST_TEST((one.unscored && one.version == 7U && one.each.size() == scored_per_message));
}

BOOST_AUTO_TEST_CASE(a_message_that_cannot_be_encoded_is_an_error_and_a_reason_is_made_fit) {
  const auto shape = tests::make_experiment({}, tests::make_ratings(12), {}, {}).parts.shared;
  tests::listening_channel to;
  BOOST_TEST(!send_control(to, federated::protocol::redirect{""}).has_value());
  BOOST_TEST(!send_control(to, federated::protocol::withdrawal{std::vector<federated::task_id>(wire::longest_list + 1)})
                  .has_value());
  BOOST_TEST(send_control(to, federated::protocol::close_notice{std::string(5000, '\n'), true}).has_value());
  BOOST_TEST(send_control(to, federated::protocol::displaced{1, "\x1b", std::string(5000, 'x')}).has_value());
  BOOST_TEST(to.heard<federated::protocol::close_notice>(1, shape) == 1U);
  BOOST_TEST(to.heard<federated::protocol::displaced>(1, shape) == 1U);
}

BOOST_AUTO_TEST_CASE(a_scenario_that_cannot_be_told_to_nodes_is_refused_before_the_run) {
  const auto e = tests::make_experiment({}, tests::make_ratings(12), {}, {});
  const std::vector<std::pair<std::string, std::string>> scenarios{
      {std::string(wire::longest_scenario + 1, 'x'), "found 1048577 bytes"},
      {"name = \"\xE2\x80\xAE\"\n", "found character 8238"}};
  for (const auto& [text, why] : scenarios) {
    server_setup setup;
    setup.listen = {"127.0.0.1", 0};
    setup.scenario = text;
    const auto opened = server::open(e, std::move(setup));
    BOOST_REQUIRE(!opened.has_value());
    BOOST_TEST((opened.error().what == error::kind::usage));
    BOOST_TEST(opened.error().text().starts_with("the scenario: cannot be told to nodes: welcome.scenario: " + why));
  }
}

BOOST_AUTO_TEST_SUITE_END()
