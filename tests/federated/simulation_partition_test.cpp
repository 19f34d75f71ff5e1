// Partitions that span the end of a client's availability, against an independent simulation of docs/simulation.md that
// goes second by second.
#include <algorithm>
#include <set>

#include "federated/experiment/algorithm.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/federated/simulation_worlds.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(partitions)

using namespace furlong;
using namespace furlong::federated;
using tests::second;

namespace {

/// Available from each even entry up to the following odd one, in seconds; after the last as it left it.
class flipped final : public availability {
 public:
  explicit flipped(std::vector<int> flips) : flips_(std::move(flips)) {}
  [[nodiscard]] bool at(int when) const {
    return std::ranges::count_if(flips_, [&](int f) { return f <= when; }) % 2;
  }
  bool available(std::uint32_t, virtual_time now, std::uint64_t) const override {
    return at(static_cast<int>(now / second));
  }
  virtual_time changes(std::uint32_t, virtual_time now, std::uint64_t) const override {
    for (const auto flip : flips_)
      if (flip * second > now) return flip * second;
    return never;
  }
  [[nodiscard]] int last() const { return flips_.empty() ? 0 : flips_.back(); }

 private:
  std::vector<int> flips_;
};

using gap = std::pair<int, int>;

/// A task with stages of whole seconds.
struct seconds_of_task {
  int trained = -1;
  int ended = -1;  ///< -1: never
  std::optional<drop_stage> dropped;
};

seconds_of_task step_by_step(std::array<int, 3> left, const flipped& presence, const std::vector<gap>& gaps,
                             bool pauses) {
  seconds_of_task made;
  const auto connected = [&](int when) {
    return std::ranges::none_of(gaps, [&](const gap& g) { return g.first <= when && when < g.second; });
  };
  std::size_t stage = 0;
  for (int now = 0; now < 5000; ++now) {
    // What is done now needs no more time; a report arrives only over a connection, of a device that was there up to
    // now.
    const bool there = presence.at(now) || (now > 0 && presence.at(now - 1));
    while (stage < 3 && left[stage] == 0 && (stage < 2 || (connected(now) && there))) {
      if (stage == 1) made.trained = now;
      if (stage == 2) made.ended = now;
      ++stage;
    }
    if (stage == 3) return made;
    if (!presence.at(now)) {
      if (pauses && now < presence.last()) continue;
      made.ended = now;
      made.dropped = static_cast<drop_stage>(stage);
      return made;
    }
    if ((stage < 2 || connected(now)) && left[stage] > 0) --left[stage];
  }
  return made;
}

/// 20 examples, so that training takes 3 s times 20 ms a ms; transfers of a byte a second.
experiment seconds_world(std::array<int, 3> spans, bool pauses) {
  static const auto clients = std::make_shared<tests::counted_population>();
  experiment e;
  e.settings.devices->ms_per_example = spans[1] * 1000.0 / 60.0;
  e.settings.devices->mbit = 8e-6;
  e.settings.devices->speed_sigma = e.settings.devices->network_sigma = 0.0;
  e.settings.dropout->policy = pauses ? dropout_policy::pause : dropout_policy::abort;
  e.participants = clients;
  e.download_bytes = static_cast<std::uint64_t>(spans[0]);
  e.planned_upload_bytes = [bytes = spans[2]](std::uint32_t) { return static_cast<std::uint64_t>(bytes); };
  return e;
}

std::shared_ptr<const world> world_with(const experiment& e, std::unique_ptr<const availability> presence) {
  return std::make_shared<world>(
      world{device_park(*e.settings.devices, e.settings.seed, *e.participants), std::move(presence)});
}

}  // namespace

BOOST_AUTO_TEST_CASE(an_upload_that_rests_is_interrupted_as_any_other) {
  random_stream draw(31, purpose::test);
  const auto up_to = [&](std::uint32_t most) { return static_cast<int>(draw.below(most)); };
  std::set<std::string> seen;
  for (int trial = 0; trial < 20'000; ++trial) {
    const std::array<int, 3> spans{1 + up_to(4), 1 + up_to(10), up_to(12)};
    const bool pauses = draw.below(2) == 0;
    std::vector<int> flips{0};
    for (auto count = draw.below(6); count > 0; --count) flips.push_back(flips.back() + 1 + up_to(25));
    std::vector<gap> gaps;
    for (int from = up_to(30), n = up_to(4); n > 0; --n) {
      gaps.emplace_back(from, from + 1 + up_to(30));
      from = gaps.back().second + 1 + up_to(10);
    }
    auto e = seconds_world(spans, pauses);
    e.around = world_with(e, std::make_unique<flipped>(flips));
    std::vector<disconnection> offline;
    for (const auto& [from, to] : gaps) offline.push_back({from * second, to * second});
    const auto expected = step_by_step(spans, flipped(flips), gaps, pauses);
    const auto is = draw_fate(e, {0, 0, 0, 0}, 0, offline);
    BOOST_TEST_REQUIRE(is.ends_at == expected.ended * second,
                       "trial " << trial << ": " << is.ends_at / second << ", not " << expected.ended);
    BOOST_TEST_REQUIRE((is.dropped == expected.dropped), "trial " << trial);
    BOOST_TEST_REQUIRE(is.trained_at == (expected.trained < 0 ? never : expected.trained * second));
    if (is.dropped) BOOST_TEST_REQUIRE((is.cause == drop_cause::off));
    seen.insert(std::to_string(pauses) + std::to_string(is.dropped ? static_cast<int>(*is.dropped) : 3) +
                std::to_string(is.ends_at == draw_fate(e, {0, 0, 0, 0}, 0).ends_at));
  }
  BOOST_TEST(seen.size() >= 11U);  // both policies: dropped in each stage, or not; delayed, or not
}

// As long as the end of a partition is not known the fate is that of a partition without one.
BOOST_AUTO_TEST_CASE(a_partition_that_is_not_healed_ends_a_task_only_by_availability) {
  const std::array<int, 3> spans{2, 3, 10};  // trained at 5
  const std::vector<disconnection> open{{8 * second, never}};
  for (const bool pauses : {false, true}) {
    auto e = seconds_world(spans, pauses);
    e.around = world_with(e, std::make_unique<flipped>(std::vector<int>{0}));
    BOOST_TEST(draw_fate(e, {0, 0, 0, 0}, 0, open).ends_at == never);
    e.around = world_with(e, std::make_unique<flipped>(std::vector<int>{0, 12, 40}));
    const auto leaves = draw_fate(e, {0, 0, 0, 0}, 0, open);
    BOOST_TEST(leaves.ends_at == (pauses ? never : 12 * second));
    BOOST_TEST(leaves.dropped.has_value() == !pauses);
    BOOST_TEST(leaves.trained_at == 5 * second);
  }
}

// An interruption that is drawn for a point of the upload comes when the upload gets there.
BOOST_AUTO_TEST_CASE(a_drawn_interruption_comes_later_by_as_long_as_the_upload_rests) {
  for (const bool pauses : {false, true}) {
    auto e = seconds_world({1, 1, 100}, pauses);
    e.settings.dropout->upload = 1.0;
    e.settings.dropout->mean_pause = 5.0;
    e.around = world_with(e, std::make_unique<flipped>(std::vector<int>{0}));
    std::array<int, 2> moved{};
    for (std::uint32_t client = 0; client < 200; ++client) {
      const task_id task{0, 3, client, 0};
      const std::vector<disconnection> offline{{52 * second, 1052 * second}};
      const auto is = draw_fate(e, task, 0, offline);
      const auto free = draw_fate(e, task, 0);
      BOOST_TEST_REQUIRE((is.dropped == free.dropped));
      BOOST_TEST_REQUIRE((pauses || is.cause == drop_cause::drawn));
      const bool before = !pauses && free.ends_at <= 52 * second;
      ++moved[before ? 0 : 1];
      if (!pauses) BOOST_TEST_REQUIRE(is.ends_at - free.ends_at == (before ? 0 : 1000 * second));
      // A pause in which the partition begins goes on meanwhile.
      if (pauses) BOOST_TEST_REQUIRE((is.ends_at > 1052 * second && is.ends_at <= free.ends_at + 1000 * second));
    }
    BOOST_TEST(moved[1] > 50);
    if (!pauses) BOOST_TEST(moved[0] > 50);
  }
}

namespace {

constexpr virtual_time off_at = 100 * second;
constexpr virtual_time lap = 10'000 * second;

/// Every device is available in the first 100 s of 10,000 s.
std::shared_ptr<const availability_trace> short_days() {
  auto made = std::make_shared<availability_trace>();
  made->length = lap;
  made->offsets = {0, 1};
  made->starts = {0};
  made->ends = {off_at};
  return made;
}

struct expected_end {
  virtual_time ends_at;
  outcome what;
};

/// Of a task that begins at once: a partition from 30 s to 500 s, and a device that is off from 100 s to 10,000 s.
expected_end end_of(const experiment& e, std::uint32_t client, bool pauses) {
  const auto own = e.around->devices.of(client);
  const auto examples = e.settings.algorithm->does->plan(e.settings, e.participants->count(client, part::train));
  const auto trained = from_seconds(static_cast<double>(e.download_bytes) / own.bytes_per_second) +
                       from_seconds(static_cast<double>(examples) * own.seconds_per_example);
  const auto upload = from_seconds(static_cast<double>(e.planned_upload_bytes(client)) / own.bytes_per_second);
  if (trained + upload < 30 * second) return {trained + upload, outcome::folded};
  if (!pauses) return {off_at, outcome::dropped};
  const auto sent = trained < 30 * second ? 30 * second - trained : 0;
  if (trained <= off_at) return {lap + upload - sent, outcome::folded};
  return {lap + trained - off_at + upload, outcome::folded};
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_partition_does_not_hide_that_devices_went_off) {
  for (const bool asynchronous : {false, true})
    for (const bool pauses : {false, true}) {
      auto s = tests::plain_settings();
      s.rounds = 2;
      s.participation->per_round = 17;
      if (asynchronous) {
        s.participation->mode = participation_mode::async;
        s.participation->buffer = 17;
        s.participation->concurrency = 17;
      }
      s.devices->ms_per_example = 300.0;
      s.devices->mbit = 2e-4;
      s.dropout->policy = pauses ? dropout_policy::pause : dropout_policy::abort;
      *s.events = {{.seconds = 30, .what = event_kind::partition, .first = 0, .last = 99},
                   {.seconds = 500, .what = event_kind::heal, .first = 0, .last = 99}};
      auto e = tests::simulated(s);
      e.settings.devices->availability.kind = "trace";
      e.around = make_world(e.settings, *e.participants, short_days());
      const auto seen = tests::run_serially(e);
      std::array<int, 2> ends{};
      for (const auto& span : seen.reports.front().spans) {
        if (span.started_at > 0) continue;
        const auto expected = end_of(e, span.client, pauses);
        BOOST_TEST(span.ended_at.value_or(never) == expected.ends_at, "client " << span.client);
        BOOST_TEST((span.what == expected.what), "client " << span.client);
        ++ends[expected.ends_at < 30 * second ? 0 : 1];
      }
      BOOST_TEST((ends[0] > 0 && ends[1] > 5 && ends[0] + ends[1] == 17));
      const auto went_off = std::ranges::count_if(seen.trace.events, [](const std::string& event) {
        return event.find(" dropped ") != std::string::npos && event.ends_with(" off");
      });
      BOOST_TEST((went_off >= ends[1]) == !pauses);
      // Nodes hear of their tasks a moment later.
      e.settings.topology->nodes = 3;
      e.settings.network->task_timeout = 20'000;
      const auto hosted = tests::run_serially(e);
      ends = {};
      for (const auto& span : hosted.reports.front().spans) {
        if (span.started_at > second) continue;
        const auto expected = end_of(e, span.client, pauses);
        const auto delay = span.ended_at.value_or(never) - expected.ends_at;
        BOOST_TEST((delay >= 0 && delay < second), "client " << span.client << ": " << delay);
        BOOST_TEST((span.what == expected.what), "client " << span.client);
        ++ends[expected.ends_at < 30 * second ? 0 : 1];
      }
      BOOST_TEST((ends[0] > 0 && ends[1] > 5 && ends[0] + ends[1] == 17));
    }
}

BOOST_AUTO_TEST_SUITE_END()
