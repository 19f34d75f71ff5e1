// bench_bad_clients: the effect of a few clients that always send the worst accepted update. They are selected like all
// others, declare the largest permitted weight, and know the limits of the version that they start from:
//   flip      the honest update, reversed, as long as the limits allow
//   constant  one direction, the same in every round
//   row       everything into one row of the first table
//   drift     one direction, a little longer each time up to the limits, so that these may follow
// The figure is the RMSE over the honest clients' test ratings at the end, against that of the run without bad clients;
// of the four attacks the worst counts.
//
//   bench_bad_clients [--scenario FILE] [--rounds N] [--seed N]
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bench/common.hpp"
#include "bench/run_timing.hpp"
#include "federated/algorithm.hpp"
#include "federated/algorithm_traits.hpp"
#include "federated/client/client_scorer.hpp"
#include "federated/client/client_work.hpp"
#include "federated/participation/policy.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "federated/validation.hpp"
#include "models/delta.hpp"
#include "models/kernels/kernels.hpp"
#include "storage/memory_store.hpp"
#include "tools/cli/session.hpp"

namespace {

using namespace furlong;
using federated::client_update;

enum class attack { none, flip, constant, row, drift };
constexpr const char* attack_names[] = {"none", "flip", "constant", "row", "drift"};

double norm_of(const models::delta& change) {
  return std::sqrt(models::kernels().norm_squared(change.values.data(), change.values.size()));
}

/// Of a dense update.
double longest_row(const models::delta& change, const models::layout& shape) {
  double longest = 0.0;
  for (std::size_t t = 0; t < shape.count(); ++t) {
    if (shape[t].index == models::row_index::none) continue;
    const auto values = change.values_of(t);
    for (std::size_t at = 0; at < values.size(); at += shape[t].cols)
      longest = std::max(longest, std::sqrt(models::kernels().norm_squared(values.data() + at, shape[t].cols)));
  }
  return longest;
}

/// As long as both limits allow.
void scale_to(models::delta& change, double norm, double row, const models::layout& shape) {
  const double now = norm_of(change);
  if (now == 0.0) return;
  const double factor = std::min(norm / now, row / longest_row(change, shape)) * (1.0 - 1e-6);
  for (auto& value : change.values) value *= static_cast<float>(factor);
}

/// The largest size that a limit allows.
double most(double fixed, federated::size_level limit) {
  return limit == 0 ? fixed : std::min(fixed, federated::top_of(limit));
}

/// The attacking clients, drawn uniformly from the training clients.
std::set<std::uint32_t> draw_bad(const federated::experiment& e, std::uint32_t count) {
  const random_stream stream(e.settings.seed, purpose::test, count);
  const auto drawn = federated::draw_uniformly(e.clients->training(), count, stream);
  return {drawn.begin(), drawn.end()};
}

/// Runs the scenario's rounds, one client at a time.
class attacked_run {
 public:
  attacked_run(const federated::experiment& e, std::uint32_t bad, attack how)
      : e_(e),
        bad_(draw_bad(e, bad)),
        how_(how),
        state_(federated::initial_state(e)),
        optimizer_(*e.settings.server, e.parts.shared),
        policy_(federated::make_policy(e, *state_.ledger)),
        store_(e.parts.private_) {}

  /// RMSE over the honest clients.
  double run() {
    while (state_.version < e_.settings.rounds && state_.losses.diverged.empty()) round();
    return state_.losses.diverged.empty() ? score() : std::numeric_limits<double>::infinity();
  }
  [[nodiscard]] std::uint64_t accepted() const { return accepted_; }
  [[nodiscard]] std::uint64_t refused() const { return refused_; }
  [[nodiscard]] std::uint64_t honest_refused() const { return honest_refused_; }
  [[nodiscard]] std::uint64_t abandoned() const { return abandoned_; }

 private:
  void round() {
    federated::selection wanted;
    wanted.count = e_.settings.participation->per_round;
    wanted.round = state_.version;
    wanted.ordinal = state_.counts.selected;
    wanted.eligible = [](std::uint32_t) { return true; };
    const auto cohort = policy_->choose(wanted, *state_.ledger);
    state_.counts.selected += cohort.size();
    const auto from = federated::make_broadcast(e_, state_);
    const auto sum = federated::make_accumulator(*e_.settings.aggregation, e_.parts.shared, state_.reference);
    federated::round_facts facts(e_);
    federated::round_report report;
    for (const auto client : cohort) train(from, client, *sum, facts);
    auto made = sum->report();
    report.gave_up = facts.has_outlier(state_);
    abandoned_ += report.gave_up ? 1 : 0;
    federated::close_round(e_, state_, optimizer_, made, report, facts);
  }

  void train(const federated::broadcast& from, std::uint32_t client, federated::accumulator& sum,
             federated::round_facts& facts) {
    if (use_.own.shape() != e_.parts.private_) use_.own = models::private_parameters(e_.parts.private_);
    const bool has_own = bench::expect(store_.load(client, use_.own));
    client_update update;
    if (federated::client_work(e_, from, {from.run, from.version, client, 0}, has_own, use_, update))
      if (auto kept = store_.commit(client, from.version, use_.own); !kept) std::exit(1);
    const auto most =
        e_.settings.algorithm->does->most_weight(e_.settings, e_.participants->count(client, federated::part::train));
    if (bad_.contains(client) && how_ != attack::none) spoil(from, most, update);
    auto made = federated::settlement_of(e_, update);
    const federated::update_bounds bounds{federated::longest_update(e_.settings), most, from.limits};
    const auto refused = federated::aggregate_update(e_, update, bounds, 1.0, sum, made);
    facts.add(made);
    if (bad_.contains(client))
      ++(refused ? refused_ : accepted_);
    else if (refused)
      ++honest_refused_;
  }

  /// The largest accepted update.
  void spoil(const federated::broadcast& from, std::uint64_t weight, client_update& update) {
    const auto& rule = *e_.settings.aggregation;
    const double bound = most(rule.max_norm, from.limits.norm);
    const double row = most(rule.max_norm, from.limits.row);
    const double honest = norm_of(update.change);
    update.weight = static_cast<std::uint32_t>(std::min<std::uint64_t>(weight, rule.max_weight));
    update.change = models::to_dense(update.change);
    auto& values = update.change.values;
    double length = bound;
    if (how_ == attack::flip) {
      for (auto& value : values) value = -value;
    } else if (how_ == attack::row) {
      std::fill(values.begin(), values.end(), 0.0F);
      std::fill_n(values.begin() + static_cast<std::ptrdiff_t>(update.change.pieces[0].value_begin),
                  (*e_.parts.shared)[0].cols, 1.0F);
    } else {
      std::fill(values.begin(), values.end(), 1.0F);
    }
    if (how_ == attack::drift) {
      auto& before = drifted_[update.id.client];
      length = before = std::min(bound, before == 0.0 ? honest : 1.1 * before);
    }
    scale_to(update.change, length, row, *e_.parts.shared);
  }

  double score() {
    const federated::client_scorer scorer(e_, state_.model, state_.version, &store_);
    federated::client_score all;
    for (const auto client : e_.clients->training()) {
      if (bad_.contains(client)) continue;
      const auto one = bench::expect(scorer.score(federated::group::seen, client, use_));
      all.squared_error += one.squared_error;
      all.examples += one.examples;
    }
    return std::sqrt(all.squared_error / static_cast<double>(all.examples));
  }

  const federated::experiment& e_;
  std::set<std::uint32_t> bad_;
  attack how_;
  federated::protocol::server_state state_;
  federated::server_optimizer optimizer_;
  std::unique_ptr<federated::selection_policy> policy_;
  storage::memory_store store_;
  federated::workspace use_;
  std::unordered_map<std::uint32_t, double> drifted_;
  std::uint64_t accepted_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t honest_refused_ = 0;
  std::uint64_t abandoned_ = 0;
};

void compare(const federated::experiment& e, std::uint32_t bad, double bar, bench::figures& out) {
  const double honest = attacked_run(e, bad, attack::none).run();  // scored over the same clients
  double worst = 0.0;
  std::string by;
  for (const auto how : {attack::flip, attack::constant, attack::row, attack::drift}) {
    attacked_run run(e, bad, how);
    const double rmse = run.run();
    const auto* name = attack_names[static_cast<std::size_t>(how)];
    std::fprintf(stderr,
                 "%u bad clients, %s: RMSE %.4f, honest %.4f (%+.2f %%); accepted %llu, refused %llu, honest ones "
                 "refused %llu, rounds abandoned %llu\n",
                 bad, name, rmse, honest, 100 * (rmse / honest - 1), static_cast<unsigned long long>(run.accepted()),
                 static_cast<unsigned long long>(run.refused()), static_cast<unsigned long long>(run.honest_refused()),
                 static_cast<unsigned long long>(run.abandoned()));
    if (!(rmse <= worst)) worst = rmse, by = name;
  }
  out.add({std::to_string(bad) + "-of-" + std::to_string(e.clients->training().size()) + "-" + by, "rmse", worst,
           "rmse", "honest", honest / worst, 1.0 / (1.0 + bar)});
}

}  // namespace

int main(int argc, char** argv) {
  const auto file = bench::text_argument(argc, argv, "--scenario", "scenarios/quickstart.toml");
  auto scenario = scenarios::parse_scenario(file);
  if (!scenario) {
    std::fprintf(stderr, "%s\n", scenario.error().front().text().c_str());
    return 2;
  }
  auto opened = bench::expect(tools::open_session(std::move(*scenario)));
  auto& e = opened.experiment;
  e.settings.seed = bench::count_argument(argc, argv, "--seed", e.settings.seed);
  e.settings.rounds = bench::count_argument(argc, argv, "--rounds", e.settings.rounds);
  bench::figures out("bad_clients");
  compare(e, 1, 0.03, out);
  compare(e, 10, 0.10, out);
}
