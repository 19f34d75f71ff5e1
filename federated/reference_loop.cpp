#include "federated/reference_loop.hpp"

#include <chrono>

#include "federated/participation.hpp"
#include "federated/round.hpp"
#include "federated/validation.hpp"

namespace furlong::federated {

namespace {

result<evaluation_report> evaluate(const experiment& e, const models::shared_parameters& model, private_store& store,
                                   std::uint64_t version, workspace& use) {
  evaluation scores(e, model, &store, version);
  for (std::size_t i = 0; i < scores.size(); ++i)
    if (auto done = scores.score(i, use); !done) return tl::unexpected(done.error());
  return scores.report();
}

/// One client of a round: load, train, store, fold.
result<void> train_client(const experiment& e, const broadcast& from, std::uint32_t client, private_store& store,
                          workspace& use, accumulator& sum, round_report& report) {
  bool has_own = false;
  if (is_stateful(e.settings.algorithm)) {
    if (use.own.shape() != e.parts.private_) use.own = models::private_parameters(e.parts.private_);
    auto loaded = store.load(client, use.own);
    if (!loaded) return tl::unexpected(loaded.error());
    has_own = *loaded;
  }
  client_update update;
  if (client_work(e, from, {from.run, from.version, client, 0}, has_own, use, update))
    if (auto stored = store.commit(client, from.version, use.own); !stored) return stored;
  report.bytes_up += e.upload_bytes ? e.upload_bytes(update) : 0;
  auto refused = validate(update, *e.parts.shared, e.settings.aggregation);
  if (!refused) refused = sum.fold(update);
  if (refused) {
    report.refused.push_back({{client, 0}, *refused});
    return {};
  }
  ++report.folded;
  report.examples += update.examples;
  return {};
}

result<round_report> run_round(const experiment& e, protocol::server_state& state, server_optimizer& optimizer,
                               private_store& store, workspace& use) {
  const auto cohort = choose_cohort(e.participants->training(), e.settings.per_round, e.settings.seed,
                                    static_cast<std::uint32_t>(state.version));
  const broadcast from{state.run, state.version, state.model, state.reference};
  const auto sum = make_accumulator(e.settings.aggregation, e.parts.shared, state.reference);
  round_report report;
  report.selected = cohort.size();
  report.bytes_down = cohort.size() * e.download_bytes;
  for (const auto client : cohort)
    if (auto done = train_client(e, from, client, store, use, *sum, report); !done) return tl::unexpected(done.error());
  auto round = sum->report();
  close_round(e, state, optimizer, round, report);
  return report;
}

}  // namespace

result<run_outcome> run_reference(const experiment& e, private_store& store, const run_observer& observer) {
  using clock = std::chrono::steady_clock;
  const auto seconds_since = [](clock::time_point start) {
    return std::chrono::duration<double>(clock::now() - start).count();
  };
  const auto begun = clock::now();
  run_outcome outcome;
  outcome.state = initial_state(e);
  auto& state = outcome.state;
  server_optimizer optimizer(e.settings.server, e.parts.shared);
  workspace use;
  const auto every = e.settings.evaluation.every;
  while (state.version < e.settings.rounds) {
    const auto round_begun = clock::now();
    const double cpu_begun = process_cpu_seconds();
    auto report = run_round(e, state, optimizer, store, use);
    if (!report) return tl::unexpected(report.error());
    state.train_seconds += seconds_since(round_begun);
    state.train_cpu_seconds += process_cpu_seconds() - cpu_begun;
    if (observer.on_round)
      if (auto told = observer.on_round(*report); !told) return tl::unexpected(told.error());
    if (every == 0 || state.version % every != 0 || state.version == e.settings.rounds) continue;
    auto evaluated = evaluate(e, state.model, store, state.version, use);
    if (!evaluated) return tl::unexpected(evaluated.error());
    if (observer.on_evaluation)
      if (auto told = observer.on_evaluation(*evaluated); !told) return tl::unexpected(told.error());
  }
  auto final_report = evaluate(e, state.model, store, state.version, use);
  if (!final_report) return tl::unexpected(final_report.error());
  outcome.evaluation = *final_report;
  if (observer.on_evaluation)
    if (auto told = observer.on_evaluation(*final_report); !told) return tl::unexpected(told.error());
  state.optimizer = optimizer.state();
  state.wall_seconds = seconds_since(begun);
  state.cpu_seconds = process_cpu_seconds();
  return outcome;
}

}  // namespace furlong::federated
