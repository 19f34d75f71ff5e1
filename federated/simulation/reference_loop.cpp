#include "federated/simulation/reference_loop.hpp"

#include "federated/attack/collusion.hpp"
#include "federated/client/training_job.hpp"
#include "federated/participation/checked_policy.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/rounds/divergence.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/stopwatch.hpp"
#include "federated/settings/participation.hpp"
#include "federated/state/broadcasts.hpp"

namespace furlong::federated {

namespace {

struct reference_run {
  const experiment& e;
  private_store& store;
  const run_observer& observer;
  server_state state = initial_state(e);
  stopwatch watch{state};
  server_optimizer optimizer{*e.settings.server, e.parts.shared};
  checked_policy policy{e, *state.ledger};
  workspace use = {};
  evaluation_report figures = {};

  result<std::vector<std::uint32_t>> select_cohort() {
    const auto& how = *e.settings.participation;
    const auto eligible = [&](auto client) {
      return (*state.ledger)[client].rested(state.version, how.min_separation);
    };
    selection wanted{how.per_round, state.version, state.counts.selected, eligible};
    auto cohort = policy.choose(wanted, *state.ledger);
    if (!cohort) return cohort;
    for (const auto client : *cohort) state.ledger->select(client, state.version, ++state.counts.selected);
    policy.asked(*cohort);
    return cohort;
  }

  result<void> run_round() try {
    watch.train();
    const auto selected = select_cohort();
    if (!selected) return tl::unexpected(selected.error());
    const auto& cohort = *selected;
    const auto from = std::make_shared<const broadcast>(make_broadcast(e, state));
    const auto sum = make_accumulator(e, state.reference);
    hold_back_bad_updates(e, state.version, *sum);
    round_report report{.selected = cohort.size(), .bytes_down = cohort.size() * sent_bytes(e, *from)};
    report.cohort = cohort;
    round_facts facts(e);
    std::vector<std::pair<std::uint32_t, models::packed_private>> aggregated;
    for (const auto client : cohort) {
      training_job job{.id = {from->run, from->version, client, 0}, .from = from, .stores = true};
      perform(e, store, job, use);
      if (job.failure) return tl::unexpected(*job.failure);
      auto made = settlement_of(e, job.update);
      const auto refused = aggregate_update(e, job.update, bounds_of(e, *from, client), 1.0, *sum, made);
      if (!refused) aggregated.emplace_back(client, std::move(job.own));
      count_settlement(e, made, true, state, report);
      facts.add(made, from->limits);
    }
    report.gave_up = aggregated.size() < fewest_reports(e.settings) || facts.fault(state) != size_fault::none;
    if (report.gave_up) report.abandoned = std::exchange(aggregated, {}).size();
    report.folded = aggregated.size();
    for (const auto& [client, own] : aggregated) report.members.push_back({from->run, from->version, client, 0});
    add_bad_updates(e, state, from->limits, *sum);
    auto round = report_sum(e, state, 0, *sum);
    close_round(e, state, optimizer, round, report, facts);
    for (const auto& [client, own] : aggregated) {
      ++state.ledger->touch(client).folded;
      auto kept = own.empty() ? result<void>() : store.commit(client, from->version, own.unpacked());
      if (!kept) return kept;
    }
    watch.pause();
    return observer.on_round ? observer.on_round(report) : result<void>();
  } catch (const models::model_failure& failed) {
    return tl::unexpected(failed.why);
  }

  result<void> evaluate(const model_version& of) {
    evaluation scores(e, of, &store, state.ledger.get());
    if (auto done = scores.score_all(use); !done) return done;
    figures = scores.report();
    if (of.version == state.version)
      note_evaluation(e, state, figures);
    else
      watch_scores(state, figures);
    if (auto told = observer.on_evaluation ? observer.on_evaluation(figures) : result<void>(); !told) return told;
    for (const auto& event : unscored_events(figures, state.now))
      if (auto told = observer.on_event ? observer.on_event(event) : result<void>(); !told) return told;
    return {};
  }
};

}  // namespace

result<run_outcome> run_reference(const experiment& e, private_store& store, const run_observer& observer,
                                  const std::atomic<bool>* stop) {
  reference_run run{e, store, observer};
  auto& state = run.state;
  const auto is_over = [&] { return federated::is_over(e.settings, state); };
  result<void> done;
  do {
    if (!is_over()) done = run.run_round();
    if (done && is_evaluated(e.settings, state)) done = run.evaluate(state.last());
  } while (done && !is_over() && (stop == nullptr || !stop->load(std::memory_order_relaxed)));
  const bool interrupted = !is_over();
  if (const auto chosen = state.chosen(); done && !interrupted && chosen.version != state.version)
    done = run.evaluate(chosen);
  if (!done) return tl::unexpected(done.error());
  state.optimizer = run.optimizer.state();
  run.watch.tell(state);
  return run_outcome{std::move(state), interrupted ? evaluation_report() : std::move(run.figures), interrupted};
}

}  // namespace furlong::federated
