// What servers and aggregators know of an algorithm in Python: groups of tensors and traits from the scenario's texts.
#include <boost/test/unit_test.hpp>
#include <string>
#include <vector>

#include "federated/aggregation/server_view.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(described_algorithms)

using namespace furlong;
using federated::first_value;
using federated::place;
using federated::sum_rule;
using texts = std::vector<std::string>;

namespace {

option_values options(texts groups, texts traits = {"private allowed"}) {
  option_values made;
  made.set("groups", std::move(groups));
  made.set("traits", std::move(traits));
  return made;
}

/// The run of an algorithm that is described so, with one private tensor.
federated::experiment described(texts groups, texts traits = {"private allowed"}) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("python", options(std::move(groups), std::move(traits)));
  settings.algorithm->traits.keeps_state = true;
  return tests::make_experiment(settings, tests::make_ratings(8), {{"item_bias", true}}, {"user"});
}

/// "" or why the texts are refused.
std::string refusal(texts groups, texts traits = {}) {
  const auto built = federated::find_algorithm("python")->build(options(std::move(groups), std::move(traits)));
  return built ? std::string() : built.error().place + ": " + built.error().reason;
}

}  // namespace

BOOST_AUTO_TEST_CASE(groups_are_those_of_the_texts) {
  const auto e = described({"previous kept received = model", "own kept 0 = private", "start kept initial = shared",
                            "pull broadcast 0.25 = 2x3", "c shared -0.5 sum 512.5 exact = shared",
                            "n report mean 4096 = 10x1", "bias kept initial of item_bias", "h server 1 = shared"});
  BOOST_REQUIRE(e.groups.size() == 8U);
  const auto& [previous, own, start, pull, c, n, bias, h] =
      std::tie(e.groups[0], e.groups[1], e.groups[2], e.groups[3], e.groups[4], e.groups[5], e.groups[6], e.groups[7]);
  BOOST_TEST((h.where == place::server));
  BOOST_TEST(h.constant == 1.0F);
  BOOST_TEST(h.in_server != federated::placed_group::nowhere);
  BOOST_TEST(h.in_down == federated::placed_group::nowhere);
  BOOST_TEST(previous.name == "previous");
  BOOST_TEST((previous.where == place::kept));
  BOOST_TEST((previous.first == first_value::received));
  BOOST_TEST(previous.copies_of == e.parts.all_tensors, boost::test_tools::per_element());
  BOOST_TEST(own.copies_of == e.parts.private_tensors, boost::test_tools::per_element());
  BOOST_TEST((own.first == first_value::zero));
  BOOST_TEST((start.first == first_value::initial));
  BOOST_TEST((pull.where == place::broadcast));
  BOOST_TEST(pull.constant == 0.25F);
  BOOST_TEST(pull.specs[0].rows == 2U);
  BOOST_TEST(pull.specs[0].cols == 3U);
  BOOST_TEST((c.where == place::shared));
  BOOST_TEST(c.constant == -0.5F);
  BOOST_TEST((c.rule == sum_rule::sum));
  BOOST_TEST(c.max_norm == 512.5);
  BOOST_TEST(c.exact);
  BOOST_TEST((n.where == place::report));
  BOOST_TEST((n.rule == sum_rule::mean));
  BOOST_TEST(!n.exact);
  BOOST_TEST(bias.copies_of == std::vector<std::size_t>{e.parts.model->find("item_bias").value()},
             boost::test_tools::per_element());
  BOOST_TEST((*e.parts.private_)[previous.in_private].name.starts_with("python/previous/"));
}

BOOST_AUTO_TEST_CASE(addressed_values_have_a_row_for_each_client) {
  const auto e = described({"near addressed 8 received = shared", "one addressed 8 0.5 = 2x3"}, {"sees updates"});
  BOOST_TEST(e.settings.algorithm->traits.sees_updates);
  const auto model = federated::initial_model(e);
  const auto added = federated::initial_added(e, model);
  for (const auto& group : e.groups) {
    BOOST_TEST((group.where == place::broadcast));
    BOOST_TEST(group.clients == 8U);
    for (std::size_t i = 0; i < group.count(); ++i) BOOST_TEST((*e.parts.down)[group.in_down + i].rows == 8U);
  }
  const auto& near = e.groups[0];
  const auto first = model.tensor(e.parts.slots[near.copies_of[0]].tensor);
  const auto table = added.tensor(near.in_server);
  BOOST_REQUIRE(table.size() == 8 * first.size());
  for (std::size_t client = 0; client < 8; ++client)
    BOOST_TEST(std::ranges::equal(table.subspan(client * first.size(), first.size()), first));
  BOOST_TEST(added.tensor(e.groups[1].in_server)[47] == 0.5F);
  // A client has its own row.
  auto server = added;
  std::ranges::fill(server.tensor(near.in_server).subspan(3 * first.size(), first.size()), 42.0F);
  const auto sent = federated::sent_model(e, {0, model, &server});
  federated::workspace use;
  use.own = models::private_parameters(e.parts.private_);
  federated::initial_private(e, 0, 3, use.own);
  models::examples scratch;
  for (const std::uint32_t client : {2U, 3U}) {
    const auto examples = e.clients->load(client, federated::part::train, scratch);
    use.weights.gather(*e.model, e.parts, sent, use.own, examples, client, false);
    federated::personal_task task(e, sent, client, use, false);
    BOOST_TEST((task.tensor(0).data[0] == 42.0F) == (client == 3));
  }
}

// Of the sums and counts that clients report.
BOOST_AUTO_TEST_CASE(metrics_are_figures_of_a_round) {
  const texts groups{"n report mean 4 = 1x1", "metrics report sum 1024 exact = 3x2"};
  const auto e = described(groups, {"private allowed", "metric first", "metric second", "metric third"});
  auto state = federated::initial_state(e);
  federated::server_optimizer optimizer(*e.settings.server, e.parts.shared);
  federated::aggregate round;
  round.added = models::shared_parameters(e.parts.reported);
  const auto sums = round.added.tensor(e.groups[1].in_reported);
  std::ranges::copy(std::array{3.0F, 4.0F, 9.0F, 0.0F, -1.0F, 8.0F}, sums.begin());
  const federated::server_view server{e, state.model, state.added, optimizer, state.version};
  const auto found = e.settings.algorithm->does->figures(server, round);
  BOOST_REQUIRE(found.size() == 2U);  // nobody counted the second
  BOOST_TEST(found[0].name == "first");
  BOOST_TEST(found[0].value == 0.75);
  BOOST_TEST(found[1].name == "third");
  BOOST_TEST(found[1].value == -0.125);
  for (const std::string other : {"report sum 1 = 2x2", "report mean 1 = 1x2", "report sum 1 = 1x1", "server 0 = 1x2"})
    BOOST_TEST(refusal({"metrics " + other}, {"metric first"}) ==
               "algorithm.python.traits: has \"metric first\", and no group reports it");
}

BOOST_AUTO_TEST_CASE(traits_are_those_of_the_texts) {
  const auto& read = federated::find_algorithm("python")->traits_of;
  const auto plain = read(options({}));
  BOOST_TEST(!plain->keeps_state);
  BOOST_TEST(!plain->exact_state);
  BOOST_TEST((plain->own_loop == federated::own_loop_use::allowed));
  BOOST_TEST(plain->rules.empty());
  const auto all = read(options({"own kept 0 = shared", "c shared 0 sum 1 = shared"},
                                {"private required", "exact state", "plain steps", "rule uniform-mean", "rule mean"}));
  BOOST_TEST(all->keeps_state);
  BOOST_TEST(all->exact_state);
  BOOST_TEST(!all->mixes);
  BOOST_TEST((all->private_tensors == federated::private_use::required));
  BOOST_TEST((all->own_loop == federated::own_loop_use::plain));
  BOOST_TEST(all->rules == (texts{"uniform-mean", "mean"}), boost::test_tools::per_element());
  BOOST_REQUIRE(all->defaults.size() == 2U);  // of the rule, and private.commit
  BOOST_TEST(std::get<std::string>(all->defaults[0].second) == "uniform-mean");
  BOOST_TEST(std::get<std::string>(all->defaults[1].second) == "after-ack");
  BOOST_TEST(!described({"n report sum 1 = 1x1"}, {"private ignored", "groups only"}).parts.sends_model);
}

BOOST_AUTO_TEST_CASE(other_texts_are_refused) {
  const std::string key = "algorithm.python.groups: has \"";
  const std::string form = "\", which does not read \"NAME PLACE ... = TENSORS\"";
  for (const std::string text :
       {"", "a", "a kept", "a kept 0", "a kept 0 =", "a kept 0 = all", "a kept 0 = model shared", "a client 0 = model",
        "a kept 0 = 3x", "a kept 0 = x3", "a kept 0 = 0x3", "a kept 0 = 3x99999999999", "a kept 0 of", "= model"})
    BOOST_TEST(refusal({text}) == key + text + form);
  for (const std::string text : {"a addressed = model", "a addressed 0 0 = model", "a addressed x 0 = model"})
    BOOST_TEST(refusal({text}) == key + text + "\", which does not say how many clients it has values for");
  for (const std::string text : {"a addressed 3 = model", "a kept = model", "a kept warm = model", "a shared = model",
                                 "a broadcast 1e99 = model"})
    BOOST_TEST(refusal({text}) == key + text + "\", which does not say what it begins with");
  for (const std::string text :
       {"a report = 1x1", "a report sum = 1x1", "a report max 1 = 1x1", "a report sum x = 1x1",
        "a report sum 1 rounded = 1x1", "a report sum 1 exact exact = 1x1", "a shared 0 = model"})
    BOOST_TEST(refusal({text}) == key + text + "\", which does not say how it is aggregated");
  BOOST_TEST(refusal({"a kept 0 sum 1 = model"}) ==
             key + "a kept 0 sum 1 = model\", of which \"sum\" is not understood");
  for (const std::string text :
       {"", "private", "private some", "exact", "exact sums", "rule", "rule a b", "public all"})
    BOOST_TEST(refusal({}, {text}) == "algorithm.python.traits: has \"" + text + "\", which is no trait");
}

BOOST_AUTO_TEST_CASE(a_group_that_the_model_cannot_have_is_refused) {
  const auto problem = [](const std::string& group) {
    try {
      static_cast<void>(described({group}));
      return std::string();
    } catch (const std::invalid_argument& why) {
      return std::string(why.what());
    }
  };
  BOOST_TEST(problem("a kept 0 of other").find("copies a tensor that the model does not have") != std::string::npos);
  BOOST_TEST(problem("a broadcast initial = shared").find("and is not kept") != std::string::npos);
  BOOST_TEST(problem("a kept received = 1x1").find("copies none of its tensors") != std::string::npos);
  BOOST_TEST(problem("a broadcast received = model").find("which the server does not have") != std::string::npos);
}

// As teachers that all clients begin with (FedPHP).
BOOST_AUTO_TEST_CASE(initial_values_are_those_of_the_model_before_the_first_round) {
  const auto e = described({"teacher kept initial = shared", "two kept 2 = shared"});
  const auto model = federated::initial_model(e);
  models::private_parameters own(e.parts.private_);
  for (const std::uint32_t client : {0U, 5U}) {
    federated::initial_private(e, 3, client, own);
    for (std::size_t i = 0; i < e.groups[0].count(); ++i) {
      const auto values = std::as_const(own).tensor(e.groups[0].in_private + i);
      const auto first = model.tensor(e.parts.slots[e.groups[0].copies_of[i]].tensor);
      BOOST_TEST(std::vector<float>(values.begin(), values.end()) == std::vector<float>(first.begin(), first.end()),
                 boost::test_tools::per_element());
    }
    BOOST_TEST(std::as_const(own).tensor(e.groups[1].in_private)[0] == 2.0F);
  }
}

BOOST_AUTO_TEST_SUITE_END()
