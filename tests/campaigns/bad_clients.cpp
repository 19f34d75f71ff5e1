// campaign_bad_clients: the harm that a few bad clients do. They have valid certificates, are selected like all others
// and collude: they know the limits of the version that they start from and the honest updates of the round, declare
// the largest permitted weight, and send the worst update of that size (tests/campaigns/bad_updates.hpp). While no
// limit is known they send algorithm.aggregation.max_norm.
//
// Figures are over the test examples of the honest clients at the end of the run. They are compared with the run of the
// same seed without attack. The worst of the seeds and of the variants of an attack counts. A promoted item is
// recommended to a client if it is among the client's ten best. A run is destroyed if its figures are not finite, or
// worse than those of a constant prediction. In cohorts of 4 and of 10 clients a bad one is in the first cohort, before
// any limit is known.
//
//   campaign_bad_clients [--scenario FILE]... [--bound adaptive|clip|fixed] [--share N|N%]... [--attack NAME]...
//                        [--rounds N] [--seed N | --seeds N] [--per-round N] [--quick] [--written]
//
// --written: with the settings of docs/robustness.md and their bars; what they cost without an attack is a figure too.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "bench/common.hpp"
#include "bench/run_timing.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/settings/participation.hpp"
#include "scenarios/schema/scenario.hpp"
#include "tests/campaigns/attacked_run.hpp"
#include "tests/campaigns/bad_share.hpp"
#include "tests/campaigns/written_settings.hpp"
#include "tools/runs/prepared_run.hpp"

namespace {

using namespace furlong;
using campaigns::attack;
using campaigns::attack_variant;
using campaigns::share;

constexpr attack all_attacks[] = {attack::minus_mean, attack::minus_sd,  attack::one_row,
                                  attack::direction,  attack::promotion, attack::early};

constexpr double least_accuracy = 0.95;  ///< of the run without attack

/// Of what is asked for on the command line.
struct plan {
  std::string scenario;
  std::string bound;            ///< norm_bound
  std::uint64_t rounds = 0;     ///< 0: those of the scenario
  std::uint32_t per_round = 0;  ///< likewise
  bool small_cohorts = false;   ///< only whether runs are destroyed
  bool written = false;         ///< the settings of docs/robustness.md
  std::vector<std::uint64_t> seeds;
  std::vector<share> shares;
  std::vector<attack> attacks;
};

/// One run.
struct task {
  std::size_t seed = 0;   ///< its index
  std::size_t share = 0;  ///< likewise
  attack_variant how;
  campaigns::run_result result = {};
};

unsigned long long count(std::uint64_t number) { return number; }

[[noreturn]] void misuse(const std::string& why) {
  std::fprintf(stderr, "campaign_bad_clients: %s\n", why.c_str());
  std::exit(2);
}

scenarios::scenario parse(const std::string& file, const std::vector<scenarios::setting_override>& changes) {
  auto read = scenarios::parse_scenario(file, changes);
  if (!read) misuse(read.error().front().text());
  return std::move(*read);
}

scenarios::scenario read_scenario(const plan& wanted) {
  std::vector<scenarios::setting_override> changes = {{"algorithm.aggregation.norm_bound", wanted.bound, "--bound"}};
  auto plain = parse(wanted.scenario, changes);
  if (!wanted.written) return plain;
  const bool has_ratings = plain.values.text("model.kind") == "matrix-factorization";
  const auto more = campaigns::written_settings(has_ratings);
  changes.insert(changes.end(), more.begin(), more.end());
  return parse(wanted.scenario, changes);
}

std::optional<scenarios::dataset> load(const scenarios::scenario& chosen) {
  for (const std::filesystem::path& root : {scenarios::data_root(), std::filesystem::path("../shared/data")})
    if (!scenarios::data_absent(chosen, root)) return bench::expect(scenarios::load_data(chosen, root));
  return std::nullopt;
}

/// Calls work(0), ..., work(count - 1), each once, on all processors.
void for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::atomic<std::size_t> next = 0;
  bench::run_at_once(std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, count), [&](std::size_t) {
    for (auto i = next++; i < count; i = next++) work(i);
  });
}

class comparison {
 public:
  comparison(plan wanted, federated::experiment setup)
      : plan_(std::move(wanted)), targets_(campaigns::find_targets(setup)) {
    is_rating_ = setup.model->objective() == models::objective::squared_error;
    if (!is_rating_ && setup.model->objective() != models::objective::categorical &&
        setup.model->objective() != models::objective::logistic)
      misuse(plan_.scenario + ": only ratings and classes have a constant prediction to compare with");
    if (plan_.rounds != 0) setup.settings.rounds = plan_.rounds;
    if (plan_.per_round != 0) setup.settings.participation->per_round = plan_.per_round;
    name_ =
        std::filesystem::path(plan_.scenario).stem().string() + "-" + plan_.bound + (plan_.written ? "-written" : "");
    if (plan_.per_round != 0) name_ += "-" + std::to_string(plan_.per_round) + "-a-round";
    constant_ = campaigns::constant_prediction(setup);
    for (const auto seed : plan_.seeds) {
      setup.settings.seed = seed;
      experiments_.push_back(setup);
      for (const auto& portion : plan_.shares) bad_.push_back(draw_bad(experiments_.back(), portion));
    }
  }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// Of the run of a seed without attack: the accuracy, or 1 / RMSE.
  [[nodiscard]] double quality(std::uint64_t seed) const {
    const auto place = static_cast<std::size_t>(std::ranges::find(plan_.seeds, seed) - plan_.seeds.begin());
    const auto made = campaigns::attacked_run(experiments_[place], {}, {attack::none}, targets_);
    const auto found = campaigns::figures_of(made.clients, {});
    return is_rating_ ? 1.0 / found.rmse : found.accuracy;
  }

  void measure(bench::figures& out) {
    for (std::size_t seed = 0; seed < plan_.seeds.size(); ++seed) {
      tasks_.push_back({seed, 0, {attack::none}});
      for (std::size_t s = 0; s < plan_.shares.size(); ++s)
        for (const auto how : plan_.attacks)
          for (const auto& variant : campaigns::variants_of(how, !plan_.small_cohorts))
            if (is_rating_ || how != attack::promotion) tasks_.push_back({seed, s, variant});
    }
    const double began = bench::wall_seconds();
    const auto& settings = experiments_.front().settings;
    std::fprintf(stderr, "%s: %zu runs of %llu rounds of %u clients\n", name_.c_str(), tasks_.size(),
                 count(settings.rounds), settings.participation->per_round);
    for_each(tasks_.size(), [&](std::size_t i) {
      auto& run = tasks_[i];
      run.result = campaigns::attacked_run(experiments_[run.seed], bad_of(run), run.how, targets_);
    });
    for (const auto& run : tasks_) tell(run);
    std::fprintf(stderr, "%s: %.0f s\n", name_.c_str(), bench::wall_seconds() - began);
    if (!plan_.small_cohorts) add_harm(out);
    add_counts(out);
  }

 private:
  std::set<std::uint32_t> draw_bad(const federated::experiment& setup, const share& portion) const {
    const auto training = setup.clients->training();
    const auto count = portion.count(training.size());
    if (count >= training.size()) misuse("--share " + portion.name + ": no client is left that is honest");
    const random_stream stream(setup.settings.seed, purpose::test, count);
    const auto drawn = federated::draw_uniformly(training, count, stream);
    std::set<std::uint32_t> bad(drawn.begin(), drawn.end());
    if (!plan_.small_cohorts) return bad;
    const auto first = campaigns::first_cohort(setup);
    if (std::ranges::any_of(first, [&](auto client) { return bad.contains(client); })) return bad;
    bad.erase(bad.begin());
    bad.insert(first.front());
    return bad;
  }

  [[nodiscard]] const std::set<std::uint32_t>& bad_of(const task& run) const {
    return bad_[run.seed * plan_.shares.size() + run.share];
  }
  [[nodiscard]] campaigns::honest_figures figures(const task& run) const {
    return campaigns::figures_of(run.result.clients, bad_of(run));
  }
  /// The run without attack, over the same clients.
  [[nodiscard]] campaigns::honest_figures clean(const task& run) const {
    const auto found = std::ranges::find_if(
        tasks_, [&](const task& plain) { return plain.seed == run.seed && plain.how.how == attack::none; });
    return campaigns::figures_of(found->result.clients, bad_of(run));
  }
  /// How many times better than without attack; 0 if the run has no figure.
  [[nodiscard]] double ratio(const task& run) const {
    if (run.result.diverged) return 0.0;
    const double found = is_rating_ ? clean(run).rmse / figures(run).rmse : figures(run).accuracy / clean(run).accuracy;
    return std::isfinite(found) ? found : 0.0;
  }
  [[nodiscard]] bool destroyed(const task& run) const {
    if (run.result.diverged) return true;
    const auto found = figures(run);
    const auto constant = campaigns::figures_of(constant_, bad_of(run));
    return is_rating_ ? !(found.rmse <= constant.rmse) : !(found.accuracy >= constant.accuracy);
  }

  void tell(const task& run) const {
    const auto& [clients, diverged, bad, honest, abandoned] = run.result;
    const auto found = figures(run);
    const auto constant = campaigns::figures_of(constant_, bad_of(run));
    const bool attacked = run.how.how != attack::none;
    std::fprintf(stderr, "%s seed %llu, ", name_.c_str(), count(plan_.seeds[run.seed]));
    if (attacked) std::fprintf(stderr, "%zu bad, ", bad_of(run).size());
    std::fprintf(stderr, "%s: ", to_string(run.how).c_str());
    if (diverged)
      std::fprintf(stderr, "diverged");
    else if (is_rating_)
      std::fprintf(stderr, "RMSE %.4f (constant %.4f)", found.rmse, constant.rmse);
    else
      std::fprintf(stderr, "accuracy %.4f (constant %.4f)", found.accuracy, constant.accuracy);
    if (attacked && !diverged)
      std::fprintf(stderr, is_rating_ ? ", clean is %.4f of it" : ", %.4f of clean", ratio(run));
    if (is_rating_ && !diverged && (run.how.how == attack::promotion || !attacked))
      std::fprintf(stderr, ", item %u recommended to %.4f", targets_.promoted, found.recommended);
    const auto say = [](const char* who, const campaigns::update_counts& of_them) {
      std::fprintf(stderr, "; %s: %llu accepted, %llu refused (%llu not finite)", who, count(of_them.accepted),
                   count(of_them.refused), count(of_them.not_finite));
    };
    if (attacked) say("bad", bad);
    say("honest", honest);
    std::fprintf(stderr, "; %llu rounds abandoned%s\n", count(abandoned), destroyed(run) ? "; DESTROYED" : "");
  }

  void add_harm(bench::figures& out) const {
    for (std::size_t s = 0; s < plan_.shares.size(); ++s)
      for (const auto how : plan_.attacks) {
        const task* worst = nullptr;
        double recommended = 0.0;
        double without = 0.0;
        for (const auto& run : tasks_) {
          if (run.share != s || run.how.how != how) continue;
          if (worst == nullptr || ratio(run) < ratio(*worst)) worst = &run;
          recommended = std::max(recommended, figures(run).recommended);
          without = std::max(without, clean(run).recommended);
        }
        if (worst == nullptr) continue;
        const auto& portion = plan_.shares[s];
        const auto name = name_ + "-" + portion.name + "-" + std::string(to_string(how));
        const auto harm = how == attack::minus_mean ? portion.rmse_minus_mean : portion.rmse;
        const auto bar = is_rating_ ? (harm ? std::optional(1.0 / (1.0 + *harm)) : std::nullopt) : least_accuracy;
        const auto* metric = is_rating_ ? "rmse" : "accuracy";
        const auto found = figures(*worst);
        out.add({name, metric, is_rating_ ? found.rmse : found.accuracy, metric, "clean", ratio(*worst), bar});
        if (how != attack::promotion) continue;
        out.add({name, "recommended-clean", without, "of clients"});
        bench::figure promotion{name, "recommended", recommended, "of clients"};
        if (portion.promotion) {
          promotion.baseline = "bar";
          promotion.ratio = *portion.promotion / std::max(recommended, 1e-4);
          promotion.bar_at_least = 1.0;
        }
        out.add(promotion);
      }
  }

  void add_counts(bench::figures& out) const {
    double lost = 0.0;
    double refused = 0.0;
    double attacked = 0.0;
    for (const auto& run : tasks_) {
      refused += static_cast<double>(run.result.honest.refused);
      if (run.how.how == attack::none) continue;
      attacked += 1.0;
      lost += destroyed(run) ? 1.0 : 0.0;
    }
    const auto none = [](double count) { return count == 0.0 ? 1.0 : 0.0; };
    out.add({name_, "destroyed", lost, "of " + std::to_string(std::lround(attacked)), "none", none(lost), 1.0});
    out.add({name_, "honest-refused", refused, "updates", "none", none(refused), 1.0});
  }

  plan plan_;
  campaigns::target_features targets_;
  bool is_rating_ = false;
  std::string name_;
  std::vector<campaigns::client_errors> constant_;
  std::vector<federated::experiment> experiments_;  ///< by seed
  std::vector<std::set<std::uint32_t>> bad_;        ///< by seed and share
  std::vector<task> tasks_;
};

/// Nothing without its data.
std::unique_ptr<comparison> open(const plan& wanted) {
  auto scenario = read_scenario(wanted);
  auto data = load(scenario);
  if (!data) {
    std::fprintf(stderr, "%s: skipped, its data are not there\n", wanted.scenario.c_str());
    return nullptr;
  }
  auto opened =
      bench::expect(tools::open_prepared_run(std::move(scenario), std::move(*data), tools::clients_are::simulated));
  return std::make_unique<comparison>(wanted, std::move(opened.experiment));
}

void measure(plan wanted, bench::figures& out) {
  const auto made = open(wanted);
  if (!made) return;
  made->measure(out);
  if (!wanted.written || wanted.small_cohorts) return;
  wanted.written = false;
  const auto plain = open(wanted);
  campaigns::add_cost(
      made->name(), wanted.seeds, [&](auto seed) { return plain->quality(seed); },
      [&](auto seed) { return made->quality(seed); }, out);
}

/// The values of all "--name VALUE".
std::vector<std::string> values_of(int argc, char** argv, const std::string& name) {
  std::vector<std::string> found;
  for (int i = 1; i + 1 < argc; ++i)
    if (argv[i] == name) found.emplace_back(argv[i + 1]);
  return found;
}

attack attack_of(const std::string& name) {
  const auto* found = std::ranges::find(all_attacks, name, [](attack how) { return to_string(how); });
  if (found == std::end(all_attacks)) misuse("--attack: unknown '" + name + "'");
  return *found;
}

/// The large scenario is cut short: the whole table should take less than twenty minutes on two processors.
std::uint64_t default_rounds(const std::string& scenario) {
  return std::filesystem::path(scenario).stem() == "movielens-furl-tuned" ? 200 : 0;
}

constexpr std::string_view valued_options[] = {"--scenario", "--bound", "--share", "--attack",
                                               "--rounds",   "--seed",  "--seeds", "--per-round"};

constexpr auto how_long =
    "The whole table takes about 15 minutes on two processors; --quick half a minute.\n"
    "movielens-furl-tuned is cut to 200 rounds.\n";

void check_options(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--quick" || name == "--written") continue;
    if (std::ranges::find(valued_options, name) == std::end(valued_options)) misuse("unknown option '" + name + "'");
    if (++i == argc) misuse(name + ": a value is missing");
  }
}

}  // namespace

int main(int argc, char** argv) {
  check_options(argc, argv);
  const bool quick = std::ranges::find(argv + 1, argv + argc, std::string("--quick")) != argv + argc;
  plan base;
  base.bound = bench::text_argument(argc, argv, "--bound", "clip");
  base.per_round = static_cast<std::uint32_t>(bench::count_argument(argc, argv, "--per-round", 0));
  const auto seeds = bench::count_argument(argc, argv, "--seeds", quick ? 1 : 3);
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) base.seeds.push_back(seed);
  if (const auto only = bench::count_argument(argc, argv, "--seed", 0); only != 0) base.seeds = {only};
  for (const auto& name : values_of(argc, argv, "--share")) {
    const auto found = campaigns::share_named(name);
    if (!found) misuse("--share: '" + name + "' is neither a number of clients nor a percentage");
    base.shares.push_back(*found);
  }
  const bool all_shares = base.shares.empty();
  base.written = std::ranges::find(argv + 1, argv + argc, std::string("--written")) != argv + argc;
  if (all_shares) base.shares = campaigns::barred_shares(base.written);
  for (const auto& name : values_of(argc, argv, "--attack")) base.attacks.push_back(attack_of(name));
  if (base.attacks.empty()) base.attacks.assign(std::begin(all_attacks), std::end(all_attacks));
  auto files = values_of(argc, argv, "--scenario");
  const bool all_files = files.empty();
  if (all_files) files = {"scenarios/quickstart.toml"};
  if (all_files && !quick)
    files.insert(files.end(), {"scenarios/quickstart-texts.toml", "scenarios/movielens-furl-tuned.toml"});

  if (all_files && !quick) std::fprintf(stderr, "%s", how_long);
  const double began = bench::wall_seconds();
  {
    bench::figures out("bad_clients");
    for (const auto& file : files) {
      auto wanted = base;
      wanted.scenario = file;
      wanted.rounds = bench::count_argument(argc, argv, "--rounds", default_rounds(file));
      measure(wanted, out);
      if (file != "scenarios/quickstart.toml" || !all_files || wanted.per_round != 0) continue;
      wanted.small_cohorts = true;
      if (all_shares) wanted.shares = {base.shares.front(), base.shares.back()};
      for (const std::uint32_t per_round : {4, 10}) {
        wanted.per_round = per_round;
        measure(wanted, out);
      }
    }
  }
  std::fprintf(stderr, "all runs: %.0f s\n", bench::wall_seconds() - began);
}
