#include "tests/campaigns/attacked_run.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "bench/run_timing.hpp"
#include "federated/client/inference.hpp"
#include "federated/client/training_job.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/participation.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"

namespace furlong::campaigns {

namespace {

using federated::part;
using federated::training_job;

void expect_done(const result<void>& done) {
  if (!done) bench::give_up(done.error());
}

class run {
 public:
  run(const federated::experiment& e, const std::set<std::uint32_t>& bad, const attack_variant& how,
      const target_features& targets)
      : e_(e),
        bad_(bad),
        how_(how),
        targets_(targets),
        state_(federated::initial_state(e)),
        optimizer_(*e.settings.server, e.parts.shared),
        policy_(federated::make_policy(e, *state_.ledger)),
        store_(e.parts.private_) {}

  run_result whole() {
    while (state_.version < e_.settings.rounds && state_.losses.diverged.empty()) round();
    out_.diverged = !state_.losses.diverged.empty();
    if (!out_.diverged) score();
    return std::move(out_);
  }

  std::vector<std::uint32_t> choose() {
    const auto& participation = *e_.settings.participation;
    const auto eligible = [&](auto client) {
      return (*state_.ledger)[client].rested(state_.version, participation.min_separation);
    };
    federated::selection wanted{participation.per_round, state_.version, state_.counts.selected, eligible};
    auto cohort = policy_->choose(wanted, *state_.ledger);
    for (const auto client : cohort) state_.ledger->select(client, state_.version, ++state_.counts.selected);
    policy_->asked(cohort);
    return cohort;
  }

 private:
  [[nodiscard]] bool is_bad(std::uint32_t client) const { return how_.how != attack::none && bad_.contains(client); }

  training_job train(const federated::broadcast_ptr& from, std::uint32_t client) {
    training_job job{.id = {from->run, from->version, client, 0}, .from = from, .stores = true};
    federated::perform(e_, store_, job, use_);
    if (job.failure) bench::give_up(*job.failure);
    return job;
  }

  void round() {
    const auto cohort = choose();
    const auto from = std::make_shared<const federated::broadcast>(federated::make_broadcast(e_, state_));
    const auto sum = federated::make_accumulator(e_, state_.reference);
    federated::round_report report{.selected = cohort.size()};
    federated::round_facts facts(e_);
    std::vector<training_job> folded;
    const auto aggregate = [&](training_job job) {
      auto made = federated::settlement_of(e_, job.update, 0);
      const auto bounds = federated::bounds_of(e_, *from, job.id.client);
      static_cast<void>(federated::aggregate_update(e_, job.update, bounds, 1.0, *sum, made));
      federated::count_settlement(e_, made, true, state_, report);
      facts.add(made, from->limits);
      count(made);
      job.update = {};  // only the private values are needed any more
      if (made.what == federated::outcome::folded) folded.push_back(std::move(job));
    };
    std::vector<training_job> bad;
    std::optional<honest_statistics> honest;
    if (how_.how == attack::minus_mean || how_.how == attack::minus_sd) honest.emplace(e_.parts.up);
    const bool attacks = how_.how != attack::early || !from->limits.known();
    for (const auto client : cohort) {
      auto job = train(from, client);
      if (attacks && is_bad(client)) {
        bad.push_back(std::move(job));
        continue;
      }
      if (honest) honest->add(job.update);
      aggregate(std::move(job));
    }
    spoil(*from, honest, bad);
    for (auto& job : bad) aggregate(std::move(job));
    close(*sum, report, facts, folded);
  }

  /// They all send the same change: it depends on the version and the honest clients only.
  void spoil(const federated::broadcast& from, const std::optional<honest_statistics>& honest,
             std::vector<training_job>& bad) {
    if (bad.empty()) return;
    const auto bounds_for = [&](const training_job& job) { return federated::bounds_of(e_, from, job.id.client); };
    const auto change = bad_change(e_, how_, targets_, honest, taste(), bounds_for(bad.front()));
    for (auto& job : bad) {
      auto& update = job.update;
      update.change = change;
      update.weight = largest_weight(e_, bounds_for(job));
      update.loss_sum = update.weight;  // a loss that nobody doubts
    }
  }

  /// The mean of the bad clients' own user vectors, as they trained them.
  std::vector<float> taste() {
    const auto tensor = e_.parts.private_->find("user");
    if (how_.how != attack::promotion || !tensor) return {};
    std::vector<float> sum((*e_.parts.private_)[*tensor].size());
    models::private_parameters own(e_.parts.private_);
    for (const auto client : bad_) {
      if (!bench::expect(store_.load(client, own))) continue;
      std::ranges::transform(sum, own.tensor(*tensor), sum.begin(), std::plus());
    }
    return sum;
  }

  void count(const federated::settlement& made) {
    auto& counts = bad_.contains(made.id.client) ? out_.bad : out_.honest;
    if (made.what == federated::outcome::folded) ++counts.accepted;
    if (made.what != federated::outcome::rejected) return;
    ++counts.refused;
    if (made.why == federated::rejection::not_finite) ++counts.not_finite;
  }

  /// As federated/simulation/reference_loop.cpp ends a round.
  void close(federated::accumulator& sum, federated::round_report& report, const federated::round_facts& facts,
             std::vector<training_job>& folded) {
    report.gave_up =
        folded.size() < federated::fewest_reports(e_.settings) || facts.fault(state_) != federated::size_fault::none;
    if (report.gave_up) report.abandoned = std::exchange(folded, {}).size();
    report.folded = folded.size();
    for (const auto& job : folded) {
      ++state_.ledger->touch(job.id.client).folded;
      if (!job.own.empty()) expect_done(store_.commit(job.id.client, job.id.version, job.own.unpacked()));
    }
    out_.abandoned += report.gave_up ? 1 : 0;
    auto made = federated::report_sum(e_, state_, 0, sum);
    federated::close_round(e_, state_, optimizer_, made, report, facts);
  }

  void score() {
    const auto sent = federated::sent_model(e_, state_.last());
    const federated::client_scorer scorer(e_, sent, state_.version, &store_);
    const bool ranks = how_.how == attack::promotion || how_.how == attack::none;
    for (const auto client : e_.clients->training()) {
      const auto score = bench::expect(scorer.score(federated::group::seen, client, use_));
      client_errors errors{client, score.squared_error, score.correct, score.examples};
      if (ranks && e_.model->objective() == models::objective::squared_error)
        errors.recommended = recommended(sent, client);
      out_.clients.push_back(errors);
    }
  }

  /// Whether the promoted item is among the ten best that the client has no training example of.
  std::optional<bool> recommended(const models::shared_parameters& sent, std::uint32_t client) {
    constexpr int listed = 10;
    models::examples scratch;
    const auto known = e_.clients->load(client, part::train, scratch);
    if (std::ranges::find(known.features, targets_.promoted) != known.features.end()) return std::nullopt;
    auto scores = bench::expect(federated::predict_all_features(e_, sent, &store_, client, known)).predictions;
    const float promoted = scores[targets_.promoted];
    for (const auto item : known.features) scores[item] = -std::numeric_limits<float>::infinity();
    return std::ranges::count_if(scores, [&](float score) { return score > promoted; }) < listed;
  }

  const federated::experiment& e_;
  const std::set<std::uint32_t>& bad_;
  attack_variant how_;
  target_features targets_;
  federated::server_state state_;
  federated::server_optimizer optimizer_;
  std::unique_ptr<federated::selection_policy> policy_;
  storage::memory_store store_;
  federated::workspace use_;
  run_result out_;
};

}  // namespace

run_result attacked_run(const federated::experiment& e, const std::set<std::uint32_t>& bad, const attack_variant& how,
                        const target_features& targets) {
  return run(e, bad, how, targets).whole();
}

std::vector<std::uint32_t> first_cohort(const federated::experiment& e) { return run(e, {}, {}, {}).choose(); }

std::vector<client_errors> constant_prediction(const federated::experiment& e) {
  models::examples scratch;
  std::map<float, std::uint64_t> counts;
  double sum = 0.0;
  double examples = 0.0;
  const auto training = e.clients->training();
  for (const auto client : training)
    for (const float label : e.clients->load(client, part::train, scratch).labels) {
      ++counts[label];
      sum += label;
      examples += 1.0;
    }
  const float frequent = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; })->first;
  std::vector<client_errors> out;
  for (const auto client : training) {
    client_errors errors{.client = client};
    for (const float label : e.clients->load(client, part::test, scratch).labels) {
      const double miss = label - sum / examples;
      errors.squared_error += miss * miss;
      errors.correct += label == frequent ? 1 : 0;
      ++errors.examples;
    }
    out.push_back(errors);
  }
  return out;
}

honest_figures figures_of(const std::vector<client_errors>& clients, const std::set<std::uint32_t>& bad) {
  double squared = 0.0;
  double correct = 0.0;
  double examples = 0.0;
  double asked = 0.0;
  double recommended = 0.0;
  for (const auto& one : clients) {
    if (bad.contains(one.client)) continue;
    squared += one.squared_error;
    correct += static_cast<double>(one.correct);
    examples += static_cast<double>(one.examples);
    asked += one.recommended ? 1.0 : 0.0;
    recommended += one.recommended.value_or(false) ? 1.0 : 0.0;
  }
  return {std::sqrt(squared / examples), correct / examples, asked > 0.0 ? recommended / asked : 0.0};
}

}  // namespace furlong::campaigns
