// Notes about what is written and does nothing, and about figures that are not what their name says.
#include <boost/test/unit_test.hpp>

#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(unused)

using namespace furlong;
using namespace furlong::scenarios;
using testing::valid_scenario;
using overrides = std::vector<setting_override>;

namespace {

/// The notes of a scenario, a line each. Its resolved form, which writes all defaults out, must have the same.
std::string notes_of(const std::string& text, const overrides& changes) {
  const auto read = parse_scenario_text(text, "t.toml", changes);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  const auto again = parse_scenario_text(resolved_toml(*read), "resolved.toml");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(again->notes == read->notes, boost::test_tools::per_element());
  std::string all;
  for (const auto& note : read->notes) all += note + "\n";
  return all;
}

/// The same of fedavg on ratings, and of models of texts.
std::string notes_of_fedavg(overrides changes) {
  changes.insert(changes.begin(), {{"algorithm.kind", "fedavg"}, {"model.private", "[]"}});
  return notes_of(valid_scenario(), changes);
}

const std::string words =
    "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"text\"\nclients = 2\n[model]\nkind = \"gru-lm\"\n"
    "[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 1\n";
const std::string classes =
    "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"synthetic-texts\"\nusers = 20\ntexts_per_user = 20\n"
    "split = [0.8, 0.1, 0.1]\n[model]\nkind = \"doc-classifier\"\nuser_embedding = 0\n[algorithm]\nkind = \"fedavg\"\n"
    "[participation]\nper_round = 2\n";

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_give_no_notes) {
  BOOST_TEST(notes_of(valid_scenario(), {}) == "");
  for (const char* kind : {"fedavg", "fedsgd"}) BOOST_TEST(notes_of(words, {{"algorithm.kind", kind}}) == "");
  BOOST_TEST(notes_of(classes, {}) == "");
}

BOOST_AUTO_TEST_CASE(fedsgd_takes_one_step) {
  const std::string why = "fedsgd takes one step on all examples\n";
  const setting_override fedsgd{"algorithm.kind", "fedsgd"};
  BOOST_TEST(notes_of(words, {fedsgd, {"algorithm.client.batch_size", "4"}}) ==
             "algorithm.client.batch_size has no effect on training: " + why);
  for (const auto& [key, value, origin] : overrides{{"shuffle", "true"}, {"momentum", "0.5"}, {"proximal", "0.1"}}) {
    const setting_override changed{"algorithm.client." + key, value};
    BOOST_TEST(notes_of(words, {fedsgd, changed}) == changed.key + " has no effect: " + why);
    BOOST_TEST(notes_of(words, {changed}) == "");
  }
}

BOOST_AUTO_TEST_CASE(settings_of_other_server_optimizers) {
  const std::string server = "algorithm.server.";
  for (const auto& [key, value, origin] : overrides{{"beta1", "0.5"}, {"beta2", "0.5"}, {"bias_correction", "true"}}) {
    for (const char* kind : {"sgd", "adagrad"})
      BOOST_TEST(notes_of(words, {{server + "optimizer", kind}, {server + key, value}}) ==
                 server + key + " has no effect: server.optimizer is \"" + kind + "\"\n");
    for (const char* kind : {"adam", "yogi"})
      BOOST_TEST(notes_of(words, {{server + "optimizer", kind}, {server + key, value}}) == "");
  }
  for (const char* key : {"eps", "initial_accumulator"}) {
    BOOST_TEST(notes_of(words, {{server + key, "0.5"}}) ==
               server + key + " has no effect: server.optimizer is \"sgd\"\n");
    BOOST_TEST(notes_of(words, {{server + "optimizer", "adagrad"}, {server + key, "0.5"}}) == "");
  }
}

BOOST_AUTO_TEST_CASE(reconstruction_where_nothing_is_rebuilt) {
  const std::string table = "algorithm.reconstruction";
  const std::string nothing = table + " has no effect on the run: no tensor is rebuilt, in training or in evaluation\n";
  const setting_override steps{table, "{lr = 0.5, epochs = 3}"};
  BOOST_TEST(notes_of_fedavg({steps}) == nothing);
  BOOST_TEST(notes_of_fedavg({steps, {"evaluation.reconstruct", "['item']"}}) == "");
  const setting_override none{"evaluation.reconstruct", "[]"};
  const setting_override cold{"private.cold_start", "reconstruct"};
  for (const auto& more : {overrides{}, overrides{none}}) {
    auto changes = more;
    changes.push_back(steps);
    BOOST_TEST(notes_of(valid_scenario(), changes) == nothing);  // furl starts unseen clients from the initial values
    changes.push_back(cold);
    BOOST_TEST(notes_of(valid_scenario(), changes) == "");
  }
  BOOST_TEST(notes_of(valid_scenario(), {steps, none, {"algorithm.kind", "fedrecon"}}) == "");

  const setting_override split{table + ".split", "false"};
  BOOST_TEST(notes_of(valid_scenario(), {split, {"algorithm.kind", "fedrecon"}}) == "");
  BOOST_TEST(notes_of(valid_scenario(), {cold, split}) ==
             table + ".split has no effect: furl does not split a task's examples\n");
  BOOST_TEST(notes_of(valid_scenario(), {cold, {table + ".ridge", "2"}}) ==
             table + ".ridge has no effect: reconstruction.solver is \"sgd\"\n");
  const setting_override exact{table + ".solver", "least-squares"};
  BOOST_TEST(notes_of(valid_scenario(), {cold, exact, {table + ".ridge", "2"}}) == "");
  BOOST_TEST(notes_of(valid_scenario(), {cold, exact, {table + ".lr", "2"}}) ==
             table + ".lr has no effect: reconstruction.solver is \"least-squares\"\n");
}

BOOST_AUTO_TEST_CASE(a_share_that_is_not_the_one_that_was_struck) {
  const auto with = [](const std::string& what) {
    return notes_of(valid_scenario() + "[[event]]\nat = \"5s\"\n" + what + "\n", {});
  };
  for (const std::string word : {"heal", "restart"}) {
    BOOST_TEST(with(word + " = 0.25") ==
               "event[1]." + word + " = 0.25 draws its own clients, not those of another event; 1.0 means all\n");
    BOOST_TEST(with(word + " = 1.0") == "");
    BOOST_TEST(with(word + " = \"0-9\"") == "");
  }
  BOOST_TEST(with("kill = 0.25") == "");
}

BOOST_AUTO_TEST_CASE(a_user_vector_of_no_width) {
  const setting_override start{"model.user_init", "0.5"};
  BOOST_TEST(notes_of(classes, {start}) == "model.user_init has no effect: user_embedding is 0\n");
  BOOST_TEST(notes_of(classes, {start, {"model.user_embedding", "2"}}) == "");
}

BOOST_AUTO_TEST_CASE(noise_on_updates) {
  const std::string noise = "algorithm.aggregation.noise";
  const setting_override sparse{"network.upload", "sparse"};
  BOOST_TEST(notes_of_fedavg({sparse, {noise, "0.1"}}) ==
             "network.upload = \"sparse\" saves nothing: with algorithm.aggregation.noise at the client, every row of "
             "an update is changed\n");
  const setting_override at_server{noise + "_at", "server"};
  BOOST_TEST(notes_of_fedavg({sparse, {noise, "0.1"}, at_server}) == "");
  BOOST_TEST(notes_of_fedavg({sparse}) == "");
  BOOST_TEST(notes_of(words, {at_server}) == noise + "_at has no effect: aggregation.noise is 0\n");
  const auto pooled = parse_scenario_text(words, "t.toml", {{"algorithm.kind", "centralized"}, {noise, "0.1"}});
  BOOST_TEST(testing::text_of(pooled) ==
             "--set " + noise +
                 ": has no meaning under kind = \"centralized\": there are no clients' updates; remove it, or choose "
                 "another algorithm");
}

BOOST_AUTO_TEST_CASE(rows_of_models_that_share_none) {
  const setting_override sparse{"network.upload", "sparse"};
  const auto none = [](const std::string& model) {
    return "network.upload = \"sparse\" has no effect: no shared tensor of " + model + " is by rows\n";
  };
  BOOST_TEST(notes_of(words, {sparse}) == none("gru-lm"));
  BOOST_TEST(notes_of(words, {sparse, {"algorithm.aggregation.noise", "0.1"}}) == none("gru-lm"));
  BOOST_TEST(notes_of(words, {sparse, {"model.kind", "lstm-nwp"}}) == none("lstm-nwp"));
  BOOST_TEST(notes_of(classes, {sparse}) == none("doc-classifier"));
  BOOST_TEST(
      notes_of(classes, {sparse, {"model.user_embedding", "2"}, {"model.user_table", "true"}}).find("has no effect") ==
      std::string::npos);
  BOOST_TEST(notes_of(valid_scenario(), {sparse}) == "");
  BOOST_TEST(notes_of(valid_scenario(), {sparse, {"model.private", "['item']"}}) == none("matrix-factorization"));
}

// Its figures are called perplexities, and are not: anyone who checks or runs such a scenario is told.
BOOST_AUTO_TEST_CASE(the_protocol_of_2018_is_said_loudly) {
  const setting_override old{"model.protocol", "fedatt-2018"};
  const std::string loud =
      "model.protocol = \"fedatt-2018\": what is called perplexity is not that of a language model; compare it with "
      "the tables of FedAtt's paper only\n";
  const auto notes = [&](const char* scored) {
    return notes_of(words, {old, {"model.score_batch", "128"}, {"evaluation.batch_size", scored}});
  };
  const auto cut = [](const std::string& size) {
    return "model.score_batch is 128, and evaluation.batch_size has " + size +
           " sentences scored at a time: under fedatt-2018 the figures depend on that; set evaluation.batch_size to a "
           "multiple of model.score_batch\n";
  };
  BOOST_TEST(notes("128") == loud);
  BOOST_TEST(notes("256") == loud);
  BOOST_TEST(notes("100") == loud + cut("100"));
  BOOST_TEST(notes("0") == loud);  // all that a client has
  BOOST_TEST(notes_of(words, {old, {"model.score_batch", "128"}}) == loud + cut("32"));
  BOOST_TEST(notes_of(words, {{"model.score_batch", "128"}}) == "");
}

// Needs the model, which needs the data.
BOOST_AUTO_TEST_CASE(fine_tuning_where_clients_are_scored_as_they_are) {
  const auto fitted = [](overrides changes) {
    changes.insert(changes.begin(), {{"algorithm.kind", "fedavg"}, {"model.private", "[]"}});
    auto read = parse_scenario_text(valid_scenario(), "t.toml", changes);
    BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
    const auto data = load_data(*read);
    BOOST_REQUIRE(data.has_value());
    BOOST_REQUIRE(fit(*read, *data).has_value());
    return read->notes.empty() ? std::string() : read->notes.back();
  };
  const setting_override tuned{"evaluation.reconstruct", "['*']"};
  const setting_override divided{"data.split", "[0.8, 0.1, 0.1]"};
  const setting_override held_out{"data.unseen_users.test", "0.1"};
  BOOST_TEST(fitted({divided}) == "");
  BOOST_TEST(fitted({divided, tuned}) == "");
  BOOST_TEST(fitted({divided, {"evaluation.reconstruct", "['item']"}}) == "");
  BOOST_TEST(fitted({divided, tuned, held_out}) == "");
  BOOST_TEST(fitted({divided, tuned, {"data.unseen_users.validation", "0.1"}}) == "");
  BOOST_TEST(fitted({divided, {"model.user_table", "true"}}).find("reconstruct") == std::string::npos);
  const setting_override furl{"algorithm.kind", "furl"};
  const setting_override own{"model.private", "['user']"};
  BOOST_TEST(fitted({divided, furl, own}) == "");
  const overrides as_they_are{divided, furl, own, tuned, held_out};
  BOOST_TEST(fitted(as_they_are) ==
             "evaluation.reconstruct has no effect on the run: under furl clients are scored as they are, unless "
             "private.cold_start is \"reconstruct\"");
  const overrides own_alone{divided, furl, own, {"evaluation.reconstruct", "['user']"}, held_out};
  BOOST_TEST(fitted(own_alone).starts_with("evaluation.reconstruct has no effect on the run"));
  auto cold = as_they_are;
  cold.push_back({"private.cold_start", "reconstruct"});
  BOOST_TEST(fitted(cold) == "");
}

BOOST_AUTO_TEST_CASE(personal_copies_need_no_private_tensors) {
  for (const std::string kind : {"ditto", "pfedme", "apfl"}) {
    const setting_override chosen{"algorithm.kind", kind};
    const setting_override cold{"private.cold_start", "reconstruct"};
    const setting_override own_lr{"algorithm.reconstruction.lr", "0.5"};
    const setting_override tuned{"evaluation.reconstruct", "[\"user\"]"};
    const auto shares = "model.private has no effect: " + kind + " shares all tensors\n";
    BOOST_TEST(notes_of(valid_scenario(), {chosen}) == shares);
    const std::string not_cold = "private.cold_start has no effect: no tensor of the model is private\n";
    BOOST_TEST(notes_of(valid_scenario(), {chosen, cold, own_lr}) ==
               shares + not_cold +
                   "algorithm.reconstruction has no effect on the run: no tensor is rebuilt, in training or in "
                   "evaluation\n");
    BOOST_TEST(notes_of(valid_scenario(), {chosen, cold, own_lr, tuned}) == shares + not_cold);
  }
  BOOST_TEST(notes_of_fedavg({{"algorithm.kind", "ditto"}, {"algorithm.client.momentum", "0.5"}}) ==
             "algorithm.client.momentum has no effect on the personal values: their steps are plain ones, with the "
             "term of algorithm.ditto.lambda\n");
}

BOOST_AUTO_TEST_SUITE_END()
