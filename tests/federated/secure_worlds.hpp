// Runs with secure aggregation in virtual time.
#pragma once

#include "federated/settings/aggregation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/worlds.hpp"

namespace furlong::federated::testing {

[[nodiscard]] inline run_settings uniform() {
  auto s = tests::plain_settings();
  s.rounds = 6;
  s.aggregation->rule = chosen_rule("uniform-mean");
  s.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  return s;
}

[[nodiscard]] inline run_settings secured(run_settings s,
                                          privacy::adversary_kind against = privacy::adversary_kind::semi_honest) {
  s.privacy->secure_aggregation = true;
  s.privacy->adversary = against;
  return s;
}

[[nodiscard]] inline event_settings at(double seconds, event_kind what, event_target target, std::uint32_t first,
                                       std::uint32_t last) {
  return {.seconds = seconds, .what = what, .target = target, .first = first, .last = last};
}

/// From a time until before another these clients are killed every so often, and restarted after a pause.
inline void kill_clients(run_settings& s, std::uint32_t last, double from, double until, double every, double pause) {
  for (double when = from; when < until; when += every) {
    s.events->push_back(at(when, event_kind::kill, event_target::clients, 0, last));
    s.events->push_back(at(when + pause, event_kind::restart, event_target::clients, 0, last));
  }
}

[[nodiscard]] inline tests::recorder run(const run_settings& s, clock_kind clock = clock_kind::simulated) {
  auto e = tests::simulated(s);
  e.settings.clock = clock;
  if (clock == clock_kind::real) e.around = nullptr;
  return tests::run_serially(e);
}

/// Every task has an outcome or is in flight, and every round is used or abandoned.
inline void check_accounts(const tests::recorder& of) {
  BOOST_TEST(of.trace.counts.settled() + of.reports.back().in_flight == of.trace.counts.selected);
  for (const auto& report : of.reports) BOOST_TEST(report.applied == !report.gave_up);
}

[[nodiscard]] inline std::uint64_t abandoned_rounds(const tests::recorder& of, const std::string& why) {
  return static_cast<std::uint64_t>(std::ranges::count_if(of.trace.events, [&](const std::string& line) {
    return line.find("round-abandoned") != std::string::npos && line.find(why) != std::string::npos;
  }));
}

}  // namespace furlong::federated::testing
