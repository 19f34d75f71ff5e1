// bench_ranking: scores of all items for all clients of matrix factorization with rank 32, and their ranking: figures
// and the best 20 items of each. 6,040 users, 3,706 items; one thread.
//
//   bench_ranking [--repetitions N]
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "bench/common.hpp"
#include "bench/run_timing.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/ranking/figures.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "scenarios/data/dataset.hpp"

namespace {

using namespace furlong;

/// What a core took for the specification, with the product by blocks of users.
constexpr double aim_seconds = 0.15;

std::shared_ptr<const federated::population> make_clients() {
  const auto& source = *scenarios::find_dataset("synthetic-ratings");
  auto options = defaults(source.options);
  options.set("users", std::int64_t{6040});
  options.set("items", std::int64_t{3706});
  options.set("ratings_per_user", 166.0);
  options.set("spread", 1.0);
  options.set("min_ratings", std::int64_t{20});
  options.set("seed", std::int64_t{1});
  options.set("split_seed", std::int64_t{1});
  options.set("feedback", std::string("implicit"));
  options.set("split_by", std::string("leave-one-out"));
  return bench::expect(source.build(options, {})).clients;
}

federated::experiment ranked(std::shared_ptr<const federated::population> clients,
                             federated::ranking_settings settings) {
  federated::experiment e;
  const auto* entry = models::find_model("matrix-factorization");
  auto options = defaults(entry->options);
  options.set("rank", std::int64_t{32});
  options.set("user_table", true);
  settings.one_held_out = true;
  *e.settings.algorithm = federated::chosen_algorithm("fedavg");
  e.settings.evaluation->ranking = settings;
  e.model = federated::ranking::rank_by(bench::expect(entry->build(options, clients->facts())), settings);
  if (const auto placed = federated::lay_out(e, {}); !placed) bench::give_up(placed.error());
  e.clients = e.participants = std::move(clients);
  return e;
}

/// Seconds of processor time to score the test item of each client.
double time_scoring(const federated::experiment& e) {
  const auto model = federated::initial_model(e);
  const federated::client_scorer scorer(e, model, 0, nullptr);
  federated::workspace use;
  std::size_t listed = 0;
  const double start = bench::thread_cpu_seconds();
  for (const auto client : e.clients->training())
    listed += bench::expect(scorer.score(federated::group::seen, client, use)).best.size();
  const double seconds = bench::thread_cpu_seconds() - start;
  if (listed == 20 * e.clients->training().size()) return seconds;
  std::fputs("bench_ranking: a client has fewer than 20 best items\n", stderr);
  std::exit(4);
}

}  // namespace

int main(int argc, char** argv) {
  const auto repetitions = bench::count_argument(argc, argv, "--repetitions", 5);
  const auto clients = make_clients();
  const auto alone = ranked(clients, {.top = {20}, .sampled = false});
  const auto usual = ranked(clients, {});
  std::fprintf(stderr, "bench_ranking: %zu users, %u items, medians of %zu runs\n", clients->training().size(),
               clients->facts().features, repetitions);
  std::vector<double> alone_seconds;
  std::vector<double> usual_seconds;
  for (std::size_t repetition = 0; repetition < repetitions; ++repetition) {
    alone_seconds.push_back(time_scoring(alone));
    usual_seconds.push_back(time_scoring(usual));
  }
  bench::figures out("ranking");
  const double seconds = bench::median(alone_seconds);
  out.add({"all-items-top-20", "cpu_seconds", seconds, "s", "0.15 s", aim_seconds / seconds, 1.0});
  out.add({"all-figures", "cpu_seconds", bench::median(usual_seconds), "s"});
  return 0;
}
