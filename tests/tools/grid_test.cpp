// The grid of a sweep: how it is read, multiplied out, named and tabulated.
#include "tools/sweep/grid.hpp"

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <set>

#include "tests/tools/command.hpp"
#include "tools/sweep/sweep_folder.hpp"
#include "tools/sweep/sweep_table.hpp"

BOOST_AUTO_TEST_SUITE(grid)

using namespace furlong;
using namespace furlong::tools;
using json = nlohmann::ordered_json;

namespace {

/// Texts that begin with "+" are those of --with.
std::vector<grid_option> options_of(const std::vector<std::string>& texts) {
  std::vector<grid_option> options;
  for (const auto& text : texts)
    options.push_back(text.starts_with('+') ? grid_option{text.substr(1), true} : grid_option{text, false});
  return options;
}

std::vector<grid_axis> axes_of(const std::vector<std::string>& texts) {
  auto axes = parse_grid(options_of(texts));
  BOOST_REQUIRE(axes);
  return *axes;
}

std::vector<std::string> values_of(const std::string& text) {
  const auto axes = axes_of({text});
  std::vector<std::string> shown;
  for (const auto& value : axes.front().values) shown.push_back(value.shown);
  return shown;
}

std::size_t problems_of(const std::vector<std::string>& texts) {
  const auto axes = parse_grid(options_of(texts));
  return axes ? 0 : axes.error().size();
}

using texts = std::vector<std::string>;

}  // namespace

BOOST_AUTO_TEST_CASE(commas_inside_of_brackets_braces_and_quotes_do_not_separate) {
  BOOST_TEST(values_of("a.b=1,2 , 3") == (texts{"1", "2", "3"}), boost::test_tools::per_element());
  BOOST_TEST(values_of("a.b=[0.1,0.2],[0.3]") == (texts{"[0.1, 0.2]", "[0.3]"}), boost::test_tools::per_element());
  BOOST_TEST(values_of("a={x=1,y=2},{x=3,y=4}") == (texts{"{x=1,y=2}", "{x=3,y=4}"}), boost::test_tools::per_element());
  BOOST_TEST(values_of(R"(a="x,y",'p]',"q\",r",word)") == (texts{"x,y", "p]", "q\",r", "word"}),
             boost::test_tools::per_element());
  BOOST_TEST(values_of("a=furl,\"fedavg\",0.10,1e-3") == (texts{"furl", "fedavg", "0.1", "0.001"}),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(all_that_is_wrong_is_said_at_once) {
  BOOST_TEST(problems_of({"a=1,1.0"}) == 0U);  // a whole number and another one
  BOOST_TEST(problems_of({"no-equals-sign"}) == 1U);
  BOOST_TEST(problems_of({"a=0.1,0.10"}) == 1U);
  BOOST_TEST(problems_of({"a=1,,2"}) == 1U);
  BOOST_TEST(problems_of({"a=[1,2"}) == 1U);
  BOOST_TEST(problems_of({"a=1]"}) == 1U);
  BOOST_TEST(problems_of({"a=1", "a=2"}) == 1U);
  BOOST_TEST(problems_of({"a=[1", "b=2,2", "c"}) == 3U);
}

BOOST_AUTO_TEST_CASE(every_combination_comes_once) {
  const auto axes = axes_of({"a.x=1,2,3", "b.y=p,q"});
  const auto points = grid_points(axes, {7, 8});
  BOOST_TEST(points.size() == 12U);
  BOOST_TEST(count_points(axes, 2) == 12U);
  std::set<std::string> names;
  for (const auto& point : points) names.insert(folder_of("s", axes, point));
  BOOST_TEST(names.size() == 12U);
  BOOST_TEST(names.contains("s-x=1-y=p-seed=7"));
  BOOST_TEST(names.contains("s-x=3-y=q-seed=8"));
  BOOST_TEST(label_of(axes, points.back()) == "x=3, y=q");
  const auto overrides = overrides_of(axes, points.back());
  BOOST_REQUIRE(overrides.size() == 2U);
  BOOST_TEST(overrides[1].key == "b.y");
  BOOST_TEST(overrides[1].value == "q");
  BOOST_TEST(grid_points({}, {1, 2}).size() == 2U);
}

BOOST_AUTO_TEST_CASE(tied_keys_change_together) {
  const auto axes = axes_of({"a.x=1,2", "b.kind=furl,fedavg,fedrecon", "+b.lr=0.1,0.2,0.1", "+b.n=7,8,9", "c.z=p,q"});
  const auto points = grid_points(axes, {5});
  BOOST_TEST(count_points(axes, 1) == 12U);
  BOOST_REQUIRE(points.size() == 12U);
  std::set<std::string> labels;
  for (const auto& point : points) labels.insert(label_of(axes, point));
  BOOST_TEST(labels.size() == 12U);
  BOOST_TEST(label_of(axes, points[0]) == "x=1, kind=furl, lr=0.1, n=7, z=p");
  BOOST_TEST(label_of(axes, points[1]) == "x=1, kind=furl, lr=0.1, n=7, z=q");
  BOOST_TEST(label_of(axes, points[2]) == "x=1, kind=fedavg, lr=0.2, n=8, z=p");
  BOOST_TEST(label_of(axes, points[11]) == "x=2, kind=fedrecon, lr=0.1, n=9, z=q");
  BOOST_TEST(overrides_of(axes, points[2])[2].value == "0.2");

  BOOST_TEST(problems_of({"a=1,1", "+b=1,2"}) == 0U);  // different together
  BOOST_TEST(problems_of({"a=1,1", "+b=2,2"}) == 1U);
  BOOST_TEST(problems_of({"a=1,2", "+b=1,2,3"}) == 1U);
  BOOST_TEST(problems_of({"a=1,2", "b=3", "+c=1,2"}) == 1U);
  BOOST_TEST(problems_of({"+b=1,2", "a=1,2"}) == 1U);
  BOOST_TEST(problems_of({"a=1,2", "+a=1,2"}) == 1U);
}

BOOST_AUTO_TEST_CASE(names_are_safe_short_and_never_the_same) {
  const auto axes = axes_of({"client.lr=0.1", "server.lr=[1.0,2.0],\"a/b\",\"a:b\",\"" + std::string(300, 'z') + "\""});
  BOOST_TEST(axes[0].name == "client.lr");
  BOOST_TEST(axes[1].name == "server.lr");
  std::set<std::string> names;
  for (const auto& point : grid_points(axes, {1})) {
    const auto name = folder_of("s", axes, point);
    names.insert(name);
    BOOST_TEST(name.size() < 255U);
    BOOST_TEST(name.find_first_of("/[ :\"") == std::string::npos, name);
  }
  BOOST_TEST(names.size() == 4U);
}

BOOST_AUTO_TEST_CASE(a_grid_beyond_counting_is_counted_as_the_most) {
  std::string many = "=0";
  for (int i = 1; i < 1000; ++i) many += "," + std::to_string(i);
  texts all;
  for (const std::string key : {"a", "b", "c", "d", "e", "f", "g"}) all.push_back(key + many);
  BOOST_TEST(count_points(axes_of(all), 1) == UINT64_MAX);
}

BOOST_AUTO_TEST_CASE(tables_hold_figures_and_gaps) {
  const auto axes = axes_of({"algorithm.kind=furl,fedavg"});
  std::vector<sweep_row> rows;
  for (auto& point : grid_points(axes, {1, 2})) {
    sweep_row row;
    row.run = folder_of("s", axes, point);
    row.scenario = "s";
    row.point = point;
    row.status = run_status::done;
    row.summary = {{"seed", point.seed},
                   {"eval", {{"unseen", {{"rmse", point.indices[0] == 0 ? 0.5 + 0.2 * double(point.seed) : 1.25}}}}},
                   {"note", "a \"word\", and more"},
                   {"list", {1, 2}}};
    rows.push_back(row);
  }
  rows[3].summary = nullptr;
  rows[3].status = run_status::failed;
  rows[3].why = "exit code 4";
  const auto csv = sweep_csv(axes, rows);
  BOOST_TEST(csv.starts_with("run,status,seed,algorithm.kind,eval.unseen.rmse,note\n"), csv);
  BOOST_TEST(csv.find("s-kind=furl-seed=1,done,1,furl,0.7,\"a \"\"word\"\", and more\"\n") != std::string::npos, csv);
  BOOST_TEST(csv.ends_with("\ns-kind=fedavg-seed=2,failed,2,fedavg,,"), csv);

  const auto out = sweep_json(axes, rows);
  BOOST_TEST(out["grid"]["algorithm.kind"].size() == 2U);
  BOOST_TEST(out["runs"][0]["figures"]["eval.unseen.rmse"] == 0.7);
  BOOST_TEST(!out["runs"][0]["figures"].contains("list"));
  BOOST_TEST(out["runs"][3]["status"] == "failed");
  BOOST_TEST(out["runs"][3]["why"] == "exit code 4");
}

// A process that is stopped before it watches for signals ends by that signal: no failure of the run.
BOOST_AUTO_TEST_CASE(a_run_that_a_signal_stopped_is_still_to_be_done) {
  const furlong::tests::scratch_folder folder;
  const auto opened = sweep_folder::open(folder / "sweep");
  BOOST_REQUIRE(opened.has_value());
  for (const int code : {5, 128 + SIGINT, 128 + SIGTERM}) {
    sweep_run run;
    opened->take(run, code);
    BOOST_TEST((run.row.status == run_status::waiting), code);
  }
  for (const int code : {4, 128 + SIGSEGV, 128 + SIGKILL}) {
    sweep_run run;
    opened->take(run, code);
    BOOST_TEST((run.row.status == run_status::failed), code);
    BOOST_TEST(run.row.why == "exit code " + std::to_string(code));
  }
}

BOOST_AUTO_TEST_SUITE_END()
