#include "scenarios/traces/trace_file.hpp"

#include <boost/test/unit_test.hpp>
#include <sstream>

#include "federated/settings/devices.hpp"
#include "federated/world/availability.hpp"
#include "scenarios/traces/trace_sample.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(trace_files)

using namespace furlong;
using namespace furlong::scenarios;
using federated::availability_trace;
using federated::virtual_time;

namespace {

constexpr virtual_time second = federated::microseconds_per_second;

availability_trace good(std::string_view text) {
  auto trace = read_trace(text, "good.csv");
  BOOST_REQUIRE_MESSAGE(trace.has_value(), testing::text_of(trace));
  return std::move(*trace);
}

std::string problem_of(std::string_view text) { return testing::text_of(read_trace(text, "bad.csv")); }

bool same(const availability_trace& one, const availability_trace& other) {
  return one.length == other.length && one.offsets == other.offsets && one.starts == other.starts &&
         one.ends == other.ends;
}

/// "0:10-20 30-40 1:5-6", in seconds.
std::string shape(const availability_trace& trace) {
  std::ostringstream text;
  for (std::size_t device = 0; device < trace.devices(); ++device) {
    text << (device == 0 ? "" : " ") << device << ':';
    for (auto at = trace.offsets[device]; at < trace.offsets[device + 1]; ++at)
      text << (at == trace.offsets[device] ? "" : " ") << seconds_text(trace.starts[at]) << '-'
           << seconds_text(trace.ends[at]);
  }
  return text.str();
}

}  // namespace

BOOST_AUTO_TEST_CASE(lines_come_in_any_order_and_intervals_are_merged) {
  const auto trace = good(
      "client,start,end\n"
      "70,30,40.5\n"
      "9,0,1\n"
      "70,10,20\n"
      "\n"
      "70,19.5,25\r\n"
      "70,25,26\n"
      "# a remark\n"
      " 9 , 100 , 200 \n"
      "70,31,32");
  BOOST_TEST(shape(trace) == "0:0-1 100-200 1:10-26 30-40.5");
  BOOST_TEST(trace.length == 86400 * second);
}

BOOST_AUTO_TEST_CASE(the_length_is_whole_days_or_what_the_file_says) {
  BOOST_TEST(good("0,0,86400\n").length == 86400 * second);
  BOOST_TEST(good("0,0,86400.000001\n").length == 2 * 86400 * second);
  BOOST_TEST(good("# length = 604800\n0,0,1\n").length == 604800 * second);
  BOOST_TEST(good("0,0,1\n#length=1.5\n").length == 3 * second / 2);
}

BOOST_AUTO_TEST_CASE(declared_clients_exist_without_intervals) {
  const auto trace = good("# clients = 4\n2,1,2\n");
  BOOST_TEST(shape(trace) == "0: 1: 2:1-2 3:");
  BOOST_TEST(good("# clients = 2\n").devices() == 2U);
}

BOOST_AUTO_TEST_CASE(times_are_kept_to_the_microsecond) {
  const auto trace = good("0,0.000001,0.1234564\n1,1.0000005,2.9999999\n");
  BOOST_TEST(trace.starts[0] == 1);
  BOOST_TEST(trace.ends[0] == 123456);
  BOOST_TEST(trace.starts[1] == 1000001);
  BOOST_TEST(trace.ends[1] == 3 * second);
  BOOST_TEST(seconds_text(1000010) == "1.00001");
  BOOST_TEST(seconds_text(7 * second) == "7");
}

BOOST_AUTO_TEST_CASE(what_is_wrong_is_named_with_file_and_line) {
  const auto says = [](std::string_view text, const std::string& place, const std::string& why) {
    const auto problem = problem_of(text);
    BOOST_TEST(problem.starts_with("bad.csv" + place + ": "), problem);
    BOOST_TEST(problem.find(why) != std::string::npos, problem);
    BOOST_TEST(problem.find("; ") != std::string::npos, problem);  // the fix
  };
  says("", "", "no interval");
  says("client,start,end\n", "", "no interval");
  says("0,1,2\nclient,start,end\n", ":2", "the client is not a whole number");
  says("user,from,to\n0,1,2\n", ":1", "the client is not a whole number");
  says("0,1,2\n0,5,5\n", ":2", "found \"0,5,5\": the end does not lie after the start");
  says("0,6,5\n", ":1", "the end does not lie after the start");
  says("0,-1,5\n", ":1", "the start is negative");
  says("0,1,-5\n", ":1", "the end is negative");
  says("-1,1,5\n", ":1", "the client is not a whole number");
  says("4294967296,1,5\n", ":1", "the client is not a whole number");
  says("0.5,1,5\n", ":1", "no comma after the client");
  says("0,x,5\n", ":1", "the start is not a number");
  says("0,1,nan\n", ":1", "the end is not a number");
  says("0,1,3155760001\n", ":1", "the end is not a number of seconds up to a century");
  says("0,1,99999999999999999999999\n", ":1", "the end is not a number");
  says("0,1,.\n", ":1", "the end is not a number");
  says("0,1\n", ":1", "no comma after the start");
  says("0,1,2,3\n", ":1", "something follows the end");
  says("0,1,2e3\n", ":1", "something follows the end");
  says("# length = soon\n0,1,2\n", ":1", "the length is no number of seconds");
  says("0,1,2\n# length = 1\n", ":2", "the length is 1 s, and an interval ends at 2 s");
  says("# clients = 5\n5,1,2\n", ":1", "5 clients, and one is number 5");
  says("# clients = -1\n5,1,2\n", ":1", "no number of clients");
}

BOOST_AUTO_TEST_CASE(what_is_written_reads_back_the_same) {
  const testing::temporary_directory folder;
  const auto trace = good("# length = 12.5\n# clients = 3\n2,0.25,1\n0,3,4.000001\n2,5,12.5\n");
  const auto file = folder.path() / "trace.csv";
  const auto written = write_trace(trace, file);
  BOOST_REQUIRE(written.has_value());
  const auto read = read_trace(file);
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  BOOST_TEST(same(*read, trace));
  BOOST_TEST(!write_trace(trace, folder.path() / "missing" / "trace.csv").has_value());
  BOOST_TEST(!read_trace(folder.path() / "missing.csv").has_value());
}

BOOST_AUTO_TEST_CASE(a_file_that_cannot_be_written_whole_leaves_the_old_one) {
  testing::temporary_directory root;
  const auto file = root.path() / "t.csv";
  const auto trace = good("client,start,end\n0,1,2\n");
  BOOST_TEST(testing::text_of(write_trace(trace, file)) == "");
  // Where the new one would be written, something stands in the way.
  std::filesystem::create_directory(root.path() / "t.csv.part");
  BOOST_TEST(testing::text_of(write_trace(good("client,start,end\n7,8,9\n"), file)).find("cannot be written") !=
             std::string::npos);
  BOOST_TEST(same(*read_trace(file), trace));
}

BOOST_AUTO_TEST_CASE(a_link_stays_and_so_does_who_may_read) {
  testing::temporary_directory root;
  const auto file = root.path() / "t.csv";
  const auto link = root.path() / "link.csv";
  const auto trace = good("client,start,end\n0,1,2\n");
  std::filesystem::create_symlink(file, link);
  BOOST_TEST(testing::text_of(write_trace(trace, link)) == "");
  BOOST_TEST(std::filesystem::is_symlink(link));
  BOOST_TEST(same(*read_trace(file), trace));
  const auto owner = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(file, owner);
  BOOST_TEST(testing::text_of(write_trace(trace, file)) == "");
  BOOST_TEST((std::filesystem::status(file).permissions() == owner));
}

BOOST_AUTO_TEST_CASE(an_excel_file_begins_with_a_mark) {
  BOOST_TEST(shape(good("\xEF\xBB\xBF"
                        "client,start,end\n0,1,2\n")) == "0:1-2");
}

BOOST_AUTO_TEST_CASE(clients_are_not_made_up_by_the_billion) {
  BOOST_TEST(problem_of("# clients = 4294967295\n0,1,2\n").find("at most 100 million clients") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(facts_are_those_of_the_intervals) {
  // Two days of two devices: one from 1:30 to 3:00 on the first day, one never.
  const auto facts = describe(good("# length = 172800\n# clients = 2\n0,5400,10800\n0,93600,93660\n"));
  BOOST_TEST(facts.devices == 2U);
  BOOST_TEST(facts.never_available == 1U);
  BOOST_TEST(facts.intervals == 2U);
  BOOST_TEST(facts.longest == 5400 * second);
  BOOST_TEST(facts.mean_interval == 2730.0);
  BOOST_TEST(std::abs(facts.mean_availability - 5460.0 / 345600.0) < 1e-12);
  BOOST_TEST(std::abs(facts.by_hour[1] - 1800.0 / 14400.0) < 1e-12);
  BOOST_TEST(std::abs(facts.by_hour[2] - 3660.0 / 14400.0) < 1e-12);
  BOOST_TEST(facts.by_hour[0] == 0.0);
  BOOST_TEST(facts.by_hour[3] == 0.0);
}

BOOST_AUTO_TEST_CASE(a_sample_is_available_when_its_generator_is) {
  federated::availability_settings settings;
  settings.rate = 0.3;
  settings.step = 300;
  settings.dwell = 600;
  settings.mean_online = 1500;
  const auto day = 86400 * second;
  for (const std::string kind : {"markov", "diurnal", "bernoulli"}) {
    settings.kind = kind;
    const auto sampled = sample_trace(settings, 9, 40, day);
    BOOST_REQUIRE(sampled.has_value());
    BOOST_TEST(sampled->devices() == 40U);
    BOOST_TEST(sampled->length == day);
    const auto replayed = federated::make_traced(std::make_shared<const availability_trace>(*sampled));
    const auto original = kind == "markov"    ? federated::make_markov(settings, 9, nullptr)
                          : kind == "diurnal" ? federated::make_diurnal(settings, 9, nullptr)
                                              : federated::make_bernoulli(settings, 9, nullptr);
    std::size_t available = 0;
    for (std::uint32_t client = 0; client < 40; ++client)
      for (virtual_time now = 17 * second; now < day; now += 101 * second) {
        const auto round = static_cast<std::uint64_t>(now / (300 * second));
        const bool expected = original->available(client, now, round);
        BOOST_TEST(replayed->available(client, now, 0) == expected);
        available += expected ? 1U : 0U;
      }
    BOOST_TEST(available > 4000U);
  }
  settings.kind = "always";
  const auto always = sample_trace(settings, 9, 2, day);
  BOOST_REQUIRE(always.has_value());
  BOOST_TEST(shape(*always) == "0:0-86400 1:0-86400");
}

BOOST_AUTO_TEST_SUITE_END()
