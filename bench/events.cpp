// bench_events: the cost of virtual time without training. Clients without examples receive tasks and report an update
// of one value: only selection, fates, timeline, validation and aggregation remain.
//
//   bench_events [--tasks N] [--repetitions N] [--threads MOST] [--only CASE]
#include <cstdio>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "bench/common.hpp"
#include "bench/run_timing.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/world/world.hpp"
#include "models/model.hpp"

namespace {

using namespace furlong;

constexpr std::uint32_t population_size = 100'000;
constexpr std::uint64_t message_bytes = 1000;
/// Required tasks per second of two threads.
constexpr double bar = 300'000.0;

/// Clients without examples.
class empty_hands final : public federated::population {
 public:
  empty_hands() : everybody_(population_size) { std::iota(everybody_.begin(), everybody_.end(), 0U); }

  models::data_facts facts() const override { return {1, population_size, models::objective::squared_error}; }
  std::span<const std::uint32_t> training() const override { return everybody_; }
  std::span<const std::uint32_t> unseen_validation() const override { return {}; }
  std::span<const std::uint32_t> unseen_test() const override { return {}; }
  models::examples_view load(std::uint32_t, federated::part, models::examples& scratch) const override {
    scratch.clear();
    return scratch.view();
  }
  std::string client_name(std::uint32_t client) const override { return "client " + std::to_string(client); }
  std::string feature_name(std::uint32_t) const override { return "nothing"; }

 private:
  std::vector<std::uint32_t> everybody_;
};

/// A matrix factorization that shares one mean and trains nothing.
federated::experiment nothing_to_learn(const std::shared_ptr<const federated::population>& who,
                                       const federated::participation_settings& how, std::uint64_t rounds) {
  federated::experiment e;
  e.run = 1;
  auto& settings = e.settings;
  settings.rounds = rounds;
  *settings.participation = how;
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  settings.evaluation->clients = 1;
  const auto& entry = *models::find_model("matrix-factorization");
  auto options = defaults(entry.options);
  options.set("rank", std::int64_t{1});
  e.model = bench::expect(entry.build(options, who->facts()));
  const std::vector<std::string> own{"user"};
  e.parts = bench::expect(models::split(e.model->tensors(), own));
  e.clients = who;
  e.participants = who;
  e.upload_bytes = [](const federated::client_update&) { return message_bytes; };
  e.planned_upload_bytes = [](std::uint32_t) { return message_bytes; };
  e.download_bytes = message_bytes;
  e.around = federated::make_world(settings, *who, nullptr);
  return e;
}

struct contest {
  const char* name;
  federated::participation_settings how;
  std::size_t per_version;  ///< updates
};

std::vector<contest> contests() {
  std::vector<contest> all;
  for (const std::uint32_t cohort : {1000U, 100U}) {
    federated::participation_settings how;
    how.per_round = cohort;
    all.push_back({cohort == 1000 ? "sync-1000" : "sync-100", how, cohort});
  }
  federated::participation_settings how;
  how.mode = federated::participation_mode::async;
  how.buffer = 10;
  how.concurrency = 1000;
  all.push_back({"async-10-of-1000", how, how.buffer});
  return all;
}

void measure(const contest& which, const std::shared_ptr<const federated::population>& who, std::size_t tasks,
             std::size_t repetitions, std::size_t most, bench::figures& out) {
  // A tenth of the rounds before the measurement: buffers have grown, and an asynchronous run is in its steady state.
  const auto rounds = std::max<std::uint64_t>(tasks / which.per_version, 20);
  const auto e = nothing_to_learn(who, which.how, rounds);
  std::vector<std::vector<bench::speed>> runs(most);
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition)
    for (std::size_t threads = 1; threads <= most; ++threads)
      runs[threads - 1].push_back(bench::time_engine(e, threads, rounds / 10));
  for (std::size_t threads = 1; threads <= most; ++threads) {
    const auto name = which.name + bench::on_threads(threads);
    const auto& all = runs[threads - 1];
    const auto per_second = bench::median(bench::column(all, &bench::speed::per_wall_second));
    bench::figure wall{name, "tasks_per_second", per_second, "tasks/s"};
    if (threads == 2) {
      wall.baseline = "300000-a-second";
      wall.ratio = per_second / bar;
      wall.bar_at_least = 1.0;
    }
    out.add(std::move(wall));
    out.add(
        {name, "tasks_per_cpu_second", bench::median(bench::column(all, &bench::speed::per_cpu_second)), "tasks/s"});
    out.add({name, "cpu_per_task", bench::median(bench::column(all, &bench::speed::cpu_us)), "us"});
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto tasks = bench::count_argument(argc, argv, "--tasks", 400'000);
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 7);
  const std::size_t cores = std::max(1U, std::thread::hardware_concurrency());
  const auto most = std::min(bench::count_argument(argc, argv, "--threads", 2), cores);
  const auto only = bench::text_argument(argc, argv, "--only", "");
  const auto who = std::make_shared<const empty_hands>();
  std::fprintf(stderr, "bench_events: %u clients without examples, medians of %zu runs of %zu tasks\n", population_size,
               repetitions, tasks);
  bench::figures out("events");
  for (const auto& which : contests())
    if (only.empty() || only == which.name) measure(which, who, tasks, repetitions, most, out);
  return 0;
}
