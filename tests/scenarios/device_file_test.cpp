// Tables of devices and of groups of clients, and the import of FedScale's speeds.
#include "scenarios/traces/device_file.hpp"

#include <boost/test/unit_test.hpp>

#include "scenarios/traces/capacity_import.hpp"
#include "scenarios/traces/trace_import.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(device_files_of_scenarios)

using namespace furlong;
using namespace furlong::scenarios;

namespace {

federated::device_table good(std::string_view text) {
  auto table = read_device_table(text, "good.csv");
  BOOST_REQUIRE_MESSAGE(table.has_value(), testing::text_of(table));
  return std::move(*table);
}

void says(const std::string& problem, const std::string& place, const std::string& why) {
  BOOST_TEST(problem.starts_with("bad.csv" + place + ": "), problem);
  BOOST_TEST(problem.find(why) != std::string::npos, problem);
  BOOST_TEST(problem.find("; ") != std::string::npos, problem);  // the fix
}

void refuses(std::string_view text, const std::string& place, const std::string& why) {
  says(testing::text_of(read_device_table(text, "bad.csv")), place, why);
}

void refuses_groups(std::string_view text, const std::string& place, const std::string& why) {
  says(testing::text_of(read_client_groups(text, "bad.csv", 3)), place, why);
}

/// "162/6.271 25/1", or what is wrong.
std::string imported(std::string_view text, const std::vector<std::string>& order = {}) {
  const auto table = import_capacities(text, "file.json", order);
  if (!table) return table.error().text();
  const auto csv = device_csv(*table);
  const auto again = read_device_table(csv, "csv");
  BOOST_REQUIRE_MESSAGE(again.has_value(), testing::text_of(again));
  BOOST_TEST((again->ms_per_example == table->ms_per_example && again->mbit == table->mbit));
  return csv;
}

constexpr const char* capacities =
    R"({"7": {"computation": 162.0, "communication": 6271.0}, "3": {"communication": 1e3, "computation": 25},)"
    R"( "10": {"computation": 0.1, "communication": 5, "model": {"name": ["x"]}}})";

}  // namespace

BOOST_AUTO_TEST_CASE(rows_are_sorted_by_client_and_empty_fields_say_nothing) {
  const auto table = good(
      "\xEF\xBB\xBFtrain,\"client\",ms_per_example\r\n"
      "0.25,2,10\r\n"
      ", 0 ,\"1.5\"\r\n"
      "\r\n"
      "1,1,\r\n");
  BOOST_TEST(table.devices == 3U);
  BOOST_TEST(table.mbit.empty());
  BOOST_TEST(table.dropout[0].empty());
  for (const std::uint32_t lap : {0U, 3U, 300U}) {  // rows are used again
    BOOST_TEST((table.value(table.ms_per_example, lap) == std::optional(1.5)));
    BOOST_TEST((table.value(table.ms_per_example, lap + 1) == std::nullopt));
    BOOST_TEST((table.value(table.ms_per_example, lap + 2) == std::optional(10.0)));
    BOOST_TEST((table.value(table.dropout[1], lap) == std::nullopt));
    BOOST_TEST((table.value(table.dropout[1], lap + 1) == std::optional(1.0)));
    BOOST_TEST((table.value(table.dropout[1], lap + 2) == std::optional(0.25)));
    BOOST_TEST((table.value(table.mbit, lap) == std::nullopt));
  }
}

BOOST_AUTO_TEST_CASE(every_column_has_its_place) {
  const auto table = good("client,group,ms_per_example,mbit,download,train,upload\n0,,1,2,0.3,0.4,0.5\n");
  BOOST_TEST(table.ms_per_example[0] == 1.0);
  BOOST_TEST(table.mbit[0] == 2.0);
  BOOST_TEST(table.dropout[0][0] == 0.3);
  BOOST_TEST(table.dropout[1][0] == 0.4);
  BOOST_TEST(table.dropout[2][0] == 0.5);
}

BOOST_AUTO_TEST_CASE(what_is_wrong_with_a_table_is_named_with_file_and_line) {
  refuses("", "", "the file is empty");
  refuses("client,mbit\n", "", "has no device");
  refuses("client,speed\n0,1\n", ":1", "has a column \"speed\", which has no meaning");
  refuses("client,mbit,mbit\n0,1,1\n", ":1", "has the column \"mbit\" twice");
  refuses("mbit\n1\n", ":1", "has no column client");
  refuses("client,group\n0,a\n", ":1", "says nothing about devices");
  refuses("client,mbit\n0,1\n1\n", ":3", "has 1 fields, but the header has 2");
  refuses("client,mbit\nx,1\n", ":2", "the client is \"x\", which is no whole number");
  refuses("client,mbit\n-1,1\n", ":2", "the client is \"-1\"");
  refuses("client,mbit\n100000000,1\n", ":2", "below 100 million");
  refuses("client,mbit\n0,1\n1,1\n0,2\n", ":4", "names client 0 again");
  refuses("client,mbit\n0,1\n2,1\n", "", "has a row for client 2 and none for client 1");
  refuses("client,mbit\n1,1\n", "", "has a row for client 1 and none for client 0");
  for (const auto* number : {"0", "-5", "fast", "nan", "inf", "1e301", "5 5"}) {
    refuses("client,mbit\n0," + std::string(number) + "\n", ":2", "which is no number above 0");
    refuses("client,ms_per_example\n0," + std::string(number) + "\n", ":2", "which is no number above 0");
  }
  for (const auto* column : {"download", "train", "upload"})
    for (const auto* rate : {"1.01", "-0.1", "nan", "inf", "often"})
      refuses("client," + std::string(column) + "\n0," + rate + "\n", ":2", "which is no number from 0 to 1");
}

BOOST_AUTO_TEST_CASE(every_client_has_one_group) {
  const auto groups = read_client_groups("client,group,mbit\n2,\"s, o\",\n0,north,5\n1,\"s, o\",\n", "good.csv", 3);
  BOOST_REQUIRE_MESSAGE(groups.has_value(), testing::text_of(groups));
  BOOST_TEST((groups->names == std::vector<std::string>{"s, o", "north"}));
  BOOST_TEST((groups->of_client == std::vector<std::uint32_t>{1, 0, 0}));
  refuses_groups("client,mbit\n0,1\n", ":1", "has no column group");
  refuses_groups("client,group\n0,a\n1,\n2,b\n", ":3", "names no group");
  refuses_groups("client,group\n0,a\n1,\xFF\n2,b\n", ":3", "the group is not UTF-8");
  refuses_groups("client,group\n0,a\n1,b\n1,c\n", ":4", "names client 1 again");
  refuses_groups("client,group\n0,a\n1,b\n", "", "has rows for 2 clients, and the data have 3");
  refuses_groups("client,group\n0,a\n1,b\n2,a\n3,a\n", "", "has rows for 4 clients, and the data have 3");
  refuses_groups("client,group,mbit\n0,a,\n1,b,0\n2,a,\n", ":3", "mbit is \"0\"");
}

BOOST_AUTO_TEST_CASE(capacities_become_rows_in_the_order_of_the_file_or_of_the_trace) {
  BOOST_TEST(imported(capacities) == "client,ms_per_example,mbit\n0,162,6.271\n1,25,1\n2,0.1,0.005\n");
  BOOST_TEST(imported(capacities, {"10", "7"}) == "client,ms_per_example,mbit\n0,0.1,0.005\n1,162,6.271\n");
  // Without names by position.
  BOOST_TEST(imported(capacities, {"", ""}) == "client,ms_per_example,mbit\n0,162,6.271\n1,25,1\n");
  BOOST_TEST(imported("\xEF\xBB\xBF" + std::string(capacities)) == imported(capacities));
}

BOOST_AUTO_TEST_CASE(the_names_of_a_behaviour_trace_are_those_of_its_devices_in_order) {
  const testing::temporary_directory folder;
  const auto names = [&](std::string_view text) { return device_names(folder.write("trace", text)).value(); };
  const std::string times = R"("active": [1], "inactive": [2], "finish_time": 86400)";
  using list = std::vector<std::string>;
  BOOST_TEST((names("{\"client\": 7, " + times + "}\n{\"client\": 3, " + times + "}\n") == list{"7", "3"}));
  BOOST_TEST((names("{\"9\": {" + times + "}, \"10\": {" + times + "}}\n") == list{"9", "10"}));
  BOOST_TEST((names("{" + times + "}\n{" + times + "}\n") == list{"", ""}));
  BOOST_TEST((names("client,active,inactive\n5,1,2\n4,1,2\n5,3,4\n") == list{"5", "4"}));
}

BOOST_AUTO_TEST_CASE(capacities_that_are_wrong_are_refused) {
  const auto refused = [](std::string_view text, const std::vector<std::string>& order, const std::string& why) {
    const auto said = imported(text, order);
    BOOST_TEST(said.starts_with("file.json: "), said);
    BOOST_TEST(said.find(why) != std::string::npos, said);
    BOOST_TEST(said.find("; ") != std::string::npos, said);  // the fix
  };
  refused("", {}, "is not a JSON object");
  refused("[1]", {}, "is not a JSON object");
  refused("{\"1\": {\"computation\": 1", {}, "is not a JSON object");
  refused("{}", {}, "has no device");
  refused("{\"1\": 5}", {}, "device \"1\" is \"5\", which is no object");
  refused("{\"1\": [5]}", {}, "device \"1\" is a list, which is no object");
  refused(R"({"1": {"computation": 1}})", {}, "device \"1\" has no communication");
  refused(R"({"1": {"communication": 1}})", {}, "device \"1\" has no computation");
  for (const auto* value : {"0", "-1", "\"1\"", "null", "{}"})
    refused(R"({"1": {"communication": 1, "computation": )" + std::string(value) + "}}", {},
            "which is no number above 0");
  const std::string one = R"({"computation": 1, "communication": 1})";
  refused("{\"1\": " + one + ", \"1\": " + one + "}", {}, "has device \"1\" twice");
  refused(capacities, {"7", "8"}, "has no device \"8\", which the trace has");
  refused(capacities, {"", "", "", ""}, "has 3 devices, and the trace 4");
}

BOOST_AUTO_TEST_SUITE_END()
