// In an executable of its own: what it registers stays registered.
#include <boost/test/unit_test.hpp>
#include <cmath>

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

BOOST_AUTO_TEST_SUITE_END()
