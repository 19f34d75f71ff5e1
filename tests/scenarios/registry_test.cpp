// In an executable of its own: what it registers stays registered.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <stdexcept>

#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/devices.hpp"
#include "federated/world/availability.hpp"
#include "scenarios/schema/node_scenario.hpp"
#include "scenarios/schema/parts.hpp"
#include "scenarios/schema/schema.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(registry)

using namespace furlong;
using namespace furlong::scenarios;
using testing::valid_scenario;

BOOST_AUTO_TEST_CASE(a_dataset_of_another_library_is_one_registration) {
  dataset_entry entry;
  entry.kind = "test-only";
  entry.doc = "A dataset of this test.";
  entry.options = {{.name = "size", .type = option_type::integer, .fallback = std::int64_t{3}, .doc = "Size."}};
  entry.build = [](const option_values& options, const std::filesystem::path&) -> result<dataset> {
    return fail(error::kind::data, "test-only", "size " + std::to_string(options.integer("size")));
  };
  register_dataset(entry);
  auto text = valid_scenario();
  const std::string old = "source = \"synthetic-ratings\"\nusers = 50\nitems = 60\nratings_per_user = 20\n";
  text.replace(text.find(old), old.size(), "source = \"test-only\"\nsize = 5\n");
  const auto read = parse_scenario_text(text, "other.toml");
  BOOST_REQUIRE(read.has_value());
  BOOST_TEST(load_data(*read).error().text() == "test-only: size 5");
  // Only the data know what ratings there can be.
  BOOST_TEST(std::isinf(dataset().label_low));
  BOOST_TEST(std::isinf(dataset().label_high));
}

namespace {

constexpr const char* of_synthetic = "source = \"synthetic-ratings\"\n";

/// Synthetic ratings that pretend to be in files.
dataset_entry tables() {
  auto entry = *find_dataset("synthetic-ratings");
  entry.kind = "tables";
  entry.version = "1.2";
  entry.options.push_back(required(text_option("path", std::nullopt, "A folder.")));
  entry.options.push_back({.name = "titles", .type = option_type::text, .doc = "A file.", .beside_file = true});
  entry.check = [](const option_values& options) -> std::vector<option_problem> {
    if (options.text("path").empty()) return {{"path", "is empty", "name a folder"}};
    return {};
  };
  return entry;
}

std::string with_tables(const std::string& more) {
  auto text = valid_scenario();
  return text.replace(text.find(of_synthetic), std::string(of_synthetic).size(), "source = \"tables\"\n" + more);
}

scenario served(const std::string& text) {
  auto read = parse_scenario_text(text, "own.toml");
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  BOOST_REQUIRE(fit(*read, *load_outline(*read)).has_value());
  return *read;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_file_of_a_registered_dataset_is_the_nodes_own) {
  register_dataset(tables());
  const auto text = node_toml(served(with_tables("path = \"somewhere\"\ntitles = \"names.csv\"\n")));
  for (const std::string told : {"somewhere", "names.csv"}) BOOST_TEST(text.find(told) == std::string::npos, text);
  const auto got = parse_node_scenario(text);  // as an aggregator does, which has no files
  BOOST_REQUIRE_MESSAGE(got.has_value(), testing::text_of(got));
  const std::vector<setting_override> mine{{"data.titles", "/mine/names.csv", "--own"}};
  BOOST_TEST(testing::text_of(own_settings(*got, "/mine", {}, "")) ==
             "--own: data.titles is missing: the run has a file there, and each node its own; name it: --own "
             "data.titles=FILE");
  BOOST_TEST(testing::text_of(own_settings(*got, "", {}, "", mine)).starts_with("--data: is missing: "));
  BOOST_TEST(testing::text_of(own_settings(*got, "/mine", {}, "", {{"data.names", "x", "--own"}})) ==
             "--own: names data.names, and the run has no file there; it can name data.titles");
  const auto own = own_settings(*got, "/mine", {}, "", mine);
  BOOST_REQUIRE_MESSAGE(own.has_value(), testing::text_of(own));
  const auto again = parse_node_scenario(text, *own);
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(again->data.text("path") == "/mine");
  BOOST_TEST(again->data.text("titles") == "/mine/names.csv");
}

BOOST_AUTO_TEST_CASE(a_server_names_no_file_of_a_registered_dataset) {
  register_dataset(tables());
  const auto refusal = [](const std::string& more) { return testing::text_of(parse_node_scenario(with_tables(more))); };
  const std::string names = "the server's scenario: names a file of this machine in ";
  BOOST_TEST(refusal("path = \"\"\ntitles = \"/etc/passwd\"\n").starts_with(names + "data.titles"));
  BOOST_TEST(refusal("path = \"/etc\"\n").starts_with(names + "data.path"));
  BOOST_TEST(refusal("path = \"\"\n") == "");
}

// Whether or not the option has a fallback: that is no file of the server either.
BOOST_AUTO_TEST_CASE(a_node_names_no_file_where_the_server_has_none) {
  for (const auto& fallback : {std::optional<option_value>(), std::optional<option_value>(std::string())}) {
    auto entry = tables();
    entry.options.back().fallback = fallback;
    register_dataset(entry);
    const auto got = parse_node_scenario(node_toml(served(with_tables("path = \"somewhere\"\n"))));
    BOOST_REQUIRE_MESSAGE(got.has_value(), testing::text_of(got));
    BOOST_TEST(testing::text_of(own_settings(*got, "/mine", {}, "")) == "");
    BOOST_TEST(testing::text_of(own_settings(*got, "/mine", {}, "", {{"data.titles", "x", "--own"}})) ==
               "--own: names data.titles, and the run has no file there; leave it out");
  }
}

namespace {

federated::availability_entry by_key(const std::string& key) {
  return {.kind = "by-key",
          .doc = "A model of this test.",
          .options = {number_option(key, 1.0, "A number.", {0.0, 5.0})},
          .check =
              [key](federated::scenario_view& view) {
                const auto name = "devices.availability." + key;
                if (view.is_good(name) && view.given().number(name) == 4.0)
                  view.report(name, "is four", "choose another number");
              },
          .build = [](const federated::availability_source&) { return federated::make_always(); },
          .version = "2"};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_of_availability_of_another_library_has_keys_of_its_own) {
  const std::string kind = "devices.availability.kind";
  const std::string weight = "devices.availability.weight";
  federated::register_availability(by_key("weight"));
  const auto read = served(valid_scenario() + "\n[devices.availability]\nkind = \"by-key\"\nweight = 2.5\n");
  BOOST_TEST(read.settings.devices->availability.kind == "by-key");
  BOOST_TEST(read.settings.devices->availability.options.number("weight") == 2.5);
  BOOST_TEST(resolved_toml(read).find("weight = 2.5") != std::string::npos);
  BOOST_TEST(scenario_reference_markdown().find("`weight`") != std::string::npos);
  BOOST_TEST(parts_of(read).at(kind + "=by-key") == "2");
  BOOST_TEST(told_parts_of(read).empty());
  BOOST_TEST(node_toml(read).find("by-key") == std::string::npos);

  BOOST_TEST(testing::problems_with({{kind, "by-key"}, {weight, "6"}}).find("must be") != std::string::npos);
  BOOST_TEST(testing::problems_with({{kind, "by-key"}, {weight, "4"}}).find("is four") != std::string::npos);
  const auto idle = served(valid_scenario() + "\n[devices.availability]\nweight = 2.5\n");
  BOOST_TEST(idle.notes.size() == 1U);
  BOOST_TEST(idle.notes.front() == weight + " has no effect: " + kind + " is \"always\"");

  federated::register_availability(by_key("rate"));
  testing::check_says(testing::problems_with({{kind, "by-key"}}),
                      "its option devices.availability.rate is a key already; rename the option");
  federated::register_availability(by_key("weight"));
}

// A node need not have the policy, and cannot have the server's files.
BOOST_AUTO_TEST_CASE(a_node_hears_no_option_of_a_policy) {
  auto entry = *federated::find_policy("uniform");
  entry.kind = "by-table";
  entry.options = {number_option("steepness", 1.0, "An exponent."),
                   {.name = "table", .type = option_type::text, .doc = "A file.", .beside_file = true}};
  federated::register_policy(entry);
  auto text = valid_scenario();
  const std::string before = "per_round = 10\n";
  text.insert(text.find(before), "policy = \"by-table\"\nsteepness = 2.0\ntable = \"clients.csv\"\n");
  const auto told = node_toml(served(text));
  for (const std::string option : {"by-table", "steepness", "clients.csv"})
    BOOST_TEST(told.find(option) == std::string::npos, told);
  BOOST_TEST(told.find("per_round = 10") != std::string::npos, told);
}

// An aggregator has no data, and needs a file of the model where its shapes depend on it.
BOOST_AUTO_TEST_CASE(an_aggregator_names_files_of_all_but_the_data) {
  register_dataset(tables());
  const auto reads_data = parse_node_scenario(node_toml(served(with_tables("path = \"p\"\ntitles = \"names.csv\"\n"))));
  BOOST_REQUIRE_MESSAGE(reads_data.has_value(), testing::text_of(reads_data));
  BOOST_TEST(missing_file(*reads_data) == "");
  BOOST_TEST(testing::text_of(aggregator_settings(*reads_data, {{"data.titles", "/mine/names.csv", "--own"}})) ==
             "--own: names data.titles, and the run has no file there; leave it out");

  auto entry = *models::find_model("matrix-factorization");
  entry.kind = "sized";
  entry.options.push_back({.name = "shape", .type = option_type::text, .doc = "A file.", .beside_file = true});
  entry.build = [inner = entry.build](const option_values& options,
                                      const models::data_facts& facts) -> result<std::shared_ptr<const models::model>> {
    if (!options.has("shape") || options.text("shape").empty())
      return fail(error::kind::usage, "model.shape", "names no file", "name one");
    return inner(options, facts);
  };
  models::register_model(entry);
  BOOST_TEST(testing::problems_with({{"model.kind", "sized"}}).find("names no file") != std::string::npos);
  auto text = valid_scenario();
  const std::string kind = "kind = \"matrix-factorization\"\n";
  text = node_toml(served(text.replace(text.find(kind), kind.size(), "kind = \"sized\"\nshape = \"rank.txt\"\n")));
  const auto told = parse_node_scenario(text);
  BOOST_REQUIRE_MESSAGE(told.has_value(), testing::text_of(told));
  BOOST_TEST(missing_file(*told) == "model.shape");
  const auto own = aggregator_settings(*told, {{"model.shape", "/mine/rank.txt", "--own"}});
  BOOST_REQUIRE_MESSAGE(own.has_value(), testing::text_of(own));
  const auto again = parse_node_scenario(text, *own);
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST(again->model.text("shape") == "/mine/rank.txt");
  BOOST_TEST(missing_file(*again) == "");
  for (const std::string wrong : {"model.shape", "=rank.txt", "model.shape="})
    BOOST_TEST(testing::text_of(read_own_files({wrong})).starts_with("--own: \"" + wrong + "\" is not KEY=FILE"));
}

BOOST_AUTO_TEST_CASE(registered_parts_have_versions_and_those_of_furlong_none) {
  BOOST_TEST(find_dataset("synthetic-ratings")->version.empty());
  register_dataset(tables());
  const auto of = served(with_tables("path = \"somewhere\"\n"));
  BOOST_TEST((parts_of(of) == source_code{{"data.source=tables", "1.2"}}));
  BOOST_TEST(parts_of(*parse_scenario_text(valid_scenario(), "t.toml")).empty());
  BOOST_TEST(testing::text_of(check_parts(of, code_text(told_parts_of(of)))) == "");
  const std::string fix = "; use the same build as the server, or give parts that compute the same the same `version`";
  BOOST_TEST(testing::text_of(check_parts(of, "1.3 data.source=tables\n")) ==
             "data.source=tables: is version 1.2 here, and version 1.3 at the server" + fix);
  BOOST_TEST(testing::text_of(check_parts(of, "")) ==
             "data.source=tables: is version 1.2 here, and furlong's own at the server" + fix);
  BOOST_TEST(testing::text_of(check_parts(of, "1.2 data.source=tables\n7 algorithm.kind=furl\n")) ==
             "algorithm.kind=furl: is furlong's own here, and version 7 at the server" + fix);
}

BOOST_AUTO_TEST_CASE(a_part_without_a_version_has_that_of_the_program) {
  auto entry = tables();
  entry.version = "";
  register_dataset(entry);
  const auto version = find_dataset("tables")->version;
  BOOST_TEST(version.starts_with("program-"));
  BOOST_TEST(version.size() == std::string("program-").size() + 16);
  for (const auto& bad : {std::string("1 2"), std::string("1\n"), std::string(65, 'x')}) {
    entry.version = bad;
    BOOST_CHECK_THROW(register_dataset(entry), std::invalid_argument);
  }
}

BOOST_AUTO_TEST_SUITE_END()
