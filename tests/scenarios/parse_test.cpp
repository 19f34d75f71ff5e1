#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <set>

#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "scenarios/schema/schema.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(parsing)

using namespace furlong;
using namespace furlong::scenarios;
using testing::parsed;
using testing::problems_with;
using testing::valid_scenario;

namespace {

/// Another value that the option allows, as TOML; empty where nobody can tell one.
std::string other_value(const option_spec& option, const option_value& now) {
  switch (option.type) {
    case option_type::boolean: return std::get<bool>(now) ? "false" : "true";
    case option_type::integer: {
      const auto value = std::get<std::int64_t>(now);
      return std::to_string(static_cast<double>(value) < option.at_most ? value + 1 : value - 1);
    }
    case option_type::number: {
      const double value = std::get<double>(now);
      const double up = value + 0.25;
      return std::to_string(up <= option.at_most ? up : (value + std::max(option.at_least, -1.0)) / 2);
    }
    case option_type::choice:
      for (const auto& choice : option.choices)
        if (choice != std::get<std::string>(now)) return choice;
      return "";
    default: return "";
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(defaults_are_those_of_the_settings) {
  const auto read = parsed();
  const federated::run_settings fresh;
  BOOST_TEST(read.name == "valid");
  BOOST_TEST(read.settings.seed == 1U);
  BOOST_TEST((read.settings.algorithm->kind == "furl"));
  BOOST_TEST(read.records.empty());
  BOOST_TEST(read.settings.client->lr == fresh.client->lr);
  BOOST_TEST(read.settings.client->batch_size == fresh.client->batch_size);
  BOOST_TEST(read.settings.server->beta2 == fresh.server->beta2);
  BOOST_TEST(read.settings.aggregation->max_weight == fresh.aggregation->max_weight);
  BOOST_TEST((read.settings.reconstruction->solver == fresh.reconstruction->solver));
  BOOST_TEST((read.private_tensors == std::vector<std::string>{"user"}));
  BOOST_TEST((read.settings.evaluation->reconstruct == std::vector<std::string>{"user"}));
  BOOST_TEST(read.data.integer("seed") == 1);  // as the scenario's
  BOOST_TEST(read.data.integer("users") == 50);
  BOOST_TEST(read.model.integer("rank") == 4);
  BOOST_TEST(read.notes.empty());
}

BOOST_AUTO_TEST_CASE(every_key_of_the_settings_reaches_them_and_survives_the_round_trip) {
  const auto before = parsed();
  const auto keys = schema_keys(find_dataset("synthetic-ratings"), models::find_model("matrix-factorization"));
  std::size_t tried = 0;
  for (const auto& key : keys) {
    const auto& name = key.option.name;
    const auto at = before.values.all().find(name);
    if (at == before.values.all().end() || name == "data.source" || name == "model.kind" || name == "algorithm.kind")
      continue;
    const auto other = other_value(key.option, at->second);
    if (other.empty()) continue;
    auto overrides = std::vector<setting_override>{{name, other}};
    if (name == "privacy.noise" || name == "privacy.target_epsilon")  // legal only so
      overrides.insert(overrides.end(), {{"privacy.clip", "1.0"}, {"algorithm.aggregation.rule", "uniform-mean"}});
    if (name == "privacy.target_epsilon") overrides.push_back({"privacy.noise", "1.0"});
    if (name == "privacy.clip_quantile") overrides.push_back({"privacy.clip", "1.0"});
    if (name == "privacy.secure_aggregation") overrides.push_back({"algorithm.aggregation.rule", "uniform-mean"});
    if (name == "evaluation.select") overrides.push_back({"data.split", "[0.8, 0.1, 0.1]"});
    if (name == "evaluation.attention") overrides.push_back({"algorithm.aggregation.rule", "fedatt"});
    if (name == "model.loss") overrides.push_back({"data.feedback", "implicit"});
    if (name == "model.user_table") overrides.push_back({"algorithm.kind", "fedavg"});
    BOOST_TEST_CONTEXT(name << " = " << other) {
      const auto after = parsed(overrides);
      BOOST_TEST((after.values.all().find(name)->second != at->second));
      BOOST_TEST(resolved_toml(after) != resolved_toml(before));
      const auto again = parse_scenario_text(resolved_toml(after), "resolved.toml");
      BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
      BOOST_TEST(resolved_toml(*again) == resolved_toml(after));
      BOOST_TEST(run_id(*again) == run_id(after));
      if (overrides.size() == 1) BOOST_TEST((run_id(after) == run_id(before)) == !key.identity);
    }
    ++tried;
  }
  BOOST_TEST(tried > 50U);
}

BOOST_AUTO_TEST_CASE(no_key_is_described_twice) {
  for (const auto& source : registered_datasets())
    for (const auto& kind : models::registered_models()) {
      std::set<std::string> names;
      for (const auto& key : schema_keys(&source, &kind))
        BOOST_TEST(names.insert(key.option.name).second, key.option.name);
    }
}

BOOST_AUTO_TEST_CASE(values_arrive_in_their_fields) {
  const auto read = parsed({{"algorithm.client", "{lr = 0.5, momentum = 0.25, proximal = 2, max_steps = 50}"},
                            {"algorithm.reconstruction", "{solver = 'least-squares', ridge = 3, split = false}"},
                            {"algorithm.server", "{optimizer = 'yogi', lr = 0.01, eps = 1e-4}"},
                            {"algorithm.aggregation", "{rule = 'fedatt', eps = 1.2, noise_at = 'server'}"},
                            {"private.cold_start", "reconstruct"},
                            {"topology.aggregators", "3"},
                            {"topology.fan_in", "5"},
                            {"network.upload", "sparse"},
                            {"network.compression", "int8+zstd"},
                            {"network.max_message", "3000000"},
                            {"network.trust", "operator"},
                            {"checkpoint.every", "7"},
                            {"scenario.seed", "9223372036854775807"}});
  const auto& s = read.settings;
  BOOST_TEST(s.client->lr == 0.5F);
  BOOST_TEST(s.client->momentum == 0.25F);
  BOOST_TEST(s.client->proximal == 2.0F);
  BOOST_TEST(s.client->max_steps == 50U);
  BOOST_TEST((s.reconstruction->solver == federated::solver_kind::least_squares));
  BOOST_TEST(s.reconstruction->ridge == 3.0F);
  BOOST_TEST(!s.reconstruction->split);
  BOOST_TEST((s.server->optimizer == federated::optimizer_kind::yogi));
  BOOST_TEST(s.server->eps == 1e-4);
  BOOST_TEST((s.aggregation->rule.kind == "fedatt"));
  BOOST_TEST((s.aggregation->noise_at == federated::noise_place::server));
  BOOST_TEST((s.own->cold_start == federated::cold_start_kind::reconstruct));
  BOOST_TEST(s.topology->aggregators == 3U);
  BOOST_TEST(s.topology->fan_in == 5U);
  BOOST_TEST(s.network->sparse_upload);
  BOOST_TEST((s.network->compression == federated::compression_settings{federated::number_format::int8, true}));
  BOOST_TEST(s.network->max_message == 3'000'000U);
  BOOST_TEST(s.network->operator_trust);
  BOOST_TEST(s.checkpoint_every == 7U);
  BOOST_TEST(s.seed == 9223372036854775807U);
}

// What changes a result is part of a run's identity; how the same numbers are packed is not.
BOOST_AUTO_TEST_CASE(rounding_is_part_of_the_identity_and_zstd_is_not) {
  const auto id = [](const std::string& compression, const std::string& upload = "dense") {
    return run_id(parsed({{"network.compression", compression}, {"network.upload", upload}}));
  };
  BOOST_TEST(id("none") == run_id(parsed()));
  BOOST_TEST(id("zstd") == id("none"));
  BOOST_TEST(id("zstd", "sparse") == id("none"));
  BOOST_TEST(id("float16") != id("none"));
  BOOST_TEST(id("int8") != id("float16"));
  BOOST_TEST(id("int8+zstd") == id("int8"));
  BOOST_TEST(id("float16+zstd") == id("float16"));
  BOOST_TEST(id("int8", "sparse") != id("int8"));  // numbers share scales as they travel
}

BOOST_AUTO_TEST_CASE(a_star_stands_for_all_tensors) {
  const auto all = parsed({{"algorithm.kind", "fedavg"}, {"evaluation.reconstruct", "['*']"}});
  BOOST_TEST((all.settings.evaluation->reconstruct == std::vector<std::string>{"user", "item"}));
}

BOOST_AUTO_TEST_CASE(one_line_selects_the_algorithm) {
  const auto furl = parsed();
  const auto fedrecon = parsed({{"algorithm.kind", "fedrecon"}});
  const auto fedavg = parsed({{"algorithm.kind", "fedavg"}});
  BOOST_TEST((fedrecon.private_tensors == furl.private_tensors));
  BOOST_TEST((fedrecon.settings.algorithm->kind == "fedrecon"));
  BOOST_TEST(fedavg.private_tensors.empty());
  BOOST_TEST(fedavg.settings.evaluation->reconstruct.empty());
  BOOST_REQUIRE(fedavg.notes.size() == 1);
  BOOST_TEST(fedavg.notes[0] == "model.private has no effect: fedavg shares all tensors");
  const auto fedatt = parsed({{"algorithm.kind", "fedatt"}});
  BOOST_TEST((fedatt.settings.algorithm->kind == "fedavg"));
  BOOST_TEST((fedatt.settings.aggregation->rule.kind == "fedatt"));
  BOOST_REQUIRE(fedatt.notes.size() == 1);
  BOOST_TEST(fedatt.notes[0] == "model.private has no effect: fedatt shares all tensors");
  const auto centralized = parsed({{"algorithm.kind", "centralized"}, {"model.user_table", "true"}});
  BOOST_TEST((centralized.settings.evaluation->reconstruct == std::vector<std::string>{"user"}));
  BOOST_TEST((centralized.settings.aggregation->rule.kind == "uniform-mean"));
}

BOOST_AUTO_TEST_CASE(a_key_that_is_written_twice_is_refused_however_it_is_quoted) {
  const auto message = [](const std::string& text) { return testing::text_of(parse_scenario_text(text, "f.toml")); };
  BOOST_TEST(message("[algorithm]\n\"client.lr\" = 0.5\nclient = {lr = 0.1}\n") ==
             "f.toml:3:11: not TOML: the key algorithm.client.lr is written twice");
  BOOST_TEST(message("\"scenario.seed\" = 9\n[scenario]\nseed = 1\n") ==
             "f.toml:3:1: not TOML: the key scenario.seed is written twice");
}

BOOST_AUTO_TEST_CASE(tables_within_tables_end_somewhere) {
  std::string key = "a";
  for (int i = 0; i < 200; ++i) key += ".a";
  const auto why = testing::text_of(parse_scenario_text("[scenario]\nname = \"x\"\n[" + key + "]\nb = 1\n", "f.toml"));
  BOOST_TEST(why.find("a: unknown table") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(texts_survive_quoting) {
  const std::string strange = "tab\t, quote \", backslash \\, bell \a, \xC3\xA9";
  auto text = valid_scenario();
  const auto read = parse_scenario_text(
      R"([scenario]
name = "m"
rounds = 1
[data]
source = "movielens"
path = "tab\t, quote \", backslash \\, bell \u0007, )"
      "\xC3\xA9\"\n[model]\nkind = \"matrix-factorization\"\nprivate = [\"user\"]\n[algorithm]\nkind = \"furl\"\n"
      "[participation]\nfraction = 0.1\n",
      "m.toml");
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(read->data.text("path") == strange);
  const auto again = parse_scenario_text(resolved_toml(*read), "again.toml");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(again->data.text("path") == strange);
}

BOOST_AUTO_TEST_CASE(the_run_id_ignores_what_may_change_on_resuming_and_nothing_else) {
  const auto id = run_id(parsed());
  BOOST_TEST(run_id(parsed({{"scenario.rounds", "20"}})) == id);
  BOOST_TEST(run_id(parsed({{"evaluation.every", "3"}})) == id);
  BOOST_TEST(run_id(parsed({{"topology.aggregators", "3"}})) == id);
  BOOST_TEST(run_id(parsed({{"scenario.seed", "2"}})) != id);
  BOOST_TEST(run_id(parsed({{"algorithm.client.lr", "0.2"}})) != id);
  BOOST_TEST(run_id(parsed({{"participation.per_round", "11"}})) != id);
  const setting_override linear{"algorithm.client.schedule", "linear"};  // makes the number of rounds matter
  BOOST_TEST(run_id(parsed({linear, {"scenario.rounds", "20"}})) != run_id(parsed({linear})));
  BOOST_TEST(run_id(parsed({linear, {"evaluation.every", "3"}})) == run_id(parsed({linear})));
}

BOOST_AUTO_TEST_CASE(fitting_to_the_data_settles_rounds_and_cohorts) {
  auto by_epochs = parsed({{"scenario.epochs", "3"}, {"data.unseen_users.test", "0.1"}});  // 45 users train
  const auto data = load_data(by_epochs);
  BOOST_REQUIRE(data.has_value());
  BOOST_REQUIRE(fit(by_epochs, *data).has_value());
  BOOST_TEST(by_epochs.settings.rounds == 14U);  // 3 * 45 / 10, rounded up
  auto by_share = parsed({{"participation.fraction", "0.25"}});
  BOOST_REQUIRE(fit(by_share, *data).has_value());
  BOOST_TEST(by_share.settings.participation->per_round == 11U);
  BOOST_TEST(by_share.settings.rounds == 10U);
  auto tiny = parsed({{"participation.fraction", "0.0001"}});
  BOOST_REQUIRE(fit(tiny, *data).has_value());
  BOOST_TEST(tiny.settings.participation->per_round == 1U);
  auto central = parsed({{"algorithm.kind", "centralized"}, {"scenario.epochs", "3"}});
  BOOST_REQUIRE(fit(central, *data).has_value());
  BOOST_TEST(central.settings.rounds == 3U);
  BOOST_TEST(central.settings.participation->per_round == 1U);
  auto large = parsed({{"participation.per_round", "46"}});
  const auto refused = fit(large, *data);
  BOOST_REQUIRE(!refused.has_value());
  BOOST_TEST(refused.error().text() ==
             "--set participation.per_round: is 46, and 45 clients can train; lower it to 45");
}

BOOST_AUTO_TEST_CASE(classes_need_a_threshold_and_then_work) {
  BOOST_TEST(problems_with({{"data.binarize", "4"}}) ==
             "valid.toml:12:8: model.kind: matrix-factorization needs ratings, and the data has none; choose a "
             "classifier or a "
             "dataset of ratings");
  auto logistic = valid_scenario();
  logistic.replace(logistic.find("kind = \"matrix-factorization\"\nrank = 4"), 38, "kind = \"logistic-regression\"");
  logistic.replace(logistic.find("private = [\"user\"]"), 18, "user_bias = true\nprivate = [\"user_bias\"]");
  auto classes = parse_scenario_text(logistic, "classes.toml", {{"data.binarize", "4"}});
  BOOST_REQUIRE(classes.has_value());
  const auto data = load_data(*classes);
  BOOST_REQUIRE(data.has_value());
  BOOST_TEST((data->clients->facts().labels == models::objective::logistic));
  BOOST_TEST(build_model(*classes, *data).has_value());
  const auto clipped = parse_scenario_text(logistic, "c.toml", {{"data.binarize", "4"}, {"evaluation.clip", "true"}});
  BOOST_REQUIRE(!clipped.has_value());
  BOOST_TEST(clipped.error()[0].text() ==
             "--set evaluation.clip: clips ratings, and the model predicts classes; remove it");
}

BOOST_AUTO_TEST_CASE(the_committed_scenarios_are_valid) {
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("scenarios")) {
    if (entry.path().extension() != ".toml") continue;
    ++count;
    const auto read = parse_scenario(entry.path());
    BOOST_TEST_CONTEXT(entry.path().string()) {
      BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
      BOOST_TEST(read->name == entry.path().stem().string());
      for (const auto& note : read->notes)
        BOOST_TEST((note.find("one table over all clients") != std::string::npos ||
                    note.find("2018") != std::string::npos ||
                    note.find("a single update of als") != std::string::npos ||
                    note.find("a single update of ials") != std::string::npos ||
                    note.find("an update of popularity") != std::string::npos));
      const auto small = parse_scenario(entry.path(), {}, variant::smoke);
      BOOST_REQUIRE_MESSAGE(small.has_value(), testing::text_of(small));
      BOOST_TEST(small->has_smoke);
      BOOST_TEST(!small->expectations.empty());
      for (const auto& expected : read->expectations)
        if (expected.kind == expectation_kind::within) BOOST_TEST(std::filesystem::exists(expected.baseline));
    }
  }
  BOOST_TEST(count >= 9U);
  for (const auto& entry : federated::registered_algorithms())
    BOOST_TEST(parse_scenario("scenarios/quickstart.toml", {{"algorithm.kind", entry.kind}}).has_value() ==
               (entry.kind != "fedsgd" && entry.kind != "python" &&  // no second epoch; needs a class
                !entry.traits.implicit));                            // the data are ratings
}

BOOST_AUTO_TEST_CASE(fedper_is_furl_and_the_private_learning_rate_that_of_the_client_by_default) {
  const auto identity = [](const std::vector<setting_override>& overrides) {
    return run_id(parse_scenario("scenarios/quickstart.toml", overrides).value());
  };
  const setting_override furl{"algorithm.kind", "furl"};
  const auto plain = identity({furl});
  BOOST_TEST(identity({{"algorithm.kind", "fedper"}}) == plain);
  BOOST_TEST(identity({furl, {"algorithm.furl.private_lr", "0.1"}}) == plain);  // that of the file's client
  BOOST_TEST(identity({furl, {"algorithm.furl.private_lr", "0.2"}}) != plain);
  const auto faster = parsed({furl, {"algorithm.client.lr", "0.3"}});
  BOOST_TEST(faster.values.number("algorithm.furl.private_lr") == 0.3);
  BOOST_TEST(parsed({{"algorithm.kind", "fedbabu"}}).settings.reconstruction->epochs == 5U);
  BOOST_TEST(identity({{"algorithm.kind", "fedper"}, {"algorithm.furl.private_lr", "0.2"}}) != plain);
}

// Each part of a key is a table in another, and their parser and destructor call themselves.
BOOST_AUTO_TEST_CASE(a_key_of_very_many_parts_is_refused) {
  std::string parts = "a";
  for (int i = 0; i < 100'000; ++i) parts += ".a";
  for (const auto& text : {"[scenario]\n[" + parts + "]\n", "\n" + parts + " = 1\n", "\nx = {" + parts + " = 1}\n"}) {
    const auto read = parse_scenario_text(text, "deep.toml");
    BOOST_REQUIRE(!read.has_value());
    BOOST_TEST(read.error().front().text().find("a key has more than 256 parts") != std::string::npos,
               read.error().front().text());
    BOOST_TEST(read.error().front().line == 2U);
  }
  auto named = valid_scenario();
  named.insert(named.find("[data]"), "# " + std::string(300, '.') + "\n");
  BOOST_TEST(parse_scenario_text(named, "dots.toml").has_value());
}

BOOST_AUTO_TEST_CASE(the_reference_names_every_key_dataset_and_model) {
  const auto text = scenario_reference_markdown();
  const auto has = [&](const std::string& part) { return text.find(part) != std::string::npos; };
  for (const auto& entry : registered_datasets()) {
    BOOST_TEST(has("### source = \"" + entry.kind + "\""));
    for (const auto& option : entry.options) BOOST_TEST(has("| `" + option.name + "` |"), option.name);
  }
  for (const auto& entry : models::registered_models())
    for (const auto& option : entry.options) BOOST_TEST(has("| `" + option.name + "` |"), option.name);
  for (const auto& key : schema_keys(nullptr, nullptr)) {
    BOOST_TEST(has("| `" + std::string(leaf_of(key.option.name)) + "` |"), key.option.name);
    BOOST_TEST(has("## [" + std::string(table_of(key.option.name)) + "]"));
    BOOST_TEST(!key.option.doc.empty());
  }
  BOOST_TEST(has("| `lr` | number | `0.1` | above 0 | Learning rate of local training. |"));
}

BOOST_AUTO_TEST_SUITE_END()
