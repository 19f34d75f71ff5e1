// bench_clock: FedRecon's matrix factorization by the actor engine, alternating between the real clock and virtual
// time. The same clients train on the same models; the results are compared.
//
//   bench_clock [--rounds N] [--repetitions N] [--threads MOST]
#include <cstdio>
#include <thread>

#include "bench/common.hpp"
#include "bench/mf_experiment.hpp"
#include "bench/run_timing.hpp"
#include "federated/world/world.hpp"

namespace {

using namespace furlong;

/// Required ratio of clients per second in virtual time to those under the real clock.
constexpr double bar = 0.85;

void compare(const federated::experiment& real, const federated::experiment& simulated, std::size_t threads,
             std::size_t repetitions, bench::figures& out) {
  std::vector<bench::speed> slow;
  std::vector<bench::speed> fast;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    slow.push_back(bench::time_engine(real, threads));
    fast.push_back(bench::time_engine(simulated, threads));
  }
  const auto suffix = bench::on_threads(threads);
  const auto print = [&](const char* metric, double bench::speed::*what, std::optional<double> least) {
    const auto one = bench::column(slow, what);
    const auto other = bench::column(fast, what);
    out.add({"real" + suffix, metric, bench::median(one), "clients/s"});
    out.add({"virtual" + suffix, metric, bench::median(other), "clients/s", "real", bench::median_ratio(other, one),
             least});
  };
  print("clients_per_second", &bench::speed::per_wall_second, bar);
  print("clients_per_cpu_second", &bench::speed::per_cpu_second, {});
}

}  // namespace

int main(int argc, char** argv) {
  const auto data = bench::expect(bench::load_ratings());
  const auto rounds = std::max<std::size_t>(bench::count_argument(argc, argv, "--rounds", 500), 2);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 7);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto most = std::min(bench::count_argument(argc, argv, "--threads", 2), cores);
  std::fprintf(stderr, "bench_clock: %s, %zu rounds of 100 clients, medians of %zu alternating runs\n",
               data.source.c_str(), rounds, repetitions);

  const auto real = bench::expect(bench::published_fedrecon(data, 1, rounds));
  auto simulated = real;
  const std::uint64_t bytes = (*real.parts.shared).size() * sizeof(float);
  simulated.download_bytes = bytes;
  simulated.planned_upload_bytes = [bytes](std::uint32_t) { return bytes; };
  simulated.around = federated::make_world(simulated.settings, *simulated.participants, nullptr);
  bench::figures out("clock");
  for (std::size_t threads = 1; threads <= most; ++threads) compare(real, simulated, threads, repetitions, out);
  return 0;
}
