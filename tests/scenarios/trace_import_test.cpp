#include "scenarios/traces/trace_import.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "scenarios/traces/trace_file.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(trace_imports)

using namespace furlong;
using namespace furlong::scenarios;
using federated::availability_trace;

namespace {

/// "172800|0:10-20 30-40 1:5-6", in seconds; or what is wrong.
std::string imported(std::string_view text, foreign_trace format = foreign_trace::automatic) {
  const auto trace = import_trace(text, "file", format);
  if (!trace) return trace.error().text();
  std::ostringstream out;
  out << seconds_text(trace->length) << '|';
  for (std::size_t device = 0; device < trace->devices(); ++device) {
    out << (device == 0 ? "" : " ") << device << ':';
    for (auto at = trace->offsets[device]; at < trace->offsets[device + 1]; ++at)
      out << (at == trace->offsets[device] ? "" : " ") << seconds_text(trace->starts[at]) << '-'
          << seconds_text(trace->ends[at]);
  }
  return out.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(fedscale_spells_repeat_after_the_finish_time) {
  BOOST_TEST(imported(R"({"client": 7, "duration": 30000, "active": [100, 20000], "inactive": [5000, 30000.5],)"
                      R"( "finish_time": 43200, "model": "A1"})"
                      "\n"
                      R"({"client": 3, "active": [], "inactive": [], "finish_time": 86400})"
                      "\n") == "86400|0:100-5000 20000-30000.5 43300-48200 63200-73200.5 1:");
  // Open at the end; open at the beginning; an instant; beyond the finish.
  BOOST_TEST(imported(R"({"active": [10, 50000], "inactive": [20], "finish_time": 86400})") ==
             "86400|0:10-20 50000-86400");
  BOOST_TEST(imported(R"({"active": [30], "inactive": [20, 40], "finish_time": 86400})") == "86400|0:0-20 30-40");
  // Open at both ends: as many beginnings as ends, of different spells.
  BOOST_TEST(imported(R"({"active": [30, 60], "inactive": [20, 40], "finish_time": 86400})") ==
             "86400|0:0-20 30-40 60-86400");
  BOOST_TEST(imported(R"({"active": [], "inactive": [20], "finish_time": 86400})") == "86400|0:0-20");
  BOOST_TEST(imported(R"({"active": [1, 3], "inactive": [1, 4], "finish_time": 86400})") == "86400|0:3-4");
  BOOST_TEST(imported(R"({"active": [80000], "inactive": [90000], "finish_time": 86400})") == "86400|0:80000-86400");
  // What does not fit the length whole is cut off there.
  BOOST_TEST(imported("{\"active\": [0], \"inactive\": [30000], \"finish_time\": 50000}\n"
                      "{\"active\": [1], \"inactive\": [2], \"finish_time\": 86400}\n") ==
             "86400|0:0-30000 50000-80000 1:1-2");
}

BOOST_AUTO_TEST_CASE(a_byte_order_mark_is_no_part_of_a_header) {
  const std::string plain = "client,active,inactive,finish_time\n1,0,50,86400\n";
  BOOST_TEST(imported(plain) == "86400|0:0-50");
  BOOST_TEST(imported("\xEF\xBB\xBF" + plain) == imported(plain));
}

BOOST_AUTO_TEST_CASE(what_nests_deeper_than_a_stack_is_told_like_anything_else) {
  const std::string deep = std::string(200'000, '[') + std::string(200'000, ']');
  BOOST_TEST(imported(R"({"active": [)" + deep + R"(], "inactive": []})").find("active holds a list, which is no") !=
             std::string::npos);
  BOOST_TEST(imported(R"({"client": )" + deep + R"(, "active": [1], "inactive": [2]})")
                 .find("client is a list, which is no name") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(all_devices_may_stand_in_one_object) {
  BOOST_TEST(imported(R"({"5": {"active": [1], "inactive": [2], "finish_time": 86400},)"
                      R"( "6": {"active": [3], "inactive": [4], "finish_time": 86400}})") == "86400|0:1-2 1:3-4");
  // Numbered as the file names them, not in the order of their names.
  BOOST_TEST(imported(R"({"b": {"active": [1], "inactive": [2], "finish_time": 86400},)"
                      R"( "a": {"active": [3], "inactive": [4], "finish_time": 86400},)"
                      R"( "10": {"active": [5], "inactive": [6], "finish_time": 86400}})") ==
             "86400|0:1-2 1:3-4 2:5-6");
  const std::string log = R"("messages": "2020-02-04 00:00:00\twifi\n2020-02-04 00:00:00\tbattery_charged_on\n)"
                          R"(2020-02-04 01:00:00\tscreen_off\n2020-02-04 02:00:00\tscreen_on")";
  const std::string idle = R"("messages": "2020-02-04 00:00:00\twifi")";
  BOOST_TEST(imported(R"({"z": {"guid": "z", )" + log + R"(}, "a": {"guid": "a", )" + idle + "}}") ==
             "86400|0:3600-7200 1:");
  const auto twice = imported(R"({"a": {"active": [1], "inactive": [2]}, "a": {"active": [3], "inactive": [4]}})");
  BOOST_TEST(twice.find("device \"a\" is on line 1 already") != std::string::npos, twice);
}

BOOST_AUTO_TEST_CASE(fedscale_tables) {
  BOOST_TEST(imported("client,active,inactive,finish_time\n9,5,6,86400\n2,1,2,86400\n9,7,8,86400\n") ==
             "86400|0:5-6 7-8 1:1-2");
  BOOST_TEST(imported("client,active,inactive\n9,5,86400\n") == "86400|0:5-86400");
}

BOOST_AUTO_TEST_CASE(flash_devices_are_available_while_charging_on_wifi_and_idle) {
  // Charging at 0:10, WiFi at 0:20, the screen off at 0:30: available, until the screen goes on at 1:00.
  const std::string log =
      R"(2020-02-04 00:10:00\tBattery_Charged_On\n2020-02-04 00:15:00\t80.0%\n2020-02-04 00:20:00\twifi\n)"
      R"(2020-02-04 00:30:00\tscreen_off\n2020-02-04 01:00:00\tscreen_on\n)"
      R"(2020-02-04 02:00:00\tscreen_lock\n2020-02-04 03:00:00\t4G\n2020-02-04 03:30:00\tWIFI\n)"
      R"(2020-02-04 04:00:00\tscreen_on\n2020-02-04 05:00:00\tbattery_charged_off\n2020-02-04 06:00:00\tscreen_unlock)";
  BOOST_TEST(imported(R"({"guid": "a", "model": "M", "messages": ")" + log + "\"}") ==
             "86400|0:1800-3600 7200-10800 12600-18000");
  // The same as a table, the lines of two devices mixed.
  BOOST_TEST(imported("guid,time,state\n"
                      "a,2020-02-04 00:10:00,battery_charged_on\n"
                      "b,2020-02-05 00:00:00,wifi\n"
                      "a,2020-02-04 00:20:00,wifi\n"
                      "a,2020-02-04 00:30:00,screen_off\n"
                      "b,2020-02-05 08:00:00,battery_okay\n"
                      "a,2020-02-04 01:00:00,phone_off\n") == "86400|0:1800-3600 1:");
}

BOOST_AUTO_TEST_CASE(flash_hours_of_the_day_stay_what_they_were) {
  // From noon of one day to 11:00 of the next: a period of one day; what was at 10:00 on the second day is at 10:00.
  const std::string first =
      R"({"guid": "a", "messages": "2020-02-04 12:00:00\tbattery_charged_on\n2020-02-04 12:00:00\tscreen_lock\n)"
      R"(2020-02-04 23:00:00\twifi\n2020-02-05 01:00:00\tunknown\n2020-02-05 10:00:00\twifi\n2020-02-05 11:00:00\t3g"})";
  BOOST_TEST(imported(first) == "86400|0:0-3600 36000-39600 82800-86400");
  // Beside a device with two days it is repeated; touching spells of the two repeats are one.
  const std::string second =
      R"({"guid": "b", "messages": "2020-02-04 00:00:00\twifi\n2020-02-05 00:00:01\tscreen_on"})";
  BOOST_TEST(imported(first + "\n" + second) ==
             "172800|0:0-3600 36000-39600 82800-90000 122400-126000 169200-172800 1:");
}

BOOST_AUTO_TEST_CASE(messages_of_a_log_are_sorted_and_it_ends_with_the_last) {
  BOOST_TEST(imported("guid,time,state\na,2020-02-04 03:00:00,80%\na,2020-02-04 01:00:00,wifi\n"
                      "a,2020-02-04 01:00:00,battery_charged_on\na,2020-02-04 02:00:00,screen_off\n") ==
             "86400|0:7200-10800");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_with_file_and_line) {
  const auto says = [](std::string_view text, const std::string& place, const std::string& why,
                       foreign_trace format = foreign_trace::automatic) {
    const auto problem = imported(text, format);
    BOOST_TEST(problem.starts_with("file" + place + ": "), problem);
    BOOST_TEST(problem.find(why) != std::string::npos, problem);
  };
  const std::string one = R"({"client": 1, "active": [1], "inactive": [2], "finish_time": 9})";
  says("", "", "no device");
  says("client,start,end\n0,1,2\n", ":1", "found \"client,start,end\"");
  says(one + "\n{\"client\": 2", ":2", "no JSON object");
  says(one + "\n[1]", ":2", "no JSON object");
  says(one + "\n" + one, ":2", "device \"1\" is on line 1 already");
  says(R"({"client": 1, "active": [1]})", ":1", "device \"1\": it has no list inactive");
  says(R"({"active": [-1], "inactive": [2]})", ":1", "active holds \"-1\"");
  says(R"({"active": ["1"], "inactive": [2]})", ":1", "active holds");
  says(R"({"active": [1], "inactive": [2], "finish_time": 0})", ":1", "finish_time is no number of seconds above 0");
  says(one + "\n" + R"({"active": [1, 5], "inactive": [3, 4], "finish_time": 9})", ":2",
       "an interval ends before it starts (number 2)");
  says(R"({"active": [5, 6, 7], "inactive": [6], "finish_time": 9})", ":1", "active 3 times and inactive 1 times");
  says(R"({"active": [], "inactive": []})", ":1", "neither a finish_time nor a time above 0");
  says("client,active,inactive,finish_time\n1,2,3\n", ":2", "another number of columns");
  says("client,active,inactive\n1,2,3,4,5\n", ":2", "too many columns");
  says("client,active,inactive,finish_time\n1,2,3,9\n1,4,5,10\n", ":3", "another finish_time");
  says("client,active,inactive\n1,2,x\n", ":2", "no number of seconds");
  says(R"({"guid": "g", "messages": "yesterday\twifi"})", ":1", "device \"g\": \"yesterday\" is no time");
  says(R"({"guid": "g", "messages": "2020-02-30 00:00:00\twifi"})", ":1", "is no time");
  says(R"({"guid": "g", "messages": "2020-02-03 24:00:00\twifi"})", ":1", "is no time");
  says(R"({"guid": "g", "messages": "2020-02-03 00:00:00\tasleep"})", ":1", "\"asleep\" is no known state");
  says(R"({"guid": "g", "messages": "2020-02-03 00:00:00 wifi"})", ":1", "no tab");
  says(R"({"guid": "g", "messages": ""})", ":1", "no message");
  says("guid,time,state\ng,2020-02-03 00:00:00,asleep\n", ":2", "no known state");
  says(one, ":1", "found a device of FedScale", foreign_trace::flash);
  says("guid,time,state\n", ":1", "found \"guid,time,state\"", foreign_trace::fedscale);
  // A period of a microsecond would have to be repeated 86 thousand million times.
  says(R"({"active": [0], "inactive": [0.000001], "finish_time": 0.000002})", "", "more than 100 million intervals");
}

BOOST_AUTO_TEST_SUITE_END()
