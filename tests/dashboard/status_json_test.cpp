#include "tools/dashboard/status_json.hpp"

#include <boost/test/unit_test.hpp>
#include <limits>

#include "tests/dashboard/sample.hpp"

namespace furlong::tests {

BOOST_AUTO_TEST_SUITE(status_json_suite)

using namespace tools::dashboard;

namespace {

json answer(const status_board& board) { return json::parse(text_of(status_json(board.snapshot()))); }

}  // namespace

BOOST_AUTO_TEST_CASE(a_board_that_knows_nothing_has_an_answer) {
  still_clocks time;
  const auto got = answer(status_board(time.clocks()));
  BOOST_TEST(got.at("published") == false);
  BOOST_TEST(got.at("last_round").is_null());
  BOOST_TEST(got.at("checkpoint").is_null());
  BOOST_TEST(!got.contains("privacy"));
  BOOST_TEST(got.at("uptime") == 0.0);
  for (const char* list : {"nodes", "aggregators", "learning", "staleness", "events"})
    BOOST_TEST((got.at(list).is_array() && got.at(list).empty()));
  for (const char* object : {"refused_connections", "unasked"}) BOOST_TEST(got.at(object).is_object(), object);
}

BOOST_AUTO_TEST_CASE(everything_is_there) {
  const sample_board filled(140);
  const auto got = answer(filled.board);
  BOOST_TEST(got.at("scenario") == "films-furl");
  BOOST_TEST(got.at("phase") == "training");
  BOOST_TEST(got.at("round") == 141);
  BOOST_TEST(got.at("uptime") == 5520.0);
  BOOST_TEST(got.at("clients").at("idle") == 277);
  BOOST_TEST(got.at("clients").at("away") == 19);
  BOOST_TEST(got.at("tasks").at("rejected").at("not-finite") == 9);
  BOOST_TEST(!got.at("tasks").at("rejected").contains("duplicate"));
  BOOST_TEST(got.at("unasked").at("duplicate") == 7);
  BOOST_TEST(got.at("refused_connections").at("denied") == 2);
  BOOST_TEST(got.at("checkpoint").at("version") == 140);
  BOOST_TEST(got.at("checkpoint").at("age") == 12.0);
  BOOST_TEST(got.at("privacy").at("epsilon") == 2.3953);
  BOOST_TEST(got.at("privacy").at("simulated") == true);
  BOOST_TEST(got.at("last_round").at("last") == 140);
  BOOST_REQUIRE(got.at("nodes").size() == 16);
  BOOST_TEST(got.at("nodes").at(1).at("first") == 25);
  BOOST_TEST(got.at("nodes").at(11).at("connected") == false);
  BOOST_TEST(got.at("aggregators").at(1).at("name") == "aggregator-b");
  BOOST_TEST(got.at("learning").back().at("unseen").contains("rmse"));
  BOOST_TEST(got.at("staleness").at(0) == 140 * 30);
  BOOST_TEST(got.at("events").back().at("level") == "warning");
}

BOOST_AUTO_TEST_CASE(tasks_add_up) {
  const sample_board filled(10);
  const auto tasks = answer(filled.board).at("tasks");
  std::uint64_t ended = 0;
  for (const char* key : {"folded", "late", "surplus", "abandoned", "in_flight"})
    ended += tasks.at(key).get<std::uint64_t>();
  for (const char* key : {"rejected", "dropped"})
    for (const auto& one : tasks.at(key)) ended += one.get<std::uint64_t>();
  BOOST_TEST(tasks.at("selected") == ended);
}

BOOST_AUTO_TEST_CASE(names_come_out_as_they_are_and_broken_bytes_replaced) {
  const sample_board filled(10, true);
  const auto got = answer(filled.board);
  BOOST_TEST(got.at("nodes").at(2).at("name") == hostile_name);
  BOOST_TEST(got.at("nodes").at(3).at("name") == "caf\xC3\xA9 \uFFFD\uFFFD broken \x1B[2J");
  BOOST_TEST(got.at("refused_connections").contains("<b>bold\"\n"));
}

BOOST_AUTO_TEST_CASE(numbers_that_are_none_are_null) {
  round_record round;
  round.applied = 1;
  round.loss = std::numeric_limits<double>::quiet_NaN();
  round.change_norm = std::numeric_limits<double>::infinity();
  const auto got = json::parse(text_of(rounds_json({round}))).at("rounds").at(0);
  BOOST_TEST(got.at("loss").is_null());
  BOOST_TEST(got.at("change_norm").is_null());
  round.applied = 0;
  round.loss = 0.5;
  BOOST_TEST(rounds_json({round}).at("rounds").at(0).at("loss").is_null());  // no round moved the model
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace furlong::tests
