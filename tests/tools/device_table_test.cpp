// Recorded devices and groups of clients of a scenario, from the command's side.
#include <boost/test/unit_test.hpp>
#include <map>
#include <sstream>

#include "tests/tools/command.hpp"

BOOST_AUTO_TEST_SUITE(recorded_devices)

using namespace furlong::tests;
using nlohmann::json;

namespace {

constexpr int clients = 120;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string group_of(int client) { return client % 4 == 0 ? "south" : client % 4 == 1 ? "east, far" : "north"; }

/// A scenario whose devices and groups are in one file, named relative to its folder.
std::filesystem::path scenario_in(const scratch_folder& folder) {
  const auto file = small_scenario(folder, "furl", 6);
  auto text = read_file(file);
  text.insert(text.find("every = 5"), "client_groups = \"phones.csv\"\n");
  std::ofstream(file) << text << "[devices]\ntable = \"phones.csv\"\n[dropout]\ndownload = 0.1\n";
  return file;
}

/// Clients of the group south are never interrupted, those of the group east always in training.
void write_table(const scratch_folder& folder, double speed = 10.0) {
  std::ofstream out(folder / "phones.csv");
  out << "client,ms_per_example,download,train,group\n";
  for (int client = 0; client < clients; ++client)
    out << client << ',' << speed + client << ','
        << (client % 4 == 0   ? "0,0"
            : client % 4 == 1 ? "0,1"
                              : ",")
        << ",\"" << group_of(client) << "\"\n";
}

std::vector<std::map<std::string, std::string>> rows_of(const std::filesystem::path& file) {
  const auto fields_of = [](const std::string& line) {
    std::vector<std::string> fields(1);
    bool quoted = false;
    for (const char c : line) {
      if (c == '"')
        quoted = !quoted;
      else if (c == ',' && !quoted)
        fields.emplace_back();
      else
        fields.back() += c;
    }
    return fields;
  };
  std::istringstream in(read_file(file));
  std::string line;
  std::getline(in, line);
  const auto header = fields_of(line);
  std::vector<std::map<std::string, std::string>> rows;
  while (std::getline(in, line)) {
    const auto fields = fields_of(line);
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (i == 0) rows.emplace_back();
      rows.back()[header[i]] = fields[i];
    }
  }
  return rows;
}

/// A group's figures agree with the rows of its clients.
void check_group(const json& of, const std::vector<std::map<std::string, std::string>>& rows, const std::string& name) {
  std::uint64_t count = 0;
  std::map<std::string, std::uint64_t> tasks;
  std::map<std::string, std::pair<std::uint64_t, double>> scored;  // by role: examples, sum of losses
  for (const auto& row : rows) {
    if (row.at("group") != name) continue;
    ++count;
    for (const auto* key : {"selected", "folded"}) tasks[key] += std::stoul(row.at(key));
    if (row.at("examples").empty()) continue;
    const auto examples = std::stoul(row.at("examples"));
    scored[row.at("role")].first += examples;
    scored[row.at("role")].second += static_cast<double>(examples) * std::stod(row.at("loss"));
  }
  BOOST_TEST(of["clients"] == count);
  for (const auto* key : {"selected", "folded"}) BOOST_TEST(of[key] == tasks[key]);
  for (const auto& [role, in] : {std::pair("train", "seen"), std::pair("test", "unseen")}) {
    const auto& figures = of.at("eval").at(in);
    BOOST_TEST(figures["examples"] == scored[role].first);
    BOOST_TEST(std::abs(figures["loss"].get<double>() * static_cast<double>(scored[role].first) / scored[role].second -
                        1.0) < 1e-4);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(figures_of_groups_are_those_of_their_clients) {
  const scratch_folder folder;
  write_table(folder);
  const auto run = (folder / "run").string();
  const auto file = scenario_in(folder).string();
  BOOST_TEST(run_furlong(folder, {"run", file, "--out", run, "--stop-after", "3"}).code == 5);
  const auto done = run_furlong(folder, {"run", run + "/scenario.toml", "--resume", "--out", run});
  BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  const auto table = folder / "clients.csv";
  BOOST_REQUIRE(run_furlong(folder, {"export", run, "--clients", table.string()}).code == 0);
  const auto rows = rows_of(table);
  BOOST_REQUIRE(rows.size() == static_cast<std::size_t>(clients));
  for (int client = 0; client < clients; ++client) {
    const auto& row = rows[static_cast<std::size_t>(client)];
    BOOST_TEST(row.at("group") == group_of(client));
    BOOST_TEST(std::stod(row.at("seconds_per_example")) == 3.0 * (10.0 + client) / 1e3);
  }
  const auto summary = json::parse(read_file(folder / "run/summary.json"));
  const auto& groups = summary["client_groups"];
  BOOST_REQUIRE(groups.size() == 3U);
  for (const auto* name : {"south", "north", "east, far"}) check_group(groups[name], rows, name);
  // What the groups did adds up, before the run was resumed too.
  std::map<std::string, std::uint64_t> sums;
  for (const auto& group : groups)
    for (const auto& [stage, count] : group["dropped"].items()) sums[stage] += count.get<std::uint64_t>();
  for (const auto* stage : {"download", "train"})
    BOOST_TEST(summary["dropped"].value(stage, std::uint64_t{0}) == sums[stage]);
  for (const auto* stage : {"download", "train", "upload"}) BOOST_TEST(groups["south"]["dropped"][stage] == 0);
  BOOST_TEST(groups["east, far"]["dropped"]["train"] == groups["east, far"]["selected"]);
  BOOST_TEST(groups["north"]["dropped"]["train"] == 0);
  BOOST_TEST(groups["north"]["dropped"]["download"].get<int>() > 0);
}

BOOST_AUTO_TEST_CASE(groups_are_compared_and_reported) {
  const scratch_folder folder;
  write_table(folder);
  for (const std::string rate : {"0.05", "0.02"}) {
    const auto done = run_furlong(folder, {"run", scenario_in(folder).string(), "--out", (folder / rate).string(),
                                           "--set", "algorithm.client.lr=" + rate});
    BOOST_REQUIRE_MESSAGE(done.code == 0, done.err);
  }
  const auto compared = run_furlong(
      folder, {"compare", (folder / "0.05").string(), (folder / "0.02").string(), "--by", "group", "--format", "json"});
  BOOST_REQUIRE_MESSAGE(compared.code == 0, compared.err);
  const auto figures = json::parse(compared.out)["figures"];
  std::size_t found = 0;
  for (const auto& figure : figures) {
    const auto key = figure["figure"].get<std::string>();
    BOOST_TEST(key.starts_with("client_groups."), key);
    if (key != "client_groups.east, far.eval.unseen.rmse") continue;
    ++found;
    const auto summary = json::parse(read_file(folder / "0.02/summary.json"));
    BOOST_TEST(figure["better"] == "smaller");
    BOOST_TEST(figure["configurations"][1]["mean"] == summary["client_groups"]["east, far"]["eval"]["unseen"]["rmse"]);
    BOOST_TEST(figure["configurations"][1]["difference"]["n"] == 1);
  }
  BOOST_TEST(found == 1U);
  const auto tasks =
      run_furlong(folder, {"compare", (folder / "0.05").string(), "--by", "group", "--metric", "folded"});
  BOOST_TEST(tasks.code == 0, tasks.err);
  BOOST_TEST(has(tasks.out, "client_groups.south.folded\n"), tasks.out);
  // Regions of other clients are no pair.
  auto table = read_file(folder / "phones.csv");
  std::ofstream(folder / "phones.csv") << table.replace(table.rfind("\"north\""), 7, "\"south\"");
  const auto moved = run_furlong(folder, {"run", scenario_in(folder).string(), "--out", (folder / "moved").string(),
                                          "--set", "algorithm.client.lr=0.04"});
  BOOST_REQUIRE_MESSAGE(moved.code == 0, moved.err);
  const auto unlike = run_furlong(folder, {"compare", (folder / "0.05").string(), (folder / "moved").string(), "--by",
                                           "group", "--metric", "eval.unseen.rmse", "--format", "json"});
  const auto unpaired = json::parse(unlike.out)["figures"];
  BOOST_TEST(unpaired.size() == 3U);
  for (const auto& figure : unpaired) BOOST_TEST(figure["configurations"][1]["difference"]["n"] == 0);
  BOOST_TEST(has(read_file(folder / "0.05/report.html"), "Groups of clients"));
}

BOOST_AUTO_TEST_CASE(runs_without_groups_are_not_divided_by_them) {
  const scratch_folder folder;
  const auto run = (folder / "run").string();
  BOOST_REQUIRE(run_furlong(folder, {"run", small_scenario(folder, "furl", 3).string(), "--out", run}).code == 0);
  const auto refused = run_furlong(folder, {"compare", run, "--by", "group"});
  BOOST_TEST(refused.code == 2);
  BOOST_TEST(has(refused.err, "no finished run has groups of clients; set evaluation.client_groups"), refused.err);
  BOOST_TEST(!has(read_file(folder / "run/summary.json"), "client_groups"));
}

BOOST_AUTO_TEST_CASE(the_table_is_part_of_the_data_and_read_where_devices_are) {
  const scratch_folder folder;
  const auto file = scenario_in(folder).string();
  const auto missing = run_furlong(folder, {"validate", file});
  BOOST_TEST(missing.code == 0, missing.err);
  BOOST_TEST(has(missing.out, ": valid without its table of devices, which is missing\n"), missing.out);
  BOOST_TEST(run_furlong(folder, {"test", file}).code == 3);
  std::ofstream(folder / "phones.csv") << "client,group,mbit\n0,a,-1\n";
  const auto damaged = run_furlong(folder, {"validate", file});
  BOOST_TEST(damaged.code == 2, damaged.out);
  BOOST_TEST(has(damaged.err, "phones.csv:2: mbit is \"-1\""), damaged.err);
  BOOST_TEST(run_furlong(folder, {"test", file}).code == 2);
  std::ofstream(folder / "phones.csv") << "client,group,mbit\n0,a,1\n";
  const auto few = run_furlong(folder, {"validate", file});
  BOOST_TEST(few.code == 2, few.out);
  BOOST_TEST(has(few.err, "has rows for 1 clients, and the data have 120"), few.err);
  write_table(folder);
  BOOST_TEST(has(run_furlong(folder, {"validate", file}).out, ": valid\n"));
  const auto run = (folder / "run").string();
  BOOST_TEST(run_furlong(folder, {"run", file, "--out", run, "--stop-after", "3"}).code == 5);
  // Other devices make another run.
  write_table(folder, 20.0);
  const auto changed = run_furlong(folder, {"run", run + "/scenario.toml", "--resume", "--out", run});
  BOOST_TEST(changed.code == 3, changed.err);
  BOOST_TEST(has(changed.err, "the data differ from those that the run started with"), changed.err);
  write_table(folder);
  BOOST_TEST(run_furlong(folder, {"run", run + "/scenario.toml", "--resume", "--out", run}).code == 0);
  // Who asks for predictions needs neither devices nor groups.
  std::filesystem::remove(folder / "phones.csv");
  const auto asked = run_furlong(folder, {"infer", run, "--client", "3"});
  BOOST_TEST(asked.code == 0, asked.err);
}

BOOST_AUTO_TEST_CASE(speeds_are_imported_in_the_order_of_the_trace_beside_them) {
  const scratch_folder folder;
  std::ofstream(folder / "capacity.json") << R"({"1": {"computation": 162.0, "communication": 6271.0},)"
                                          << R"( "2": {"computation": 25, "communication": 1000}})";
  std::ofstream(folder / "behave.jsonl") << R"({"client": 2, "active": [1], "inactive": [2], "finish_time": 86400})"
                                         << '\n'
                                         << R"({"client": 1, "active": [1], "inactive": [2], "finish_time": 86400})"
                                         << '\n';
  const auto out = (folder / "phones.csv").string();
  const auto plain = run_furlong(folder, {"trace", "devices", (folder / "capacity.json").string(), "--out", out});
  BOOST_TEST(plain.code == 0, plain.err);
  BOOST_TEST(read_file(out) == "client,ms_per_example,mbit\n0,162,6.271\n1,25,1\n");
  const auto beside = run_furlong(folder, {"trace", "devices", (folder / "capacity.json").string(), "--trace",
                                           (folder / "behave.jsonl").string(), "--out", out});
  BOOST_TEST(beside.code == 0, beside.err);
  BOOST_TEST(read_file(out) == "client,ms_per_example,mbit\n0,25,1\n1,162,6.271\n");
}

BOOST_AUTO_TEST_SUITE_END()
