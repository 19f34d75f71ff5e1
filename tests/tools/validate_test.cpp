// furlong validate: all problems at once, what the data come to, and what is excused.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(command_validate)

using namespace furlong::tests;

BOOST_AUTO_TEST_CASE(validate_says_everything_at_once) {
  const scratch_folder folder;
  BOOST_TEST(run_furlong(folder, {"validate", "scenarios/quickstart.toml"}).code == 0);
  const auto done = run_furlong(folder, {"validate", "tests/scenarios/broken/missing-keys.toml"});
  BOOST_TEST(done.code == 2);
  BOOST_TEST(std::ranges::count(done.err, '\n') >= 5);
  const auto json = run_furlong(folder, {"validate", "tests/scenarios/broken/missing-keys.toml", "--format", "json"});
  BOOST_TEST(json.code == 2);
  BOOST_TEST(nlohmann::json::parse(json.out)["problems"].size() >= 5U);
}

BOOST_AUTO_TEST_CASE(validate_says_what_the_data_come_to) {
  const scratch_folder folder;
  const auto scenario = small_scenario(folder, "furl").string();
  const auto done = run_furlong(folder, {"validate", scenario, "--format", "json"});
  BOOST_REQUIRE(done.code == 0);
  const auto data = nlohmann::json::parse(done.out)["data"];
  BOOST_TEST(data["clients"] == 120);
  BOOST_TEST(data["training"] == 96);
  BOOST_TEST(data["unseen_test"] == 12);
  BOOST_TEST(data["items"] == 60);
  // Of 20 ratings each, 8 in 10 are to train on.
  BOOST_TEST(std::abs(data["examples"]["train"].get<int>() - 96 * 16) <= 96 * 2);
  std::uint64_t all = 0;
  for (const auto& [part, count] : data["examples"].items()) all += count.get<std::uint64_t>();
  BOOST_TEST(std::abs(static_cast<int>(all) - 120 * 20) <= 120 * 4);
  const auto text = run_furlong(folder, {"validate", scenario}).out;
  BOOST_TEST(text.find("data: 120 clients (96 to train; unseen: 12 for validation, 12 for the test), 60 items, " +
                       std::to_string(all) + " examples (") != std::string::npos,
             text);
}

BOOST_AUTO_TEST_CASE(validate_excuses_only_data_that_are_not_there) {
  const scratch_folder folder;
  const std::string prefix = "tests/scenarios/broken/";
  ::setenv("FURLONG_DATA", prefix.c_str(), 1);
  for (const std::string name : {"misfit-column", "misfit-clients", "misfit-label", "misfit-too-few", "data-text-bytes",
                                 "data-text-quote", "data-no-ratings"}) {
    const auto done = run_furlong(folder, {"validate", prefix + name + ".toml"});
    BOOST_TEST(done.code == 2, name << done.out);
    BOOST_TEST(done.err.find(prefix + name) == 0U, done.err);
    BOOST_TEST(done.out.find("valid") == std::string::npos, done.out);
    const auto tested = run_furlong(folder, {"test", prefix + name + ".toml"});
    BOOST_TEST(tested.code == 2, name << tested.out << tested.err);  // 3 would be skipped
  }
  const auto missing = run_furlong(folder, {"validate", prefix + "data-missing.toml"});
  ::unsetenv("FURLONG_DATA");
  BOOST_TEST(missing.code == 0, missing.err);
  BOOST_TEST(missing.out.find(": valid without its data, which are missing\n") != std::string::npos, missing.out);
  BOOST_TEST(missing.out.starts_with("note: not checked against its data: "), missing.out);
}

BOOST_AUTO_TEST_SUITE_END()
