#include "federated/rounds/round.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "base/digest.hpp"
#include "federated/aggregation/contracts.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/aggregation/server_view.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/quantized_traffic.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/rounds/divergence.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

server_state initial_state(const experiment& e) {
  server_state state;
  state.run = e.run;
  state.model = initial_model(e);
  state.added = initial_added(e, state.model);
  state.optimizer = server_optimizer(*e.settings.server, e.parts.shared).state();
  state.reference = first_reference(*e.settings.aggregation, e.parts.shared);
  const auto clients = e.participants->training();
  state.ledger = std::make_shared<participation_ledger>(clients.empty() ? 0 : std::size_t{clients.back()} + 1);
  return state;
}

settlement settlement_of(const experiment& e, const client_update& update, std::optional<std::uint64_t> bytes) {
  if (!bytes) bytes = e.upload_bytes ? e.upload_bytes(update) : 0;
  return {.id = update.id,
          .examples = std::min(update.examples, most_examples),
          .bytes = *bytes,
          .loss = update.weight > 0 ? update.loss_sum / update.weight : 0.0};
}

std::optional<rejection> aggregate_update(const experiment& e, const client_update& update, const update_bounds& bounds,
                                          double freshness, accumulator& sum, settlement& made) {
  auto refused = validate(update, *e.parts.up, *e.settings.aggregation, bounds, &made.size);
  const bool counts = !is_only_measured(e.settings, bounds.limits);
  if (!refused && counts) refused = sum.fold(update, freshness);
  made.what = refused ? outcome::rejected : outcome::folded;
  if (refused)
    made.why = *refused;
  else if (e.settings.evaluation->attention && update.weight > 0 && counts)
    made.distances.assign(sum.distances().begin(), sum.distances().end());
  return refused;
}

settlement assess_update(const experiment& run, const client_update& update, const broadcast& start, accumulator* sum) {
  auto made = settlement_of(run, update);
  const auto bounds = bounds_of(run, start, update.id.client);
  if (sum != nullptr) {
    static_cast<void>(aggregate_update(run, update, bounds, 1.0, *sum, made));
  } else if (const auto refused = validate(update, *run.parts.up, *run.settings.aggregation, bounds, &made.size)) {
    made.what = outcome::rejected;
    made.why = *refused;
  }
  return made;
}

bool adds_to_sum(const experiment& run, const client_update& update, const broadcast& start, const settlement& made) {
  return made.what == outcome::folded && update.weight > 0 && !is_only_measured(run.settings, start.limits);
}

bool is_only_measured(const run_settings& settings, const update_limits& limits) {
  return norm_bound_of(settings) == norm_bound_kind::clip && !limits.known();
}

void count_settlement(const experiment& e, const settlement& made, bool arrived, server_state& state,
                      round_report& report) {
  auto& counts = state.counts;
  auto& of = state.ledger->touch(made.id.client);
  of.ended_at = state.now;
  if (made.what == outcome::folded || made.what == outcome::rejected)
    of.reported_version = static_cast<std::uint32_t>(state.version + 1);
  switch (made.what) {
    case outcome::rejected:
      ++counts.rejected[static_cast<std::size_t>(made.why)];
      report.refused.push_back({{made.id.client, made.id.attempt}, made.why});
      break;
    case outcome::late: ++counts.late, ++report.late; break;
    case outcome::surplus: ++counts.surplus, ++report.surplus; break;
    case outcome::dropped:
      ++counts.dropped[static_cast<std::size_t>(made.stage)];
      ++report.dropped[static_cast<std::size_t>(made.stage)];
      break;
    case outcome::folded:
    case outcome::abandoned: break;  // known when the round is closed
  }
  if (!arrived) return;
  // Late and over-selected updates are not validated, rejected ones failed: neither may affect later draws.
  const bool sound = made.what != outcome::rejected && std::isfinite(made.loss);
  if (made.examples > 0 && sound && keeps_client_losses(e.settings)) of.loss = static_cast<float>(made.loss);
  ++counts.clients_trained;
  counts.examples += made.examples;
  report.examples += made.examples;
  report.bytes_up += made.bytes;
}

void round_facts::add(const settlement& made, const update_limits& limits) {
  auto size = made.size;
  if (!e_->sizes_declared) size.weight = 0;
  sizes_.add(size);
  if (made.what != outcome::folded) return;
  if (!limits.known())
    unlimited_.add(size);
  else if (size.norm != 0)
    any_limited_ = true;
  if (made.size.weight != 0) losses_.push_back(made.loss);
  if (made.distances.size() == e_->parts.shared->count()) distances_.emplace_back(made.id.client, made.distances);
}

size_fault round_facts::fault(const server_state& state) const {
  switch (norm_bound_of(e_->settings)) {
    case norm_bound_kind::fixed: break;
    case norm_bound_kind::adaptive: return fault_of(state.sizes, sizes_, unlimited_);
    case norm_bound_kind::clip:
      if (unlimited_.norms.total() > 0 && !any_limited_) return size_fault::unknown;
  }
  return size_fault::none;
}

std::string to_string(size_fault fault) {
  if (fault == size_fault::outlier) return "an update is far larger than the others, and no limit was known yet";
  return "no limit of updates was known yet: this version only measured them";
}

std::optional<double> round_facts::median_loss() const {
  if (losses_.empty()) return std::nullopt;
  auto sorted = losses_;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

std::optional<attention_weights> round_facts::attention() const {
  if (distances_.empty()) return std::nullopt;
  std::vector<client_distances> all;
  for (const auto& [client, distances] : distances_) all.push_back({client, distances});
  std::ranges::sort(all, {}, &client_distances::client);
  return attention_of(*e_->parts.shared, all);
}

std::size_t server_view::place_of(std::size_t group, std::size_t i, std::size_t placed_group::*first) const {
  const bool there = group < e.groups.size() && i < e.groups[group].count();
  if (there && e.groups[group].*first != placed_group::nowhere) return e.groups[group].*first + i;
  throw std::out_of_range("tensor " + std::to_string(i) + " of group " + std::to_string(group) +
                          (there ? " is at another place" : " is not among the algorithm's"));
}

void server_view::optimize(const models::shared_parameters& change) const { optimizer.apply(change, model); }

void server_view::add_reported(const aggregate& of) const {
  for (std::size_t g = 0; g < e.groups.size(); ++g)
    for (std::size_t i = 0; e.groups[g].where == place::shared && i < e.groups[g].count(); ++i) {
      const auto change = reported(of, g, i);
      models::kernels().descend(tensor(g, i).data(), change.data(), change.size(), -1.0F);
    }
}

std::vector<tensor_group> algorithm::tensors(const models::model& /*model*/, const models::partition& /*parts*/) const {
  return {};
}

std::vector<round_figure> algorithm::figures(const server_view& /*server*/, const aggregate& /*round*/) const {
  return {};
}

void algorithm::step(server_view& server, const aggregate& of) const {
  server.optimize(of.change);
  server.add_reported(of);
}

namespace {

/// Nodes and aggregators expect constants of one number in every broadcast.
void check_reference(const experiment& e, const aggregate& round) {
  const auto expected = first_reference(*e.settings.aggregation, e.parts.shared).size();
  if (round.reference.empty() || round.reference.size() == expected) return;
  throw models::model_failure({error::kind::runtime, "algorithm.aggregation.rule",
                               "report() of " + e.settings.aggregation->rule.kind + " gives " +
                                   std::to_string(round.reference.size()) +
                                   " constants for the next round, and first_reference() " + std::to_string(expected),
                               "give as many in both, or none in report(), which keeps those of the round before"});
}

}  // namespace

void close_round(const experiment& e, server_state& state, server_optimizer& optimizer, aggregate& round,
                 round_report& report, const round_facts& facts) {
  check_reference(e, round);
  auto& counts = state.counts;
  counts.folded += report.folded;
  counts.abandoned += report.abandoned;
  counts.rounds_abandoned += report.gave_up ? 1 : 0;
  counts.bytes_up += report.bytes_up;
  counts.bytes_down += report.bytes_down;
  if (report.gave_up) {
    round.usable = false;
    round.reference.clear();
  } else {
    report.attention = facts.attention();
  }
  report.applied = round.usable;
  // The loss of a round of one update is that client's.
  const bool tells_one = report.folded < 2 && !keeps_client_losses(e.settings);
  report.loss = tells_one ? std::numeric_limits<double>::quiet_NaN() : round.loss;
  if (round.usable) {
    check_aggregate(e, round);
    add_server_noise(e, state, round);
    const auto change = round.change.values();
    report.change_norm = std::sqrt(models::kernels().norm_squared(change.data(), change.size()));
    const auto before = e.model->may_fail() ? state.added : models::shared_parameters();
    try {
      move_clip_bound(e, round, state.added);
      server_view server{e, state.model, state.added, optimizer, state.version};
      ask_algorithm(e, "in the step of the server", std::nullopt, [&] {
        report.figures = e.settings.algorithm->does->figures(server, round);
        e.settings.algorithm->does->step(server, round);
      });
    } catch (const models::model_failure&) {
      state.added = before;
      throw;
    }
  }
  if (!round.reference.empty()) state.reference = round.reference;
  state.sizes.close(facts.sizes());
  watch_training(e, state, report, facts);
  report.version = ++state.version;
  report.rejected = report.refused.size();
}

std::string scoring_id(const evaluation_settings& how) {
  sha256_stream all;
  for (const std::uint64_t number : {std::uint64_t{how.batch_size}, std::uint64_t{how.clients}, std::uint64_t{how.clip},
                                     std::uint64_t{how.split ? *how.split : 2U}, std::uint64_t{how.reconstruct.size()}})
    all.add(number);
  for (const auto& name : how.reconstruct) all.add(std::uint64_t{name.size()}).add(std::string_view(name));
  // Its default is left out: then this is what it was before there were rankings.
  if (const auto drawn = how.ranking.candidates; drawn != ranking_settings{}.candidates) all.add(std::uint64_t{drawn});
  return hex(all.finish());
}

std::string target_id(const evaluation_settings& how) {
  const auto& target = how.target;
  sha256_stream all;
  all.add(std::string_view(scoring_id(how))).add(std::string_view(target.metric));
  all.add(std::bit_cast<std::uint64_t>(target.value)).add(std::uint64_t{target.at_most});
  return hex(all.finish());
}

void reset_for_evaluation(const evaluation_settings& how, server_state& state) {
  if (!how.keep_best) state.best.reset();
  if (state.progress && (state.progress->metric != selection_metric(how) || state.progress->scoring != scoring_id(how)))
    state.progress.reset();
  if (state.losses.scoring != scoring_id(how)) state.losses.beat_constant = {};
  if (state.target_id.empty() || state.target_id == target_id(how)) return;
  state.target_reached.reset();
  state.target_version = 0;
  state.target_id.clear();
}

std::string selection_metric(const evaluation_settings& settings) {
  if (!settings.metric.empty()) return "validation." + settings.metric;
  const auto& metric = settings.target.metric;
  return "validation." + (metric.empty() ? "loss" : metric.substr(metric.find('.') + 1));
}

namespace {

/// The validation figure by which models are compared.
struct selection_figure {
  std::string metric;
  std::string scoring;
  double value;
  bool smaller_is_better;

  /// Whether it is better than another one, which has another meaning if the metric or the scoring changed before the
  /// run was resumed.
  [[nodiscard]] bool beats(const std::string& of_metric, const std::string& of_scoring, double other) const {
    if (!std::isfinite(value)) return false;
    if (of_metric != metric || of_scoring != scoring) return true;
    return smaller_is_better ? value < other : value > other;
  }
};

std::optional<selection_figure> selection_figure_of(const evaluation_settings& settings,
                                                    const evaluation_report& figures) {
  auto metric = selection_metric(settings);
  const auto value = metric_of(figures, metric);
  if (!value) return std::nullopt;
  const bool smaller = smaller_is_better(figures, metric);
  return selection_figure{std::move(metric), scoring_id(settings), *value, smaller};
}

void note_progress(const selection_figure& figure, server_state& state) {
  auto& progress = state.progress;
  if (progress ? figure.beats(progress->metric, progress->scoring, progress->figure) : std::isfinite(figure.value))
    progress = {figure.metric, figure.scoring, figure.value, state.version, state.version};
  else if (progress)
    progress->evaluated = state.version;
}

}  // namespace

void note_evaluation(const experiment& e, server_state& state, const evaluation_report& figures) {
  const auto& settings = *e.settings.evaluation;
  const auto& target = settings.target;
  watch_evaluation(e, state, figures);
  const auto reached = target.metric.empty() ? std::nullopt : metric_of(figures, target.metric);
  if (reached && !state.target_reached && (target.at_most ? *reached <= target.value : *reached >= target.value)) {
    state.target_reached = state.now;
    state.target_version = state.version;
    state.target_id = target_id(settings);
  }
  const auto figure = selection_figure_of(settings, figures);
  if (!figure) return;
  note_progress(*figure, state);
  if (!settings.keep_best || !std::isfinite(figure->value)) return;
  if (state.best && !figure->beats(state.best->metric, state.best->scoring, state.best->figure)) return;
  state.best = std::make_shared<const best_model>(
      best_model{figure->metric, figure->scoring, figure->value, state.version, state.model, state.added});
}

}  // namespace furlong::federated
