// Files that a scenario names beside itself: found from any folder, by every command, and missing or damaged ones told.
#include <boost/test/unit_test.hpp>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(trace_path)

using namespace furlong::tests;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Its trace and its key are named relative to its folder, which is not the working directory.
std::filesystem::path traced(const scratch_folder& folder) {
  const auto file = small_scenario(folder, "furl", 6);
  auto text = read_file(file);
  text.insert(text.find("cold_start"), "key_file = \"store.key\"\n");
  std::ofstream(file) << text << "[devices]\navailability = \"phones.csv\"\n";
  return file;
}

void write_trace(const scratch_folder& folder) {
  std::ofstream(folder / "phones.csv") << "# length = 1000\n# clients = 2\nclient,start,end\n0,0,1000\n1,0,1000\n";
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_files_are_found_from_any_folder) {
  const scratch_folder folder;
  const auto file = traced(folder);
  write_trace(folder);
  const auto run = (folder / "run").string();
  const auto began = run_furlong(folder, {"run", file.string(), "--out", run, "--stop-after", "3"});
  BOOST_TEST(began.code == 5, began.err);
  BOOST_TEST(has(read_file(folder / "run/scenario.toml"), "trace = \"" + (folder / "phones.csv").string() + "\""));
  BOOST_TEST(std::filesystem::exists(folder / "store.key"));
  const auto done = run_furlong(folder, {"run", run + "/scenario.toml", "--resume", "--out", run});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  const auto clients = folder / "clients.csv";
  BOOST_TEST(run_furlong(folder, {"export", run, "--clients", clients.string()}).code == 0);
  BOOST_TEST(run_furlong(folder, {"report", run, "--clients"}).code == 0);
  // Who asks for predictions needs no devices.
  std::filesystem::remove(folder / "phones.csv");
  const auto asked = run_furlong(folder, {"infer", run, "--client", "3"});
  BOOST_TEST(asked.code == 0, asked.err);
  BOOST_TEST(run_furlong(folder, {"export", run, "--clients", clients.string()}).code == 3);
}

BOOST_AUTO_TEST_CASE(a_missing_trace_is_skipped_and_a_damaged_one_is_a_problem) {
  const scratch_folder folder;
  const auto file = traced(folder).string();
  const auto missing = run_furlong(folder, {"validate", file});
  BOOST_TEST(missing.code == 0, missing.err);
  BOOST_TEST(has(missing.out, "note: not checked against its trace: "), missing.out);
  BOOST_TEST(has(missing.out, ": valid without its trace, which is missing\n"), missing.out);
  const auto listed = run_furlong(folder, {"validate", file, "--format", "json"});
  BOOST_TEST(nlohmann::json::parse(listed.out)["checked_against_data"] == false);
  BOOST_TEST(run_furlong(folder, {"test", file}).code == 3);
  std::ofstream(folder / "phones.csv") << "client,start,end\n0,0\n";
  const auto damaged = run_furlong(folder, {"validate", file});
  BOOST_TEST(damaged.code == 2, damaged.out);
  BOOST_TEST(has(damaged.err, "phones.csv:2"), damaged.err);
  BOOST_TEST(run_furlong(folder, {"test", file}).code == 2);
  write_trace(folder);
  const auto good = run_furlong(folder, {"validate", file});
  BOOST_TEST(has(good.out, ": valid\n"), good.out);
}

BOOST_AUTO_TEST_SUITE_END()
