#include "federated/round.hpp"

#include <bit>
#include <cmath>

#include "federated/digest.hpp"
#include "federated/privacy.hpp"
#include "federated/rounding.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

protocol::server_state initial_state(const experiment& e) {
  protocol::server_state state;
  state.run = e.run;
  state.model = initial_model(e);
  state.optimizer = server_optimizer(e.settings.server, e.parts.shared).state();
  state.reference = first_reference(e.settings.aggregation, e.parts.shared);
  const auto clients = e.participants->training();
  state.ledger = std::make_shared<participation_ledger>(clients.empty() ? 0 : std::size_t{clients.back()} + 1);
  return state;
}

broadcast make_broadcast(const experiment& e, const protocol::server_state& state) {
  return make_broadcast(e, state, state.last());
}

broadcast make_broadcast(const experiment& e, const protocol::server_state& state, const protocol::model_version& of) {
  broadcast made{state.run, of.version, of.model, state.reference};
  round_broadcast(e, of.version, made.model);
  return made;
}

std::uint64_t sent_bytes(const experiment& e, const broadcast& from) {
  return e.sent_bytes ? e.sent_bytes(from) : e.download_bytes;
}

void close_round(const experiment& e, protocol::server_state& state, server_optimizer& optimizer, aggregate& round,
                 round_report& report) {
  report.applied = round.usable;
  report.loss = round.loss;
  if (round.usable) {
    add_server_noise(e, state.version, round);
    const auto change = round.change.values();
    report.change_norm = std::sqrt(models::kernels().norm_squared(change.data(), change.size()));
    optimizer.apply(round.change, state.model);
  }
  if (!round.reference.empty()) state.reference = round.reference;
  report.version = ++state.version;
  report.rejected = report.refused.size();
}

std::string scoring_id(const evaluation_settings& how) {
  sha256_stream all;
  for (const std::uint64_t number : {std::uint64_t{how.batch_size}, std::uint64_t{how.clients}, std::uint64_t{how.clip},
                                     std::uint64_t{how.split}, std::uint64_t{how.reconstruct.size()}})
    all.add(number);
  for (const auto& name : how.reconstruct) all.add(std::uint64_t{name.size()}).add(std::string_view(name));
  return hex(all.finish());
}

std::string target_id(const evaluation_settings& how) {
  const auto& target = how.target;
  sha256_stream all;
  all.add(std::string_view(scoring_id(how))).add(std::string_view(target.metric));
  all.add(std::bit_cast<std::uint64_t>(target.value)).add(std::uint64_t{target.at_most});
  return hex(all.finish());
}

void fit_to_evaluation(const evaluation_settings& how, protocol::server_state& state) {
  if (!how.keep_best) state.best.reset();
  if (state.target_id.empty() || state.target_id == target_id(how)) return;
  state.target_reached.reset();
  state.target_version = 0;
  state.target_id.clear();
}

std::string selection_metric(const evaluation_settings& settings) {
  const auto& metric = settings.target.metric;
  return "validation." + (metric.empty() ? "loss" : metric.substr(metric.find('.') + 1));
}

void note_evaluation(const experiment& e, protocol::server_state& state, const evaluation_report& figures) {
  const auto& settings = e.settings.evaluation;
  const auto& target = settings.target;
  const auto reached = target.metric.empty() ? std::nullopt : metric_of(figures, target.metric);
  if (reached && !state.target_reached && (target.at_most ? *reached <= target.value : *reached >= target.value)) {
    state.target_reached = state.now;
    state.target_version = state.version;
    state.target_id = target_id(settings);
  }
  if (!settings.keep_best) return;
  const auto metric = selection_metric(settings);
  const auto figure = metric_of(figures, metric);
  if (!figure || !std::isfinite(*figure)) return;
  const auto scoring = scoring_id(settings);
  const bool same_scoring = state.best && (state.best->scoring.empty() || state.best->scoring == scoring);
  if (same_scoring && state.best->metric == metric) {  // else another one was asked for before the run was resumed
    const double more = *figure - state.best->figure;
    if (!(smaller_is_better(metric) ? more < 0.0 : more > 0.0)) return;
  }
  state.best = std::make_shared<const protocol::best_model>(
      protocol::best_model{metric, scoring, *figure, state.version, state.model});
}

}  // namespace furlong::federated
