// What a node believes of a server's scenario. Nothing here has files to open: refusals come before that.
#include "scenarios/schema/node_scenario.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "scenarios/schema/run_terms.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(node_scenarios)

using namespace furlong;
using namespace furlong::scenarios;
using testing::valid_scenario;

namespace {

/// The valid scenario with more in [data] or at its end.
std::string with(const std::string& more, const std::string& in_data = {}) {
  auto text = valid_scenario();
  const std::string after = "users = 50\n";
  text.insert(text.find(after) + after.size(), in_data);
  return text + more;
}

std::string hosted(const std::string& more = {}) {
  auto text = valid_scenario();
  const std::string old = "source = \"synthetic-ratings\"\nusers = 50\nitems = 60\nratings_per_user = 20\n";
  return text.replace(text.find(old), old.size(), "source = \"hosted-ratings\"\nusers = 50\nitems = 60\n" + more);
}

std::string refusal(const std::string& text) { return testing::text_of(parse_node_scenario(text)); }

scenario believed(const std::string& text) {
  auto read = parse_node_scenario(text);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  return *read;
}

std::string size_problem(const std::string& text, const models::data_facts& facts) {
  return testing::text_of(check_size(believed(text), facts));
}

constexpr models::data_facts facts{60, 50, models::objective::squared_error};
constexpr const char* mistrust = "; trust another server";

}  // namespace

BOOST_AUTO_TEST_CASE(what_a_server_sends_is_believed_and_means_the_same) {
  const auto path = std::string("path = \"somewhere\"\nsplit = [0.8, 0.1, 0.1]\n");
  auto own = *parse_scenario_text(hosted(path), "own.toml");
  BOOST_REQUIRE(fit(own, *load_outline(own)).has_value());
  const auto text = node_toml(own);
  BOOST_TEST(text.find("somewhere") == std::string::npos);
  const auto got = believed(text);
  BOOST_TEST(check_size(got, facts).has_value());
  BOOST_TEST(got.values.integer("participation.per_round") == 10);
  BOOST_TEST(got.values.integer("scenario.rounds") == 10);
  BOOST_TEST((got.data.numbers("split") == own.data.numbers("split")));
  BOOST_TEST(!got.data.has("path"));
}

// A node does not hear of the policy: the most clients of a round are a cohort that it accepts.
BOOST_AUTO_TEST_CASE(a_cohort_that_is_drawn_is_told_as_its_largest_size) {
  auto text = valid_scenario();
  text.replace(text.find("per_round = 10\n"), 15, "policy = \"poisson\"\nrate = 0.1\n");
  auto own = *parse_scenario_text(text, "own.toml");
  BOOST_REQUIRE(fit(own, *load_outline(own)).has_value());
  const auto got = believed(node_toml(own));
  BOOST_TEST(got.values.integer("participation.per_round") == own.settings.participation->per_round);
  BOOST_TEST(check_size(got, facts).has_value());
}

BOOST_AUTO_TEST_CASE(a_scenario_that_names_files_is_refused) {
  const std::string names = "the server's scenario: names a file of this machine in ";
  BOOST_TEST(refusal(hosted("path = \"/etc\"\n")) == names + "data.path" + mistrust);
  BOOST_TEST(refusal(with("[private]\nkey_file = \"/etc/shadow\"\n")) == names + "private.key_file" + mistrust);
  BOOST_TEST(refusal(with("[devices]\navailability = \"/etc/trace.csv\"\n")) ==
             names + "devices.availability.trace" + mistrust);
  BOOST_TEST(refusal(with("[devices]\ntable = \"/etc/table.csv\"\n")) == names + "devices.table" + mistrust);
  BOOST_TEST(refusal(with("[evaluation]\nclient_groups = \"/etc/groups.csv\"\n")) ==
             names + "evaluation.client_groups" + mistrust);
  BOOST_TEST(refusal(with("[python]\nprofile = \"/root\"\n")) == names + "python.profile" + mistrust);
  BOOST_TEST(refusal(with("[python]\ndevices = [\"cuda:0\"]\n")) ==
             "the server's scenario: names devices of this machine in python.devices" + std::string(mistrust));
  const std::string tables = "the server's scenario: has a table [smoke] or [expect], which are not for nodes";
  BOOST_TEST(refusal(with("[expect]\n\"eval.unseen.rmse\" = {within = 0.1, baseline = \"/etc/passwd\"}\n")) ==
             tables + mistrust);
  BOOST_TEST(refusal(hosted() + "[smoke]\n\"data.path\" = \"/etc\"\n") == tables + mistrust);
}

BOOST_AUTO_TEST_CASE(a_scenario_that_is_none_is_refused_with_its_first_problem) {
  const auto starts = [](const std::string& text, const std::string& with) {
    BOOST_TEST(refusal(text).starts_with("the server's scenario:" + with), refusal(text));
  };
  starts("[scenario", "1:");
  starts("", " ");
  starts(with("", "pathh = \"/etc\"\n"), "8:1: data.pathh: unknown key");
  starts(with("[system]\nexec = \"rm\"\n"), "21:");
  BOOST_TEST(refusal(with("[system]\nexec = \"rm\"\n")).find("system: unknown table; trust another server") !=
             std::string::npos);
  auto other = valid_scenario();
  other.replace(other.find("synthetic-ratings"), 17, "sqlite");
  starts(other, "6:10: data.source: ");
  starts(with("", "users = 60\n"), "8:");
  for (const std::string& huge :
       {hosted("max_examples = 1e300\n"), hosted("max_examples = 99999999999999999999\n"), hosted("split_seed = -1\n")})
    BOOST_TEST(!parse_node_scenario(huge).has_value());
}

BOOST_AUTO_TEST_CASE(absurd_sizes_are_refused_before_anything_is_made) {
  auto many = hosted();
  many.replace(many.find("users = 50"), 10, "users = 1000000000000");
  BOOST_TEST(refusal(many).find("data.users: ") != std::string::npos);
  // 100 million generated users with ten million ratings each.
  auto generated = valid_scenario();
  const std::string old = "users = 50\nitems = 60\nratings_per_user = 20\n";
  generated.replace(generated.find(old), old.size(),
                    "users = 100000000\nitems = 10000000\nratings_per_user = 10000000\ngenerate = \"ahead\"\n");
  BOOST_TEST(size_problem(generated, facts)
                 .starts_with("the server's scenario: its data would take 14.2 PiB, and a node "
                              "gives 4 GiB; "));
  const auto truth = with("", "rank = 1024\n");
  auto wide = truth;
  wide.replace(wide.find("items = 60"), 10, "items = 10000000");
  BOOST_TEST(size_problem(wide, facts).find("its data would take ") != std::string::npos);
  BOOST_TEST(size_problem(truth, facts) == "");
}

BOOST_AUTO_TEST_CASE(texts_are_read_from_the_nodes_own_files_and_generated_within_limits) {
  const auto texts = [](const std::string& data) {
    return "[scenario]\nname = \"texts\"\nrounds = 1\n[data]\n" + data +
           "[model]\nkind = \"logistic-regression\"\n[algorithm]\nkind = \"fedavg\"\n[participation]\nper_round = 1\n";
  };
  const std::string labelled = "source = \"labelled-text\"\npositive = \"1\"\n";
  BOOST_TEST(refusal(texts(labelled + "path = \"/etc/passwd\"\n")).find("names a file of this machine in data.path") !=
             std::string::npos);
  const auto got = believed(texts(labelled));
  BOOST_TEST(testing::text_of(own_settings(got, "", {}, "")).starts_with("--data: is missing: "));
  BOOST_TEST(own_settings(got, "/mine/texts.tsv", {}, "").has_value());
  const models::data_facts words{100, 50, models::objective::logistic, 0, 100};
  BOOST_TEST(check_size(got, words).has_value());
  const std::string generated = "source = \"synthetic-texts\"\nclasses = 2\n";
  BOOST_TEST(size_problem(texts(generated), words) == "");
  BOOST_TEST(size_problem(texts(generated + "users = 10000000\ntexts_per_user = 1000000\nlength = 10000\n"), words)
                 .find("its data would take 711") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_model_of_a_terabyte_is_refused) {
  auto wide = hosted();
  wide.replace(wide.find("rank = 4"), 8, "rank = 4096");
  BOOST_TEST(size_problem(wide, facts) == "");
  const models::data_facts many{67108864, 50, models::objective::squared_error};
  BOOST_TEST(size_problem(wide, many) ==
             "the server's scenario: its model would take 1 TiB, and a node gives 1 GiB; take part in a smaller run, "
             "or trust another server");
  const models::data_facts most{UINT32_MAX, UINT32_MAX, models::objective::squared_error};
  BOOST_TEST(size_problem(wide, most).find("its model would take 64 TiB") != std::string::npos);
  // A private part of 4096 values is nothing; its normal equations are 64 MiB.
  const auto solved = believed(wide + "[algorithm.reconstruction]\nsolver = \"least-squares\"\n");
  BOOST_TEST(check_size(solved, facts).has_value());
  BOOST_TEST(testing::text_of(check_size(solved, facts, {.data = 0x1p20}))
                 .starts_with("the server's scenario: least squares would take 64 MiB, and a node gives 1 MiB; "));
}

BOOST_AUTO_TEST_CASE(terms_hold_for_keys_that_have_an_effect) {
  const auto broken = [](const std::string& more, const std::string& term) {
    return testing::text_of(check_terms({*read_term(term)}, believed(with(more))));
  };
  BOOST_TEST(broken("min_reports = 8\n", "participation.min_reports>=8").empty());
  BOOST_TEST(broken("min_reports = 8\n", "participation.min_reports>=9").find("min_reports is 8") != std::string::npos);
  BOOST_TEST(
      broken("min_reports = 8\nmode = \"async\"\n", "participation.min_reports>=8") ==
      "--require: \"participation.min_reports>=8\" promises nothing: in the run participation.min_reports has no "
      "effect: mode is \"async\"; demand the value of that key too, or leave it out");
  BOOST_TEST(broken("[privacy]\nadversary = \"semi-malicious\"\n", "privacy.adversary=semi-malicious")
                 .find("promises nothing: in the run privacy.adversary has no effect") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_node_says_where_its_data_are) {
  const auto files = believed(hosted());
  const auto generated = believed(valid_scenario());
  BOOST_TEST(testing::text_of(own_settings(files, "", {}, "")) ==
             "--data: is missing: the run's data are source = \"hosted-ratings\", which reads files; name the folder "
             "with the data of this node's clients");
  BOOST_TEST(testing::text_of(own_settings(generated, "mine", {}, "")).find("mine would not be used") !=
             std::string::npos);
  BOOST_TEST(own_settings(generated, "", {}, "")->empty());
  const auto own = own_settings(files, "/mine", {}, "/key");
  BOOST_REQUIRE(own.has_value());
  const auto read = parse_node_scenario(hosted(), *own);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  BOOST_TEST(read->data.text("path") == "/mine");
  BOOST_TEST(read->settings.own->key_file == "/key");
}

BOOST_AUTO_TEST_SUITE_END()
