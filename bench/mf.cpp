// bench_mf: the cost of the actors. The same clients train alternately with the reference loop and the actor engine.
//
//   bench_mf [--rounds N] [--repetitions N] [--threads MOST]   figures
//   bench_mf --dump FOLDER [--rounds N]                        the work, for yardsticks in other languages
#include <cstdio>
#include <thread>

#include "bench/common.hpp"
#include "bench/mf_experiment.hpp"
#include "bench/run_timing.hpp"
#include "bench/stateless_store.hpp"
#include "federated/simulation/reference_loop.hpp"

namespace {

using namespace furlong;
using bench::column;
using bench::expect;
using bench::figures;
using bench::speed;

speed time_reference(const federated::experiment& e) {
  bench::stateless_store store;
  bench::round_watch watch(e, bench::thread_cpu_seconds);
  static_cast<void>(expect(run_reference(e, store, watch.observer())));
  return watch.read();
}

/// The baseline of a multi-threaded engine: as many parallel loops, each with its own federation.
speed time_references(const std::vector<federated::experiment>& each) {
  std::vector<speed> all(each.size());
  bench::run_at_once(each.size(), [&](std::size_t i) { all[i] = time_reference(each[i]); });
  speed together;
  for (const auto& one : all) {
    together.per_wall_second += one.per_wall_second;
    together.cpu_us += one.cpu_us / static_cast<double>(all.size());
  }
  together.per_cpu_second = 1e6 / together.cpu_us;
  return together;
}

/// Compares reference loops and engine on this number of threads.
void compare(const bench::ratings& data, std::size_t threads, std::size_t rounds, std::size_t repetitions,
             figures& out) {
  std::vector<federated::experiment> each;
  for (std::size_t seed = 1; seed <= threads; ++seed)
    each.push_back(expect(bench::published_fedrecon(data, seed, rounds)));
  std::vector<speed> loops;
  std::vector<speed> engine;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    loops.push_back(time_references(each));
    engine.push_back(bench::time_engine(each.front(), threads));
  }
  const auto suffix = bench::on_threads(threads);
  const auto print = [&](const char* metric, double speed::*what, std::optional<double> bar) {
    const auto slow = column(loops, what);
    const auto fast = column(engine, what);
    out.add({"reference-loop" + suffix, metric, bench::median(slow), "clients/s"});
    out.add({"actors" + suffix, metric, bench::median(fast), "clients/s", "reference-loop",
             bench::median_ratio(fast, slow), bar});
  };
  print("clients_per_second", &speed::per_wall_second, 0.60);
  print("clients_per_cpu_second", &speed::per_cpu_second, {});
  std::vector<double> machinery;
  for (std::size_t i = 0; i < loops.size(); ++i) machinery.push_back(engine[i].cpu_us - loops[i].cpu_us);
  out.add({"actors" + suffix, "machinery_per_task", bench::median(machinery), "us"});
}

}  // namespace

int main(int argc, char** argv) {
  const auto data = expect(bench::load_ratings());
  const auto folder = bench::text_argument(argc, argv, "--dump", "");
  if (!folder.empty()) {
    const auto rounds = bench::count_argument(argc, argv, "--rounds", 30);
    if (auto done = bench::dump_work(expect(bench::published_fedrecon(data, 1, rounds)), folder); !done) {
      std::fprintf(stderr, "bench_mf: %s\n", done.error().text().c_str());
      return 4;
    }
    return 0;
  }
  const auto rounds = std::max<std::size_t>(bench::count_argument(argc, argv, "--rounds", 500), 2);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 7);
  std::fprintf(stderr, "bench_mf: %s, %zu rounds of 100 clients, medians of %zu alternating runs\n",
               data.source.c_str(), rounds, repetitions);
  figures out("mf");
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto most = std::min(bench::count_argument(argc, argv, "--threads", 2), cores);
  for (std::size_t threads = 1; threads <= most; ++threads) compare(data, threads, rounds, repetitions, out);
  return 0;
}
