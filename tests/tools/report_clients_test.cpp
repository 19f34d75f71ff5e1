// The charts of clients: quantiles, gains between runs of a seed, and who takes part.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/tools/reports.hpp"

BOOST_AUTO_TEST_SUITE(clients)

using namespace furlong::tests;
using namespace furlong::tools;

namespace {

constexpr std::uint32_t clients = 100;

// Client c has the RMSE `base` + c / 100. The faster it is, and the lower its labels, the more it takes part.
run_record run_of(const std::string& name, int seed, double base, const std::string& settings = {}) {
  run_record run;
  run.name = name;
  run.seed = std::to_string(seed);
  run.scenario = "[scenario]\nname = \"" + name + "\"\nseed = " + run.seed + "\n" + settings;
  run.summary.emplace();
  for (std::uint32_t c = 0; c < clients; ++c) {
    client_figures one;
    one.client = c;
    one.rmse = base + c / 100.0;
    one.updates = c / 10;
    one.speed = 1.0 + c;
    one.taste = -static_cast<double>(c);
    run.clients.push_back(one);
  }
  return run;
}

}  // namespace

BOOST_AUTO_TEST_CASE(of_one_run_have_quantiles_and_a_picture_of_who_takes_part) {
  const auto data = data_of(run_of("films", 1, 1.0));
  const auto chart = chart_of(data, "RMSE of seen clients");
  BOOST_REQUIRE(!chart.is_null());
  BOOST_TEST(chart["kind"] == "quantiles");
  const auto& curve = chart["series"][0];
  BOOST_TEST(curve["y"].front() == 1);
  BOOST_TEST(curve["y"].back() == 1.99);
  BOOST_TEST(std::abs(curve["y"][50].get<double>() - 1.495) < 1e-9);
  const auto row = section_of(data, "Clients")["table"]["rows"][0]["cells"];
  BOOST_TEST(row[0] == "seen");
  BOOST_TEST(row[1] == "100");
  BOOST_TEST(row[2]["text"] == "1.4950");
  BOOST_TEST(row.back()["text"] == "1.9450");  // the mean of 1.90 to 1.99
  const auto picture = chart_of(data, "Who takes part, by speed and taste");
  BOOST_REQUIRE(!picture.is_null());
  BOOST_TEST(picture["points"].size() == 100U);
  BOOST_TEST(picture["points"][7] == (page_json{8, -7, 0.0, "client 7\n0 updates\nRMSE 1.0700"}));
  // Updates of tenths: 0, 1, ... 9, of a mean of 4.5.
  const auto speed = chart_of(data, "Participation by speed")["series"][0];
  BOOST_TEST(speed["x"].size() == 10U);
  BOOST_TEST(speed["y"].front() == 0);
  BOOST_TEST(speed["y"].back() == 2);
  BOOST_TEST(chart_of(data, "Participation by taste")["series"][0]["y"].front() == 2);
  BOOST_TEST(chart_of(data, "Better than : RMSE of seen clients").is_null());
}

BOOST_AUTO_TEST_CASE(of_several_gain_and_lose_within_a_seed) {
  std::vector<run_record> runs{run_of("a", 1, 1.0), run_of("a", 2, 2.0), run_of("b", 1, 0.9), run_of("b", 2, 2.0)};
  for (auto& one : runs[3].clients) *one.rmse += one.client < 20 ? 0.5 : -0.25;  // who loses, and who gains
  const auto data = data_of(runs);
  const auto chart = chart_of(data, "Better than a: RMSE of seen clients");
  BOOST_REQUIRE(chart["series"].size() == 1U);
  BOOST_TEST(chart["rule"] == 0);
  BOOST_TEST(chart["series"][0]["name"] == "b");
  BOOST_TEST(chart["series"][0]["colour"] == 1);
  BOOST_TEST(chart["series"][0]["y"].front() == -0.5);
  BOOST_TEST(chart["series"][0]["y"][50] == 0.1);
  BOOST_TEST(chart["series"][0]["y"].back() == 0.25);
  const auto rows = section_of(data, "Clients")["table"]["rows"];
  BOOST_TEST(rows[0]["cells"].back() == "baseline");
  const auto& cells = rows[1]["cells"];
  BOOST_TEST(cells[8] == "90.0 %");
  BOOST_TEST(cells[9] == "10.0 %");
  BOOST_TEST(cells[11]["text"] == "-0.5000");
  // Clients of other data are others.
  auto apart = runs;
  for (std::size_t i : {2U, 3U}) apart[i].scenario += "[data]\nusers = 7\n";
  BOOST_TEST(chart_of(data_of(apart), "Better than a: RMSE of seen clients").is_null());
}

BOOST_AUTO_TEST_CASE(of_validation_are_a_group_of_their_own) {
  auto run = run_of("films", 1, 1.0);
  for (auto& one : run.clients) one.group = one.client < 70 ? 1 : one.client < 90 ? 2 : 0;
  const auto data = data_of(run);
  const auto rows = section_of(data, "Clients")["table"]["rows"];
  BOOST_REQUIRE(rows.size() == 3U);
  BOOST_TEST(rows[1]["cells"][0] == "unseen");
  BOOST_TEST(rows[1]["cells"][1] == "20");
  BOOST_TEST(rows[2]["cells"][0] == "validation");
  BOOST_TEST(rows[2]["cells"][1] == "10");
  BOOST_TEST(chart_of(data, "RMSE of unseen clients")["series"][0]["y"].back() == 1.89);
  BOOST_TEST(chart_of(data, "RMSE of validation clients")["series"][0]["y"].front() == 1.9);
}

BOOST_AUTO_TEST_CASE(equal_devices_and_tastes_explain_nothing) {
  auto run = run_of("films", 1, 1.0);
  for (auto& one : run.clients) one.speed = one.taste = 1.0;
  const auto data = data_of(run);
  for (const auto* title : {"Who takes part, by speed and taste", "Participation by speed", "Participation by taste"})
    BOOST_TEST(chart_of(data, title).is_null(), title);
  for (auto& one : run.clients) one.rmse.reset();
  BOOST_TEST(section_of(data_of(run), "Clients").is_null());
}

BOOST_AUTO_TEST_SUITE_END()
