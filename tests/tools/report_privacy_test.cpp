// The card of a run with differential privacy.
#include "tests/tools/reports.hpp"

using namespace furlong::tests;

BOOST_AUTO_TEST_SUITE(privacy_cards)

BOOST_AUTO_TEST_CASE(epsilon_says_what_it_is_about) {
  const auto card_with = [](const std::string& privacy) {
    const scratch run;
    run.write("summary.json", "{\"algorithm\":\"furl\"" + privacy + "}");
    return card_of(data_of(read(run.at)), "Privacy");
  };
  BOOST_TEST(card_with(R"(,"privacy":{"epsilon":2.3953,"delta":1e-5,"unit":"client","relation":"add-or-remove-one",)"
                       R"("simulated":true})") ==
             "\u03b5 2.3953, \u03b4 1.00e-05, client, add-or-remove-one, simulated privacy");
  BOOST_TEST(card_with(R"(,"privacy":{"epsilon":2.3953,"delta":0.002,"unit":"client","relation":"zero-out-one",)"
                       R"("simulated":false})") == "\u03b5 2.3953, \u03b4 0.0020, client, zero-out-one");
  BOOST_TEST(card_with(R"(,"privacy":{"epsilon":null,"delta":0.002,"failed":"losses","simulated":true})") ==
             "no \u03b5, \u03b4 0.0020, simulated privacy");
  BOOST_TEST(card_with("") == "no card");
}

BOOST_AUTO_TEST_SUITE_END()
