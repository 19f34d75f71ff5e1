// bench_discrete_gaussian: exact draws, their rate and their variance.
//
// Yardstick: noise on a model of 185,300 values must not delay a round: 0.1 s of one thread. The variance of --draws
// (10^7) draws is within 0.1 % of the one that is asked for; its own deviation is sqrt(2 / draws), 0.045 %.
#include "federated/privacy/discrete_gaussian.hpp"

#include <cmath>
#include <cstdio>
#include <vector>

#include "base/digest.hpp"
#include "bench/common.hpp"

int main(int argc, char** argv) {
  using namespace furlong;
  using federated::privacy::discrete_gaussian;
  const auto draws = bench::count_argument(argc, argv, "--draws", 10'000'000);
  bench::figures figures("discrete_gaussian");
  const secret_key key = sha256("bench_discrete_gaussian");
  bool sound = true;
  for (const unsigned bits : {2U, 20U, 47U}) {
    secret_stream words(key, purpose::test, bits);
    discrete_gaussian draw(std::uint64_t{1} << bits, words);
    double squares = 0.0;
    const double begun = bench::thread_cpu_seconds();
    for (std::size_t i = 0; i < draws; ++i) {
      const auto x = std::ldexp(static_cast<double>(draw()), -static_cast<int>(bits / 2));
      squares += x * x;
    }
    const double seconds = bench::thread_cpu_seconds() - begun;
    const double ratio = squares / static_cast<double>(draws) / std::ldexp(1.0, static_cast<int>(bits % 2));
    const auto name = "variance-2^" + std::to_string(bits);
    figures.add({name, "draws", static_cast<double>(draws) / seconds, "1/s"});
    figures.add({name, "noise on 185,300 values", 185'300 * seconds / static_cast<double>(draws), "s"});
    figures.add({name, "variance", ratio, "of that asked for"});
    sound = sound && std::abs(ratio - 1) < 1e-3 * std::max(1.0, std::sqrt(1e7 / static_cast<double>(draws)));
  }
  if (!sound) std::fputs("bench_discrete_gaussian: a variance is not the one asked for\n", stderr);
  return sound ? 0 : 1;
}
