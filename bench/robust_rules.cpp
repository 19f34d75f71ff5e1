// bench_robust_rules: one aggregation by each rule that holds the updates of a round, by default of 100 updates of 10^6
// values, on one thread. `memory` is what the updates take, 4 bytes a value; a rule adds blocks of a few megabytes, and
// distances 8 bytes for each pair of updates.
//
//   bench_robust_rules [--updates N] [--values N] [--repetitions N]
#include <array>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "bench/common.hpp"
#include "federated/aggregation/robust/pipeline.hpp"

namespace {

using namespace furlong;
using namespace furlong::federated::robust;

struct aggregation_case {
  std::string name;
  std::string rule;
  std::vector<std::string> before;
  bool has_bar = false;
};

const std::vector<aggregation_case> cases = {
    {"median", "median", {}, true}, {"trimmed-mean", "trimmed-mean", {}, true},
    {"meamed", "meamed", {}, true}, {"geometric-median", "geometric-median", {}},
    {"krum", "krum", {}},           {"multi-krum", "multi-krum", {}},
    {"bulyan", "bulyan", {}},       {"arc-nnm-trimmed-mean", "trimmed-mean", {"arc", "nnm"}},
};

pipeline pipeline_of(const aggregation_case& chosen) {
  const auto& rule = find_robust_rule(chosen.rule);
  auto options = defaults(pipeline_options());
  for (const auto& option : rule.options)
    if (option.fallback) options.set(option.name, *option.fallback);
  options.set("tolerate", 0.1);
  options.set("before", chosen.before);
  return {rule, options};
}

std::vector<std::vector<float>> draw_updates(std::size_t updates, std::size_t values) {
  std::vector<std::vector<float>> rows(updates, std::vector<float>(values));
  for (std::size_t i = 0; i < updates; ++i) {
    random_stream draws(1, purpose::test, 0, static_cast<std::uint32_t>(i));
    for (auto& value : rows[i]) value = draws.uniform(-1.0F, 1.0F);
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  const auto updates = bench::count_argument(argc, argv, "--updates", 100);
  const auto values = bench::count_argument(argc, argv, "--values", 1000000);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 3);
  constexpr double most_seconds = 1.0;
  const auto rows = draw_updates(updates, values);
  bench::figures out("robust_rules");
  out.add({"updates", "memory", static_cast<double>(updates * values * sizeof(float)) * 1e-6, "MB"});
  for (const auto& chosen : cases) {
    const auto rule = pipeline_of(chosen);
    std::vector<double> seconds;
    for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
      const double began = bench::wall_seconds();
      if (!rule.aggregate({rows.begin(), rows.end()}, rule.bad_among(updates))) {
        std::fprintf(stderr, "bench_robust_rules: %s needs more updates\n", chosen.name.c_str());
        return 2;
      }
      seconds.push_back(bench::wall_seconds() - began);
    }
    bench::figure found{chosen.name, "time", bench::median(seconds), "s"};
    if (chosen.has_bar) {
      found.baseline = "bar";
      found.ratio = most_seconds / bench::median(seconds);
      found.bar_at_least = 1.0;
    }
    out.add(found);
  }
  return 0;
}
