// Aggregators that are killed, stopped and cut off, at every moment of a run, flat and in trees: while the server and
// the nodes live, a synchronous run that waits for every task ends as if nothing had happened, its evaluations
// included.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <iostream>
#include <numeric>

#include "base/random.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/network/event_queue.hpp"
#include "tests/support/network.hpp"

BOOST_AUTO_TEST_SUITE(aggregator_losses)

using namespace furlong;
using namespace furlong::tests::net;
using federated::virtual_time;
using federated::network::millisecond;

namespace {

/// How many schedules are run; FURLONG_LOSS_SCHEDULES asks for more.
std::size_t schedules() {
  const char* asked = std::getenv("FURLONG_LOSS_SCHEDULES");
  return asked == nullptr ? 10'000 : std::strtoull(asked, nullptr, 10);
}

/// Synchronous rounds that wait for every task, with all kinds of algorithms, rules, commits, failures and trees.
plan world(std::uint64_t seed) {
  auto what = random_plan(seed);
  what.faults.clear();
  auto& settings = what.settings;
  settings.rounds = 2 + seed % 3;
  settings.network->start = 1.0;
  auto& how = *settings.participation;
  how.mode = federated::participation_mode::sync;
  how.per_round = 2 + static_cast<std::uint32_t>(seed % 11);
  how.over_selection = 1.0;
  how.deadline = how.selection_timeout = 0.0;
  how.min_reports = 1;
  settings.evaluation->every = 1 + static_cast<std::uint32_t>(seed % 2);
  settings.evaluation->keep_best = seed % 3 == 0;
  what.aggregators = 1 + static_cast<std::uint32_t>(seed % 6);
  settings.topology->fan_in = seed % 2 == 0 ? 0 : 1 + static_cast<std::uint32_t>(seed / 2 % 2);
  return what;
}

std::string differences(const ending& undisturbed, const ending& seen) {
  std::string text;
  const auto& counts = seen.counts;
  if (seen.ended == 0) text += " no end;";
  if (seen.model != undisturbed.model) text += " another model;";
  const auto [now, before] = std::ranges::mismatch(seen.evaluations, undisturbed.evaluations);
  if (now != seen.evaluations.end()) text += " " + *now + ";";
  if (before != undisturbed.evaluations.end()) text += " not " + *before + ";";
  if (seen.version != undisturbed.version) text += " other rounds;";
  if (counts.folded != undisturbed.counts.folded) text += " " + std::to_string(counts.folded) + " folded;";
  if (counts.rejected != undisturbed.counts.rejected) text += " other rejections;";
  if (const auto dropped = std::reduce(counts.dropped.begin(), counts.dropped.end()))
    text += " " + std::to_string(dropped) + " dropped;";
  if (counts.late != undisturbed.counts.late) text += " late;";
  if (counts.surplus != undisturbed.counts.surplus) text += " surplus;";
  if (counts.abandoned != undisturbed.counts.abandoned) text += " abandoned;";  // as a version with an outlier is
  for (const auto& what : seen.failures) text += " " + what + ";";
  return text;
}

fault strike(mishap what, std::uint32_t who, std::uint64_t at_step, virtual_time length) {
  fault one;
  one.what = what;
  one.who = who;
  one.at_step = at_step;
  one.length = length;
  return one;
}

/// Counts schedules, and those whose run ends in another way.
struct tally {
  std::size_t run = 0;
  std::size_t disturbed = 0;  ///< took another course
  std::size_t different = 0;  ///< and another end

  void compare(const plan& what, const ending& undisturbed) {
    ++run;
    const auto seen = run_world(what);
    if (seen.trace != undisturbed.trace) ++disturbed;
    const auto text = differences(undisturbed, seen);
    if (text.empty()) return;
    std::string faults;
    for (const auto& one : what.faults)
      faults += " " + std::to_string(static_cast<int>(one.what)) + " of " + std::to_string(one.who) + " at step " +
                std::to_string(one.at_step) + " for " + std::to_string(one.length) + " us,";
    if (++different <= 10) BOOST_ERROR("world " << what.seed << "," << faults << text);
  }
};

}  // namespace

// One fault at every boundary between two things that happen, for worlds one after the other.
BOOST_AUTO_TEST_CASE(an_aggregator_lost_at_any_moment_changes_nothing) {
  tally seen;
  for (std::uint64_t seed = 1; seen.run < schedules() / 2; ++seed) {
    auto what = world(seed);
    const auto undisturbed = run_world(what);
    BOOST_REQUIRE_MESSAGE(differences(undisturbed, undisturbed).empty(),
                          "world " << seed << differences(undisturbed, undisturbed));
    random_stream draw(seed, purpose::test, 40);
    // Few schedules go through worlds in strides, each from another beginning.
    const std::uint64_t stride = std::max<std::uint64_t>(1, 20'000 / std::max<std::size_t>(schedules(), 1));
    for (std::uint64_t step = 1 + draw.below(static_cast<std::uint32_t>(stride)); step < undisturbed.steps;
         step += stride) {
      if (seen.run >= schedules() / 2) break;
      const auto who = 1 + draw.below(what.aggregators);
      const mishap kinds[] = {mishap::kill_aggregator, mishap::stop_host, mishap::cut, mishap::silence};
      const auto length = static_cast<virtual_time>(1 + draw.below(12'000)) * millisecond;
      what.faults = {strike(kinds[draw.below(4)], who, step, length)};
      seen.compare(what, undisturbed);
    }
  }
  std::cout << seen.run << " schedules of one loss, " << seen.disturbed << " take another course, " << seen.different
            << " end in another way\n";
  BOOST_TEST(seen.disturbed > seen.run / 2);
}

// Storms: each aggregator is killed, stopped or cut off again and again.
BOOST_AUTO_TEST_CASE(aggregators_lost_again_and_again_change_nothing) {
  tally seen;
  for (std::uint64_t seed = 1'000'000; seen.run < schedules() / 2; ++seed) {
    auto what = world(seed);
    const auto undisturbed = run_world(what);
    random_stream draw(seed, purpose::test, 41);
    for (int again = 0; again < 5 && seen.run < schedules() / 2; ++again) {
      what.faults.clear();
      const auto count = 2 + draw.below(12);
      for (std::uint32_t i = 0; i < count; ++i) {
        const mishap kinds[] = {
            mishap::kill_aggregator, mishap::kill_aggregator, mishap::stop_host, mishap::stop_host, mishap::cut,
            mishap::silence};
        what.faults.push_back(strike(kinds[draw.below(6)], 1 + draw.below(what.aggregators),
                                     1 + draw.below(static_cast<std::uint32_t>(2 * undisturbed.steps)),
                                     static_cast<virtual_time>(1 + draw.below(9'000)) * millisecond));
      }
      seen.compare(what, undisturbed);
    }
  }
  std::cout << seen.run << " schedules of many losses, " << seen.disturbed << " take another course, " << seen.different
            << " end in another way\n";
  BOOST_TEST(seen.disturbed > seen.run / 2);
}

BOOST_AUTO_TEST_SUITE_END()
