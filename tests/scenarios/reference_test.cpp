// docs/scenario-reference.md says what the schema says. With FURLONG_REWRITE_EXPECTED set it is written instead.
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "scenarios/schema/schema.hpp"

BOOST_AUTO_TEST_CASE(the_scenario_reference_is_up_to_date) {
  const char* const file = "docs/scenario-reference.md";
  const auto text = furlong::scenarios::scenario_reference_markdown();
  if (std::getenv("FURLONG_REWRITE_EXPECTED") != nullptr) std::ofstream(file, std::ios::binary) << text;
  std::ifstream in(file, std::ios::binary);
  const std::string written{std::istreambuf_iterator<char>(in), {}};
  BOOST_TEST((written == text), "run test_scenarios with FURLONG_REWRITE_EXPECTED=1 and commit the difference");
}
