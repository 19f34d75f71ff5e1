// What only the data can tell: who has nothing to train on, and which groups have nobody to score.
#include <boost/test/unit_test.hpp>

#include "federated/settings/aggregation.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(fit_to_data)

using namespace furlong;
using namespace furlong::scenarios;
using overrides = std::vector<setting_override>;

namespace {

/// Texts with two labels in turn, so many of each user.
std::string table_of(const std::vector<int>& texts) {
  std::string rows = "user\ttext\tlabel\n";
  for (std::size_t user = 0; user < texts.size(); ++user)
    for (int i = 0; i < texts[user]; ++i)
      rows +=
          "u" + std::to_string(user) + "\tabc\t" + ((user + static_cast<std::size_t>(i)) % 2 == 0 ? "x" : "y") + "\n";
  return rows;
}

const std::string classifier =
    "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"labelled-text\"\npath = \"t.tsv\"\npositive = \"x\"\n"
    "split = [1, 0, 0]\n[model]\nkind = \"doc-classifier\"\nuser_embedding = 2\nprivate = [\"user\"]\n[algorithm]\n"
    "kind = \"furl\"\nclient = {batch_size = 4}\n[participation]\nper_round = 1\n";

/// The error, or the notes, a line each, that a scenario gets once it has its data.
std::string fitted(const std::string& text, const std::filesystem::path& root, const overrides& changes) {
  auto read = parse_scenario_text(text, "t.toml", changes);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  const auto data = load_data(*read, root);
  BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
  if (const auto outcome = fit(*read, *data); !outcome) return outcome.error().text();
  std::string all;
  for (const auto& note : read->notes) all += note + "\n";
  return all;
}

/// The valid scenario without a size of rounds.
std::string fraction_scenario() {
  auto text = testing::valid_scenario();
  return text.erase(text.find("per_round = 10\n"));
}

struct few_texts : testing::temporary_directory {
  std::string fit_with(const std::vector<int>& texts, const overrides& changes) const {
    write("t.tsv", table_of(texts));
    return fitted(classifier, path(), changes);
  }
};

const setting_override fedrecon{"algorithm.kind", "fedrecon"};

}  // namespace

BOOST_AUTO_TEST_CASE(correlations_with_a_taste_that_the_data_do_not_tell_are_noted) {
  const few_texts data;
  const overrides asks{{"devices.correlation.speed_taste", "0.5"},
                       {"devices.correlation.availability_taste", "0.25"},
                       {"devices.speed.sigma", "0.5"},
                       {"devices.availability.kind", "markov"}};
  const std::string note = "_taste has no effect: labels of these data do not show clients' tastes\n";
  const auto with_labels = data.fit_with({3, 5, 4}, asks);  // 0 and 1: their mean is a taste
  BOOST_TEST(with_labels.find("_taste") == std::string::npos, with_labels);
  data.write("t.tsv", table_of({3, 5, 4}));
  auto classes = classifier;
  classes.replace(classes.find("positive = \"x\"\n"), 15, "");
  const auto without = fitted(classes, data.path(), asks);
  BOOST_TEST(without.find("devices.correlation.speed" + note) != std::string::npos, without);
  BOOST_TEST(without.find("devices.correlation.availability" + note) != std::string::npos, without);
}

BOOST_AUTO_TEST_CASE(a_column_family_for_each_of_many_clients_is_advised_against) {
  const auto of = [](const char* users, const char* layout) {
    return fitted(
        "[scenario]\nname = \"t\"\nrounds = 2\n[data]\nsource = \"synthetic-ratings\"\nitems = 20\n"
        "ratings_per_user = 4\nmin_ratings = 1\n[model]\nkind = \"matrix-factorization\"\nrank = 2\n"
        "private = [\"user\"]\n[algorithm]\nkind = \"furl\"\n[participation]\nper_round = 1\n",
        {}, {{"data.users", users}, {"private.layout", layout}, {"data.unseen_users", "{test = 0}"}});
  };
  const std::string advice = "private.layout = \"bucketed\" is advised: 20000 clients with a column family each";
  const auto many = of("20000", "per-client");
  BOOST_TEST(many.find(advice) != std::string::npos, many);
  BOOST_TEST(of("19999", "per-client").find("is advised") == std::string::npos);
  BOOST_TEST(of("20000", "bucketed").find("is advised") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(clients_without_examples_cannot_train) {
  const few_texts data;
  const setting_override split{"data.split", "[0.1, 0.0, 0.9]"};
  BOOST_TEST(data.fit_with({4, 4}, {split}) ==
             "--set data.split: leaves no client an example to train on: the first share of what each has "
             "comes to none; raise it, or give clients more examples");
  BOOST_TEST(data.fit_with({4, 10}, {split}).find("leaves no client") == std::string::npos);  // one is enough
}

BOOST_AUTO_TEST_CASE(the_bound_of_weights_suffices_for_the_largest_client) {
  const few_texts data;
  const auto bound = [&](const overrides& changes) {
    data.write("t.tsv", table_of({4, 10, 3}));
    auto read = parse_scenario_text(classifier, "t.toml", changes);
    BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
    const auto texts = load_data(*read, data.path());
    BOOST_REQUIRE(texts.has_value());
    if (const auto done = fit(*read, *texts); !done) return done.error().text();
    const auto made = std::to_string(read->settings.aggregation->max_weight);
    const auto note = "algorithm.aggregation.max_weight is raised to " + made + ": an update of client 1 (u1) counts ";
    const auto noted = std::ranges::any_of(read->notes, [&](const auto& one) { return one.starts_with(note); });
    BOOST_TEST(noted == (read->settings.aggregation->max_weight > 65536U));
    BOOST_TEST(node_toml(*read).find("\nmax_weight = " + made + "\n") != std::string::npos);
    return made;
  };
  const auto epochs = [](const char* count) { return setting_override{"algorithm.client.epochs", count}; };
  const setting_override low{"algorithm.aggregation.max_weight", "65535"};
  BOOST_TEST(bound({epochs("6553")}) == "65536");  // 65,530 examples: sums have the unit that they had
  BOOST_TEST(bound({epochs("6554")}) == "131072");
  BOOST_TEST(bound({epochs("6554"), {"algorithm.client.max_steps", "100"}}) == "65536");
  BOOST_TEST(bound({epochs("6554"), {"data.max_examples", "9"}}) == "65536");
  BOOST_TEST(bound({epochs("6554"), {"algorithm.aggregation.rule", "uniform-mean"}}) == "65536");
  BOOST_TEST(bound({epochs("6554"), {"algorithm.kind", "centralized"}}) == "65536");
  BOOST_TEST(bound({epochs("6554"), {"algorithm.kind", "scaffold"}}) == "65536");  // a uniform mean
  BOOST_TEST(bound({epochs("6554"), {"algorithm.kind", "fedrecon"}}) == "65536");  // half of the examples are queries
  BOOST_TEST(bound({epochs("6553"), low}) == "65535");
  BOOST_TEST(bound({epochs("6554"), low}) ==
             "--set algorithm.aggregation.max_weight: is 65535, and an update of client 1 (u1) counts 65540 examples, "
             "10 in each epoch: it would never be aggregated; set it to at least 65540, or remove it");
  BOOST_TEST(bound({epochs("1677721")}) == "16777216");
  const auto most = bound({epochs("1677722")});
  BOOST_TEST(most.find("client 1 (u1) counts 16777220 examples") != std::string::npos, most);
  BOOST_TEST(most.find("lower algorithm.client.epochs") != std::string::npos, most);
}

BOOST_AUTO_TEST_CASE(a_model_that_no_checkpoint_holds_is_refused) {
  const few_texts data;
  const overrides large = {{"model.embedding", "16384"}, {"model.hidden", "16384"}};
  const std::string why = " parameters, and a checkpoint holds at most 134217727; make it smaller (model.*)";
  BOOST_TEST(data.fit_with({4, 4}, large).find(why) != std::string::npos, data.fit_with({4, 4}, large));
  BOOST_TEST(data.fit_with({4, 4}, {}).find(why) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_client_that_joins_and_leaves_does_one_of_them_first) {
  const testing::temporary_directory data;
  const auto with = [&](const std::string& join, const std::string& leave) {
    return fitted(testing::valid_scenario() + "[[event]]\nat = \"round 3\"\nleave = " + leave +
                      "\n[[event]]\nat = \"5s\"\njoin = " + join + "\n",
                  data.path(), {});
  };
  BOOST_TEST(with("\"5-12\"", "\"0-9\"")
                 .ends_with("event[1].at: is a round, and another event has client 5 join at a time: which of them "
                            "comes first is not known; "
                            "write both with times, or both with rounds"));
  BOOST_TEST(with("0.5", "0.5").find("which of them comes first") != std::string::npos);
  BOOST_TEST(with("\"10-12\"", "\"0-9\"").find("comes first") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(an_event_names_clients_that_there_are) {
  for (const auto& [client, why] : {std::pair("49", ""),
                                    {"50",
                                     "event[1].leave: names client 50, and there are 50; they are numbered from "
                                     "0 to 49"}}) {
    const auto text = testing::valid_scenario() + "\n[[event]]\nat = \"round 1\"\nleave = \"" + client + "\"\n";
    auto read = parse_scenario_text(text, "t.toml");
    BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
    const auto fitted = fit(*read, *load_data(*read));
    BOOST_TEST(testing::text_of(fitted).find(why) != std::string::npos, testing::text_of(fitted));
    BOOST_TEST(fitted.has_value() == (*why == '\0'));
  }
}

BOOST_AUTO_TEST_CASE(fedrecon_needs_a_second_batch) {
  const few_texts data;
  const std::string why = ": all are in one batch, which leaves no query batch to learn from; ";
  const setting_override one{"algorithm.client.batch_size", "1"};
  BOOST_TEST(data.fit_with({4, 3}, {fedrecon}) ==
             "t.toml:15:24: algorithm.client.batch_size: is 4, and no client has more than 4 examples" + why +
                 "set it below 4, or algorithm.reconstruction.split = false");
  BOOST_TEST(data.fit_with({4, 3}, {fedrecon, one, {"data.max_examples", "1"}})
                 .ends_with("is 1, and no client has more than 1 example" + why +
                            "set algorithm.reconstruction.split = false, or give clients more examples"));
  for (const overrides& enough : {overrides{fedrecon, one},
                                  {fedrecon, {"algorithm.reconstruction.split", "false"}},
                                  {{"algorithm.kind", "furl"}}})
    BOOST_TEST(data.fit_with({4, 3}, enough) == "");
  BOOST_TEST(data.fit_with({1, 5}, {fedrecon}) == "");
}

BOOST_AUTO_TEST_CASE(shares_of_users_that_come_to_nobody_are_noted) {
  const few_texts data;
  const setting_override few{"data.unseen_users.test", "0.01"};
  BOOST_TEST(data.fit_with({9, 9, 9, 9}, {few}) ==
             "data.unseen_users.test = 0.01 of 4 users holds out nobody: the group unseen is not scored; raise it\n");
  BOOST_TEST(data.fit_with({9, 9, 9, 9}, {{"data.unseen_users.test", "0.25"}}) == "");
  BOOST_TEST(
      data.fit_with({9, 9, 9, 9}, {{"data.unseen_users.validation", "0.1"}}) ==
      "data.unseen_users.validation = 0.1 of 4 users holds out nobody: the group validation is not scored; raise "
      "it\n");
  BOOST_TEST(
      data.fit_with({9, 9, 9, 9}, {{"data.unseen_users.validation", "0.1"}, {"data.split", "[0.8, 0.2, 0]"}}) ==
      "data.unseen_users.validation = 0.1 of 4 users holds out nobody: the group validation is scored on clients "
      "that train; raise it\n");
}

BOOST_AUTO_TEST_CASE(unseen_clients_with_support_alone_are_not_scored) {
  const few_texts data;
  const setting_override held{"data.unseen_users.test", "0.5"};
  const setting_override cold{"private.cold_start", "reconstruct"};
  const std::string why =
      "the group unseen is not scored: no client of it has two examples, one to adapt to and one to score; give "
      "clients "
      "more examples";
  const setting_override one{"data.max_examples", "1"};
  BOOST_TEST(data.fit_with({9, 9}, {held, cold, one}).starts_with(why + "\n"));
  for (const char* size : {"0", "1000"})
    BOOST_TEST(data.fit_with({9, 9}, {held, cold, {"algorithm.client.batch_size", size}}) == "");
  const setting_override fedavg{"algorithm.kind", "fedavg"};
  const setting_override all_shared{"model", "{user_embedding = 0, private = []}"};
  BOOST_TEST(data.fit_with({9, 9}, {held, fedavg, all_shared, one, {"evaluation.split", "true"}})
                 .starts_with(why + ", or remove evaluation.split\n"));
  for (const overrides& scored : {overrides{fedavg, all_shared}, {}, {{"evaluation.split", "false"}}}) {
    auto changes = scored;
    changes.insert(changes.end(), {held, one});
    BOOST_TEST(data.fit_with({9, 9}, changes).find("is not scored") == std::string::npos);
  }
}

BOOST_AUTO_TEST_CASE(parts_of_few_examples_are_empty) {
  const few_texts data;
  const setting_override split{"data.split", "[0.8, 0.1, 0.1]"};
  const std::string why =
      " is not scored: no client has an example for it; raise its share of data.split, or give "
      "clients more examples\n";
  BOOST_TEST(data.fit_with({1, 1}, {split}) == "the group validation" + why + "the group seen" + why);
  BOOST_TEST(data.fit_with({9, 9}, {split, {"data.max_examples", "1"}}) ==
             "the group validation" + why + "the group seen" + why);
  BOOST_TEST(data.fit_with({9, 10}, {split}) == "");
}

// Ratings are noted likewise, though the options of their source tell which groups there are.
BOOST_AUTO_TEST_CASE(groups_of_ratings_are_noted_too) {
  BOOST_TEST(fitted(testing::valid_scenario(), ".", {}) == "");
  BOOST_TEST(fitted(testing::valid_scenario(), ".", {{"data.unseen_users.test", "0.001"}})
                 .starts_with("data.unseen_users.test = 0.001 of 50 users holds out nobody"));
}

BOOST_AUTO_TEST_CASE(examples_of_figures_are_figures_of_the_model) {
  const auto problem = [](const std::string& data, const std::string& kind, const std::string& target) {
    return testing::text_of(parse_scenario_text("[scenario]\nname = \"t\"\nrounds = 2\n[data]\n" + data +
                                                    "[model]\nkind = \"" + kind +
                                                    "\"\n[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = "
                                                    "1\n[evaluation]\nevery = 1\ntarget = " +
                                                    target + "\n",
                                                "t.toml"));
  };
  const std::string words = "source = \"text\"\nclients = 2\n";
  const std::string missing = "{at_most = 9}";
  BOOST_TEST(problem(words, "gru-lm", missing).ends_with("is missing; add metric = \"unseen.perplexity\""));
  BOOST_TEST(problem(words, "gru-lm", "{}")
                 .ends_with("names no figure; write {metric = \"unseen.perplexity\", at_most = 100}"));
  BOOST_TEST(problem("source = \"labelled-text\"\n", "doc-classifier", missing)
                 .ends_with("is missing; add metric = \"seen.accuracy\""));
  BOOST_TEST(problem("source = \"labelled-text\"\npositive = \"x\"\n", "doc-classifier", "{}")
                 .ends_with("names no figure; write {metric = \"seen.auc\", at_least = 0.9}"));
  BOOST_TEST(problem("source = \"synthetic-ratings\"\nunseen_users = {test = 0.1}\n", "matrix-factorization", missing)
                 .ends_with("is missing; add metric = \"unseen.rmse\""));
}

BOOST_AUTO_TEST_CASE(tensors_of_other_models_are_told_as_theirs) {
  const auto problem = [](const std::string& tensor) {
    return testing::text_of(parse_scenario_text(classifier, "t.toml", {{"model.private", "['" + tensor + "']"}}));
  };
  const auto why = problem("oov_embedding");
  BOOST_TEST(why.find("the model has no tensor \"oov_embedding\"; it has user, embedding, ") != std::string::npos, why);
  BOOST_TEST(why.ends_with("; only lstm-nwp has it: name another one, or remove it"), why);
  BOOST_TEST(
      problem("user_bias")
          .ends_with("; only matrix-factorization and logistic-regression have it: name another one, or remove it"));
  BOOST_TEST(problem("embeding").ends_with("; did you mean \"embedding\"?"));
}

BOOST_AUTO_TEST_CASE(updates_that_are_larger_than_the_model_are_noted) {
  const auto notes = [](const overrides& more) {
    overrides changes{{"algorithm.kind", "als"}};
    changes.insert(changes.end(), more.begin(), more.end());
    return fitted(testing::valid_scenario(), ".", changes);
  };
  // Rank 4: 10 products, 4 moments and the count.
  const auto sparse = notes({});
  BOOST_TEST(
      sparse.find("an update of als has 60 bytes for each row that a client's examples name, ") != std::string::npos,
      sparse);
  const auto dense = notes({{"network.upload", "dense"}});
  BOOST_TEST(
      dense.find("an update of als has 3600 bytes; network.upload = \"sparse\" sends only rows") != std::string::npos,
      dense);
  BOOST_TEST(fitted(testing::valid_scenario(), ".", {}).find("an update of") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(attacks_must_change_what_updates_have) {
  const auto with = [](const char* attack) {
    return fitted(testing::valid_scenario(), ".", {{"algorithm.kind", "als"}, {"attack.kind", attack}});
  };
  for (const auto* attack : {"sign-flip", "gaussian", "mimic", "ipm"})
    testing::check_says(with(attack), "attack.kind: changes what updates have of the model, and those of als have");
  BOOST_TEST(with("label-flip").find("attack.kind") == std::string::npos);
}

// Under keys other than participation.per_round the size of a round is known from the data, or that of a version is
// meant.
BOOST_AUTO_TEST_CASE(rounds_of_too_few_updates_for_what_is_tolerated_are_refused) {
  const auto with = [](const char* rule, const char* tolerate, overrides changes) {
    changes.insert(changes.end(), {{"algorithm.aggregation.rule", rule}, {"algorithm.aggregation.tolerate", tolerate}});
    return fitted(fraction_scenario(), ".", changes);
  };
  const overrides tenth = {{"participation.fraction", "0.1"}};  // 5 of 50
  BOOST_TEST(with("median", "2", tenth).find("tolerate") == std::string::npos);
  testing::check_says(with("median", "3", tenth),
                      "participation.fraction: gives 5 updates a round, and median needs 7 to tolerate 3 bad updates");
  testing::check_says(with("arc", "3", tenth), "gives 5 updates a round, and arc needs 7 to tolerate 3 bad updates");
  testing::check_says(with("buckets", "3", tenth),
                      "participation.fraction: gives 5 buckets a round, and buckets needs 7");
  testing::check_says(with("buckets", "0.4", {{"participation.fraction", "1.0"}}),
                      "algorithm.aggregation.buckets: gives 10 buckets a round, and buckets needs 41");
  testing::check_says(
      with("arc", "3",
           {{"participation.mode", "async"}, {"participation.buffer", "5"}, {"participation.concurrency", "8"}}),
      "participation.buffer: gives 5 updates a round, and arc needs 7");
}

BOOST_AUTO_TEST_CASE(bad_clients_must_train) {
  const few_texts data;
  const setting_override attack{"attack.kind", "sign-flip"};
  BOOST_TEST(data.fit_with({4, 5, 6}, {attack, {"attack.list", "[0, 2]"}}).find("attack.list") == std::string::npos);
  testing::check_says(data.fit_with({4, 5, 6}, {attack, {"attack.list", "[0, 3]"}}),
                      "attack.list: names client 3, which does not train; name clients that do");
  testing::check_says(data.fit_with({4, 5, 6}, {attack, {"attack.clients", "4"}}),
                      "attack.clients: is 4, and 3 clients can train; lower it");
}

BOOST_AUTO_TEST_CASE(what_an_attack_names_is_looked_up_in_the_data) {
  const auto with = [](const char* target) {
    return fitted(testing::valid_scenario(), ".", {{"attack.kind", "promote-item"}, {"attack.target", target}});
  };
  BOOST_TEST(with("['7']").find("attack.target") == std::string::npos);
  testing::check_says(with("['7', '60']"),
                      "attack.target: has \"60\", which is no item, word or feature of the data; name them as");
}

BOOST_AUTO_TEST_CASE(trusted_clients_must_train_and_may_be_absent) {
  const few_texts data;
  const setting_override rule{"algorithm.aggregation.rule", "fltrust"};
  testing::check_says(data.fit_with({4, 5, 6}, {rule, {"algorithm.aggregation.root", "[0, 3]"}}),
                      "algorithm.aggregation.root: names client 3, which does not train; name clients that do");
  const auto some = fitted(testing::valid_scenario(), ".", {rule, {"algorithm.aggregation.root", "[0]"}});
  testing::check_says(some, "clients are trusted: a uniform draw of 10 has none of them with probability 0.");
}

BOOST_AUTO_TEST_SUITE_END()
