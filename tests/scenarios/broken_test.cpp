// Broken scenarios and data files, each beside the exact messages that it must give: broken/NAME.toml, NAME.expected.
// Data files stand in broken/NAME/: data-* are missing or damaged, misfit-* are good and the scenario contradicts them.
// With FURLONG_REWRITE_EXPECTED set the messages are written instead; read the
// difference before committing it.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "scenarios/schema/scenario.hpp"

BOOST_AUTO_TEST_SUITE(broken_files)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

const std::filesystem::path folder = "tests/scenarios/broken";

/// Every message, a line each, without the folder's name.
std::string messages_of(const std::filesystem::path& file) {
  std::string text;
  auto read = parse_scenario(file);
  if (!read) {
    for (const auto& problem : read.error()) text += problem.text() + "\n";
  } else if (const auto data = load_data(*read, folder); !data) {
    const bool good = file.filename().string().starts_with("misfit-");
    BOOST_TEST((data.error().what == (good ? error::kind::usage : error::kind::data)));
    text = data.error().text() + "\n";
  } else if (const auto fitted = fit(*read, *data); !fitted) {
    BOOST_TEST((fitted.error().what == error::kind::usage));
    text = fitted.error().text() + "\n";
  }
  const auto prefix = folder.string() + "/";
  for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) text.erase(at, prefix.size());
  return text;
}

std::string content_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

BOOST_AUTO_TEST_CASE(each_gives_exactly_the_messages_beside_it) {
  std::size_t cases = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".toml") continue;
    ++cases;
    auto expected = entry.path();
    expected.replace_extension(".expected");
    const auto messages = messages_of(entry.path());
    if (std::getenv("FURLONG_REWRITE_EXPECTED") != nullptr) std::ofstream(expected, std::ios::binary) << messages;
    BOOST_TEST_CONTEXT(entry.path().string()) {
      BOOST_TEST(!messages.empty());
      BOOST_TEST(messages == content_of(expected));
    }
  }
  BOOST_TEST(cases >= 20U);
}

BOOST_AUTO_TEST_CASE(a_missing_scenario_is_one_problem_that_names_the_file) {
  const auto read = parse_scenario("no/such/scenario.toml");
  BOOST_REQUIRE(!read);
  BOOST_REQUIRE(read.error().size() == 1);
  BOOST_TEST(
      read.error()[0].text() ==
      "no/such/scenario.toml: cannot be opened: No such file or directory; name a scenario file that can be read");
}

BOOST_AUTO_TEST_SUITE_END()
