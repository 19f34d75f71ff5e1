#include "bench/run_timing.hpp"

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "actors/actor_engine.hpp"
#include "bench/common.hpp"
#include "bench/stateless_store.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/stopwatch.hpp"

namespace furlong::bench {

namespace {

double ended(const federated::round_report& round) {
  const auto dropped = std::accumulate(round.dropped.begin(), round.dropped.end(), std::uint64_t{0});
  return static_cast<double>(round.folded + round.rejected + round.late + round.surplus + dropped);
}

}  // namespace

federated::run_observer round_watch::observer() {
  federated::run_observer observer;
  observer.on_round = [this](const federated::round_report& round) -> result<void> {
    if (round.version > skipped_) tasks_ += ended(round);
    if (round.version == skipped_) {
      wall_ = -wall_seconds();
      cpu_used_ = -cpu_();
    }
    if (round.version == last_) {
      wall_ += wall_seconds();
      cpu_used_ += cpu_();
    }
    return {};
  };
  observer.on_evaluation = [](const federated::evaluation_report&) -> result<void> { return {}; };
  return observer;
}

speed round_watch::read() const {
  if (wall_ <= 0) give_up({error::kind::runtime, "benchmark", "the run ended before its last round", {}});
  return {tasks_ / wall_, tasks_ / cpu_used_, cpu_used_ / tasks_ * 1e6};
}

speed time_engine(const federated::experiment& e, std::size_t threads, std::uint64_t skipped) {
  stateless_store store;
  const std::atomic<bool> stop{false};
  round_watch watch(e, federated::process_cpu_seconds, skipped);
  static_cast<void>(expect(actors::run_actors(e, initial_state(e), store, watch.observer(), stop, {threads})));
  return watch.read();
}

std::vector<double> column(const std::vector<speed>& from, double speed::*what) {
  std::vector<double> values;
  values.reserve(from.size());
  for (const auto& one : from) values.push_back(one.*what);
  return values;
}

void give_up(const error& why) {
  std::fprintf(stderr, "%s\n", why.text().c_str());
  std::exit(4);
}

}  // namespace furlong::bench
