#include "tools/dashboard/status_text.hpp"

#include <boost/test/unit_test.hpp>

#include "base/plain_text.hpp"
#include "tests/dashboard/sample.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(status_text_suite)

using namespace tools::dashboard;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string text_for(const status_board& board) {
  const auto text = status_text(status_json(board.snapshot()));
  if (!text) BOOST_FAIL(text.error().text());
  return *text;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_terminal_shows_what_the_page_shows) {
  sample_board filled(140);
  const auto text = text_for(filled.board);
  for (const char* part :
       {"films-furl", "training, round 141 of 200", "335 of 360 reached: 58 at work, 277 idle; 6 adrift, 19 away",
        "8460 selected: 7911 folded, 14 rejected, 131 late", "not-finite 9, norm-bound 5",
        "stale-version 3, duplicate 7", "version 140, 12 s ago", "evaluation  after round 140: validation rmse 0.",
        "aggregator aggregator-b", "rack-1-node-5            at work", "rack-2-node-4            gone",
        "node lost, round 140", "148 MB, peak 171 MB",
        "epsilon 2.395 for delta 1e-05, add-or-remove-one, simulated privacy"})
    BOOST_TEST(has(text, part), part << " is not in:\n" << text);
  BOOST_TEST(!has(text, "may hang"));
  filled.time.steady = 45;
  BOOST_TEST(has(text_for(filled.board), "its state is 45 s old: the federation may hang"));
}

BOOST_AUTO_TEST_CASE(a_federation_that_has_not_begun_can_be_shown) {
  still_clocks time;
  BOOST_TEST(has(text_for(status_board(time.clocks())), "phase       waiting, round 0\n"));
}

BOOST_AUTO_TEST_CASE(names_cannot_steer_the_terminal) {
  const sample_board filled(20, true);
  const auto text = text_for(filled.board);
  for (const char c : text) BOOST_REQUIRE((c == '\n' || static_cast<unsigned char>(c) >= 0x20));
  BOOST_TEST(has(text, "caf\xC3\xA9 \uFFFD\uFFFD broken ?[2J"));
}

BOOST_AUTO_TEST_CASE(control_and_direction_characters_become_question_marks) {
  BOOST_TEST(for_terminal("a\x1B[31mb\r\n\t\x7F") == "a?[31mb????");
  BOOST_TEST(for_terminal("\u009B2J\u202Eexe") == "?2J?exe");
  BOOST_TEST(for_terminal("\u00E9\u4E2D\U0001F600") == "\u00E9\u4E2D\U0001F600");
  BOOST_TEST(for_terminal("\xFF\xC3") == "\uFFFD\uFFFD");
  // The longest beginning of a character is one broken character; what cannot follow it is another.
  BOOST_TEST(for_terminal("\xF0\x9F\x98!\xE4\xB8.\xE0\x80") == "\uFFFD!\uFFFD.\uFFFD\uFFFD");
  BOOST_TEST(for_terminal(std::string(500, 'x'), 5) == "xxxxx...");
  BOOST_TEST(for_terminal("\u00E9\u00E9\u00E9", 3) == "\u00E9\u00E9\u00E9");
}

BOOST_AUTO_TEST_CASE(an_answer_that_lacks_something_is_an_error) {
  const auto missing = status_text(json{{"furlong", "9.9"}});
  BOOST_REQUIRE(!missing);
  BOOST_TEST((missing.error().what == error::kind::data));
  const sample_board filled(5);
  for (const char* key : {"clients", "nodes", "tasks", "events", "checkpoint"}) {
    auto broken = status_json(filled.board.snapshot());
    broken[key] = "nonsense";
    BOOST_TEST(!status_text(broken), key);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
