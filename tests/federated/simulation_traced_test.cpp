#include <boost/test/unit_test.hpp>
#include <stdexcept>

#include "tests/federated/simulation_worlds.hpp"

BOOST_AUTO_TEST_SUITE(traced_availability)

using namespace furlong;
using namespace furlong::federated;

namespace {

using interval = std::pair<virtual_time, virtual_time>;

std::shared_ptr<const availability_trace> trace_of(virtual_time length, const std::vector<std::vector<interval>>& of) {
  auto made = std::make_shared<availability_trace>();
  made->length = length;
  made->offsets.push_back(0);
  for (const auto& device : of) {
    for (const auto& [start, end] : device) {
      made->starts.push_back(start);
      made->ends.push_back(end);
    }
    made->offsets.push_back(made->starts.size());
  }
  return made;
}

struct expectation {
  virtual_time now;
  bool available;
  virtual_time changes;
};

void check(const availability& model, std::uint32_t client, const std::vector<expectation>& all) {
  for (const auto& [now, available, changes] : all) {
    BOOST_TEST(model.available(client, now, 0) == available, "client " << client << " at " << now);
    BOOST_TEST(model.changes(client, now, 0) == changes, "client " << client << " at " << now);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(intervals_are_half_open_and_come_again_after_the_length) {
  const auto model = make_traced(trace_of(100, {{{10, 20}, {50, 60}}}));
  check(*model, 0,
        {{0, false, 10},
         {9, false, 10},
         {10, true, 20},
         {19, true, 20},
         {20, false, 50},
         {59, true, 60},
         {60, false, 110},  // a gap across the end
         {99, false, 110},
         {100, false, 110},
         {110, true, 120},
         {760, false, 810},
         {1'000'000'055, true, 1'000'000'060}});
}

BOOST_AUTO_TEST_CASE(intervals_that_meet_across_the_end_are_one_spell) {
  const auto model = make_traced(trace_of(100, {{{0, 5}, {90, 100}}}));
  check(*model, 0,
        {{0, true, 5}, {5, false, 90}, {90, true, 105}, {99, true, 105}, {100, true, 105}, {105, false, 190}});
}

BOOST_AUTO_TEST_CASE(an_interval_at_one_end_alone_stops_there) {
  const auto last = make_traced(trace_of(100, {{{30, 100}}}));
  check(*last, 0, {{30, true, 100}, {99, true, 100}, {100, false, 130}, {130, true, 200}});
  const auto first = make_traced(trace_of(100, {{{0, 30}}}));
  check(*first, 0, {{0, true, 30}, {30, false, 100}, {99, false, 100}, {100, true, 130}});
}

BOOST_AUTO_TEST_CASE(a_device_that_is_always_or_never_there_never_changes) {
  const auto model = make_traced(trace_of(100, {{{0, 100}}, {}}));
  check(*model, 0, {{0, true, never}, {99, true, never}, {100, true, never}});
  check(*model, 1, {{0, false, never}, {99, false, never}, {100, false, never}});
}

BOOST_AUTO_TEST_CASE(clients_share_the_devices_in_turn) {
  const auto model = make_traced(trace_of(100, {{{0, 10}}, {{10, 20}}, {{20, 30}}}));
  for (std::uint32_t client = 0; client < 12; ++client)
    check(*model, client, {{client % 3 * 10, true, client % 3 * 10 + 10}});
}

BOOST_AUTO_TEST_CASE(a_trace_of_nothing_is_refused) {
  BOOST_CHECK_THROW((void)make_traced(nullptr), std::logic_error);
  BOOST_CHECK_THROW((void)make_traced(trace_of(100, {})), std::logic_error);
  BOOST_CHECK_THROW((void)make_traced(trace_of(0, {{}})), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
