#include "federated/reference_loop.hpp"

#include "federated/algorithm_traits.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/protocol/is_over.hpp"
#include "federated/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "federated/stopwatch.hpp"
#include "federated/validation.hpp"

namespace furlong::federated {

namespace {

/// A run as a plain loop: the reference for the state machines and engines.
class plain_run {
 public:
  plain_run(const experiment& e, private_store& store, const run_observer& observer, const std::atomic<bool>* stop)
      : e_(e),
        store_(store),
        observer_(observer),
        stop_(stop),
        state_(initial_state(e)),
        watch_(state_),
        optimizer_(*e.settings.server, e.parts.shared),
        policy_(make_policy(e, *state_.ledger)) {}

  result<run_outcome> run() {
    const auto every = e_.settings.evaluation->every;
    while (!over()) {
      watch_.train();
      auto report = run_round();
      watch_.pause();
      if (!report) return tl::unexpected(report.error());
      if (observer_.on_round)
        if (auto reported = observer_.on_round(*report); !reported) return tl::unexpected(reported.error());
      if (every != 0 && state_.version % every == 0 && !over())
        if (auto done = evaluate(); !done) return tl::unexpected(done.error());
      if (stops() && !over()) return ended(true);
    }
    if (auto done = evaluate(); !done) return tl::unexpected(done.error());
    if (const auto best = state_.chosen(); best.version != state_.version)
      if (auto done = evaluate(best); !done) return tl::unexpected(done.error());
    return ended(false);
  }

 private:
  run_outcome ended(bool interrupted) {
    state_.optimizer = optimizer_.state();
    watch_.tell(state_);
    if (interrupted) last_ = {};  // not of the final model
    return {std::move(state_), std::move(last_), interrupted};
  }

  [[nodiscard]] bool stops() const { return stop_ != nullptr && stop_->load(std::memory_order_relaxed); }
  [[nodiscard]] bool over() const { return protocol::is_over(e_.settings, state_); }

  result<void> evaluate() {
    auto done = evaluate(state_.last());
    note_evaluation(e_, state_, last_);
    return done;
  }

  result<void> evaluate(const protocol::model_version& of) {
    evaluation scores(e_, of, &store_, state_.ledger.get());
    for (std::size_t i = 0; i < scores.size(); ++i)
      if (auto done = scores.score(i, use_); !done) return done;
    last_ = scores.report();
    return observer_.on_evaluation ? observer_.on_evaluation(last_) : result<void>();
  }

  std::vector<std::uint32_t> choose() {
    const auto version = static_cast<std::uint32_t>(state_.version);
    auto& ledger = *state_.ledger;
    selection wanted;
    wanted.count = e_.settings.participation->per_round;
    wanted.round = state_.version;
    wanted.ordinal = state_.counts.selected;
    const auto apart = std::max(1U, e_.settings.participation->min_separation);
    wanted.eligible = [&](std::uint32_t client) {
      const auto asked = ledger[client].asked_version;
      return asked == 0 || version + 1 >= asked + apart;
    };
    auto cohort = policy_->choose(wanted, ledger);
    for (const auto client : cohort) {
      auto& of = ledger.touch(client);
      of.asked_version = version + 1;
      ++of.selected;
      of.last_selection = ++state_.counts.selected;
    }
    policy_->asked(cohort);
    return cohort;
  }

  result<round_report> run_round() {
    const auto cohort = choose();
    const auto from = make_broadcast(e_, state_);
    const auto sum = make_accumulator(e_, state_.reference);
    round_report report;
    report.selected = cohort.size();
    report.bytes_down = cohort.size() * sent_bytes(e_, from);
    round_facts facts(e_);
    for (const auto client : cohort)
      if (auto done = train_client(from, client, *sum, report, facts); !done) return tl::unexpected(done.error());
    auto round = report_sum(e_, state_, 0, *sum);
    if (report.folded < fewest_reports(e_.settings) || facts.has_outlier(state_)) abandon(round, report);
    for (const auto& [client, own] : std::exchange(waiting_, {}))
      if (!report.gave_up)
        if (auto stored = store_.commit(client, from.version, own); !stored) return tl::unexpected(stored.error());
    report.attention = weigh_updates();
    count(report);
    close_round(e_, state_, optimizer_, round, report, facts);
    return report;
  }

  /// One client of a round: load, train, store, aggregate.
  result<void> train_client(const broadcast& from, std::uint32_t client, accumulator& sum, round_report& report,
                            round_facts& facts) {
    bool has_own = false;
    if (e_.settings.algorithm->traits.keeps_state) {
      if (use_.own.shape() != e_.parts.private_) use_.own = models::private_parameters(e_.parts.private_);
      auto loaded = store_.load(client, use_.own);
      if (!loaded) return tl::unexpected(loaded.error());
      has_own = *loaded;
    }
    client_update update;
    const bool keeps = client_work(e_, from, {from.run, from.version, client, 0}, has_own, use_, update);
    if (keeps && trains_if_discarded(e_.settings))
      if (auto stored = store_.commit(client, from.version, use_.own); !stored) return stored;
    report.bytes_up += e_.upload_bytes ? e_.upload_bytes(update) : 0;
    report.examples += update.examples;
    auto& of = state_.ledger->touch(client);
    const auto bounds =
        bounds_of(e_, longest_update(e_, from.model), from.limits, e_.participants->count(client, part::train));
    update_size size;
    auto refused = validate(update, *e_.parts.up, *e_.settings.aggregation, bounds, &size);
    if (!refused) refused = sum.fold(update);
    if (refused) {
      facts.add_size(size);
      report.refused.push_back({{client, 0}, *refused});
      return {};
    }
    const double loss = update.weight > 0 ? update.loss_sum / update.weight : 0.0;
    facts.add_aggregated(size, loss);
    if (update.examples > 0 && keeps_client_losses(e_.settings)) of.loss = static_cast<float>(loss);
    of.reported_version = static_cast<std::uint32_t>(from.version + 1);
    folded_.push_back(client);
    if (keeps && !trains_if_discarded(e_.settings)) waiting_.emplace_back(client, use_.own);
    if (e_.settings.evaluation->attention && update.weight > 0)
      distances_.push_back({client, {sum.distances().begin(), sum.distances().end()}});
    ++report.folded;
    return {};
  }

  std::optional<attention_weights> weigh_updates() {
    const auto found = std::exchange(distances_, {});
    std::vector<client_distances> all;
    for (const auto& [client, distances] : found) all.push_back({client, distances});
    return all.empty() || folded_.empty() ? std::nullopt : std::optional(attention_of(*e_.parts.shared, all));
  }

  /// Too few reports: discards the aggregated updates.
  void abandon(aggregate& round, round_report& report) {
    round.usable = false;
    round.reference.clear();
    report.gave_up = true;
    report.abandoned = std::exchange(report.folded, 0);
    folded_.clear();
  }

  void count(const round_report& report) {
    auto& counts = state_.counts;
    counts.folded += report.folded;
    for (const auto& refused : report.refused) ++counts.rejected[static_cast<std::size_t>(refused.why)];
    counts.abandoned += report.abandoned;
    counts.rounds_abandoned += report.gave_up ? 1 : 0;
    counts.clients_trained += report.selected;
    counts.examples += report.examples;
    counts.bytes_up += report.bytes_up;
    counts.bytes_down += report.bytes_down;
    for (const auto client : std::exchange(folded_, {})) ++state_.ledger->touch(client).folded;
  }

  const experiment& e_;
  private_store& store_;
  const run_observer& observer_;
  const std::atomic<bool>* stop_;
  protocol::server_state state_;
  stopwatch watch_;
  server_optimizer optimizer_;
  std::unique_ptr<selection_policy> policy_;
  workspace use_;
  std::vector<std::uint32_t> folded_;
  std::vector<std::pair<std::uint32_t, models::private_parameters>> waiting_;  ///< for the end of the round, by client
  std::vector<std::pair<std::uint32_t, std::vector<float>>> distances_;        ///< by aggregated client
  evaluation_report last_;
};

}  // namespace

result<run_outcome> run_reference(const experiment& e, private_store& store, const run_observer& observer,
                                  const std::atomic<bool>* stop) {
  return plain_run(e, store, observer, stop).run();
}

}  // namespace furlong::federated
