// What [expect] may name, and notes about devices and events that are not what they seem.
#include <boost/test/unit_test.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(expected_keys)

using namespace furlong;
using namespace furlong::scenarios;
using testing::valid_scenario;

namespace {

scenario read(const std::string& more, const std::vector<setting_override>& overrides = {}) {
  auto made = parse_scenario_text(valid_scenario() + more, "valid.toml", overrides);
  BOOST_REQUIRE_MESSAGE(made.has_value(), testing::text_of(made));
  return *made;
}

std::string refused(const std::string& more) {
  return testing::text_of(parse_scenario_text(valid_scenario() + more, "valid.toml"));
}

std::string notes(const std::vector<setting_override>& overrides) {
  std::string all;
  for (const auto& note : read("", overrides).notes) all += note + "\n";
  return all;
}

}  // namespace

// Each key of docs/schemas/summary.schema.json, whatever else a run needs to have it.
BOOST_AUTO_TEST_CASE(all_of_a_summary_can_be_expected) {
  std::ifstream file("docs/schemas/summary.schema.json");
  const auto schema = nlohmann::json::parse(file);
  BOOST_TEST(schema["properties"].size() > 40U);
  std::string more = "\n[expect]\n";
  for (const auto& [key, value] : schema["properties"].items())
    if (key != "eval") more += key + " = {equals = 1}\n";
  BOOST_TEST(read(more).expectations.size() == schema["properties"].size() - 1);
  BOOST_TEST(read("\n[expect]\n\"privacy.epsilon\" = {at_most = 30}\n").expectations.size() == 1U);
  BOOST_TEST(refused("\n[expect]\n\"privasy.epsilon\" = {at_most = 30}\n") ==
             "valid.toml:23:22: expect.privasy.epsilon: summary.json has no privasy; did you mean privacy?");
}

BOOST_AUTO_TEST_CASE(hashes_are_expected_by_the_level_of_the_kernels) {
  const auto made = read(
      "\n[expect]\n\"model_sha256\" = {is = {x86-64-v3 = \"ab\", neon = \"cd\"}}\n"
      "algorithm = {is = \"furl\"}\n");
  BOOST_REQUIRE(made.expectations.size() == 3U);
  BOOST_TEST(made.expectations[0].text() == "algorithm = {equals = \"furl\"}");
  BOOST_TEST(made.expectations[1].text() == "model_sha256 = {is.neon = \"cd\"}");
  BOOST_TEST(made.expectations[2].level == "x86-64-v3");
  BOOST_TEST(std::get<std::string>(made.expectations[2].value) == "ab");
  const auto text = resolved_toml(made);
  BOOST_TEST(resolved_toml(*parse_scenario_text(text, "resolved.toml")) == text);
  BOOST_TEST(refused("\n[expect]\n\"model_sha256\" = {is = {v3 = \"ab\"}}\n") ==
             "valid.toml:23:25: expect.model_sha256.is.v3: is no bound on a figure; write a level of the kernels: "
             "portable, x86-64-v3, x86-64-v4 or neon");
}

BOOST_AUTO_TEST_CASE(spells_and_partitions_that_do_not_end_as_written_are_noted) {
  BOOST_TEST(
      notes({{"devices.availability", "{kind = 'markov', rate = 0.75, mean_online = 200, step = 100}"}}) ==
      "devices.availability.mean_online has no effect: unavailable spells last a slot (devices.availability.step) "
      "at least, so that available ones last 300.0 s on average\n");
  BOOST_TEST(notes({{"devices.availability", "{kind = 'markov', rate = 0.75, mean_online = 300, step = 100}"}}) == "");
  BOOST_TEST(notes({{"event", "[{at = 'round 2', partition = '3'}]"}}) ==
             "event[1].partition is never healed: it lasts until the end of the run\n");
  BOOST_TEST(notes({{"event", "[{at = 'round 2', partition = '3'}, {at = 'round 3', heal = '3'}]"}}) == "");
}

BOOST_AUTO_TEST_SUITE_END()
