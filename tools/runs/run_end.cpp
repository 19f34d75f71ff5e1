#include "tools/runs/run_end.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <optional>
#include <spdlog/spdlog.h>

#include "federated/rounds/divergence.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "storage/checkpoint.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/group_json.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/run_record.hpp"
#include "tools/runs/trained_run.hpp"

namespace furlong::tools {

namespace {

/// The fix for updates rejected for this reason.
std::string_view fix_of(federated::rejection why) {
  switch (why) {
    case federated::rejection::norm_bound:
      return "lower algorithm.client.lr, or raise algorithm.aggregation.max_norm; algorithm.aggregation.norm_bound = "
             "\"clip\" makes clients scale their updates to the limits, and \"fixed\" turns these off";
    case federated::rejection::not_finite:
    case federated::rejection::attention_range: return "lower algorithm.client.lr";
    case federated::rejection::weight_bound: return "raise algorithm.aggregation.max_weight";
    default: return "see events.jsonl";
  }
}

std::uint64_t rejected_by(const federated::accounting& counts) {
  return std::accumulate(counts.rejected.begin(), counts.rejected.end(), std::uint64_t{0});
}

/// "3 of 5 updates were rejected (3 norm-bound)", and the fix for the most frequent reason.
complaint of_rejections(const federated::accounting& counts) {
  const auto& by_reason = counts.rejected;
  std::string reasons;
  for (std::size_t i = 0; i < by_reason.size(); ++i)
    if (by_reason[i] > 0)
      reasons += fmt::format("{}{} {}", reasons.empty() ? "" : ", ", by_reason[i],
                             federated::to_string(static_cast<federated::rejection>(i)));
  const auto most = std::ranges::max_element(by_reason) - by_reason.begin();
  const auto refused = rejected_by(counts);
  return {fmt::format("{} of {} updates were rejected ({})", refused, refused + counts.folded, reasons),
          std::string(fix_of(static_cast<federated::rejection>(most)))};
}

/// Notes events that the run ended before.
void note_late_events(const std::vector<federated::event_settings>& events, const federated::server_state& ended) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const auto& event = events[i];
    const double seconds = federated::to_seconds(ended.now);
    if (event.at_round && event.round > ended.version)
      fmt::print(stderr, "note: event[{}] at round {} did not happen: the run ended after round {}\n", i + 1,
                 event.round, ended.version);
    if (!event.at_round && event.seconds > seconds)
      fmt::print(stderr, "note: event[{}] at {:.6g} s did not happen: the run ended at {:.6g} s\n", i + 1,
                 event.seconds, seconds);
  }
}

/// Warns about a run of which most updates were rejected.
void warn_of_rejections(const federated::accounting& counts) {
  if (rejected_by(counts) <= counts.folded) return;
  const auto found = of_rejections(counts);
  spdlog::warn("{}; {}", found.why, found.fix);
}

/// Of a run whose rounds were all abandoned.
complaint of_abandoned_rounds(const federated::run_settings& settings) {
  const auto& participation = *settings.participation;
  if (settings.privacy->secure_aggregation)
    return {
        fmt::format("in every round too few clients reported to open the sum of their masked updates, or fewer than "
                    "participation.min_reports = {}",
                    participation.min_reports),
        "select more clients (participation.per_round, over_selection), or lower the rates of [dropout]; "
        "events.jsonl has the reason of each round"};
  if (participation.min_reports > 1)
    return {fmt::format("every round had fewer reports than participation.min_reports = {}", participation.min_reports),
            "lower participation.min_reports, or select more clients (participation.per_round, over_selection)"};
  return {"every round was abandoned", "see events.jsonl for the reasons"};
}

/// The reason why a model did not change: learning rates matter only if updates with examples were aggregated.
complaint of_no_use(const prepared_run& run, const federated::accounting& counts, const std::string& lower) {
  const auto& settings = run.experiment.settings;
  const auto unchanged = [](complaint found) {
    found.why += "; the model is unchanged";
    return found;
  };
  if (counts.folded == 0 && rejected_by(counts) > counts.abandoned) return unchanged(of_rejections(counts));
  const double deadline = settings.participation->deadline;
  const auto dropped = std::accumulate(counts.dropped.begin(), counts.dropped.end(), std::uint64_t{0});
  if (counts.folded == 0 && deadline > 0 && counts.late + counts.in_flight() > counts.abandoned + dropped)
    return unchanged({fmt::format("no update came within participation.deadline = {} s", deadline),
                      "raise it, or give clients less work (algorithm.client.epochs)"});
  if (counts.folded == 0 && counts.abandoned > 0) return unchanged(of_abandoned_rounds(settings));
  if (counts.clients_trained == 0)
    return unchanged({"no client finished a task", "see events.jsonl for the reasons (cause)"});
  if (counts.examples == 0)
    return unchanged({"no selected client had an example to train on",
                      "give clients more examples (data.split, data.max_examples), or select more clients"});
  if (counts.folded == 0) return unchanged({"no update was applied", lower});
  const bool queries = settings.algorithm->traits.splits_support && settings.reconstruction->split;
  return unchanged({fmt::format("{} updates were aggregated, and none changed a value of the model", counts.folded),
                    std::string("raise algorithm.client.lr or algorithm.server.lr") +
                        (queries ? "; clients with one batch have no query batch to learn from: for them lower "
                                   "algorithm.client.batch_size"
                                 : "")});
}

}  // namespace

std::optional<complaint> verdict(const prepared_run& run, const federated::run_outcome& outcome) {
  const std::string lower =
      "lower algorithm.client.lr or algorithm.server.lr; see log.txt, and events.jsonl for rejected updates";
  if (const auto why = federated::divergence_of(outcome.state))
    return complaint{std::string(divergence_text) + ": " + *why, lower};
  const auto made = outcome.state.chosen();
  const auto first = initial_model(run.experiment);
  const auto is_new = [](const auto& values, const auto& old) {
    return !std::ranges::equal(values.values(), old.values());
  };
  const bool sends_model = run.experiment.parts.sends_model;
  // Where clients report groups alone the server may learn nothing else.
  if (is_new(made.model, first) || (!sends_model && is_new(*made.added, initial_added(run.experiment, first))))
    return std::nullopt;
  return of_no_use(run, outcome.state.counts, lower);
}

result<json> write_summary(const prepared_run& run, const run_directory& folder, const federated::run_outcome& outcome,
                           const std::optional<complaint>& wrong, federated::private_store& store) {
  auto own = read_private_facts(store, outcome.state.version);
  if (!own) return tl::unexpected(own.error());
  auto summary = summary_json(run, outcome, *own);
  auto groups = client_groups_json(run, outcome, folder.events());
  if (!groups) return tl::unexpected(groups.error());
  if (!groups->is_null()) summary["client_groups"] = std::move(*groups);
  if (wrong) summary["failed"] = wrong->why + "; " + wrong->fix;
  if (auto written = write_atomically(folder.summary(), json_text(summary)); !written)
    return tl::unexpected(written.error());
  return summary;
}

void warn_of_end(const prepared_run& run, const federated::server_state& ended) {
  warn_of_rejections(ended.counts);
  note_late_events(*run.experiment.settings.events, ended);
}

int report_stop(std::uint64_t round, const run_directory& folder) {
  fmt::print(stderr, "furlong: stopped after round {}; continue with --resume --out {}\n", round,
             folder.root().string());
  return interrupted;
}

error failure_of_run(const prepared_run& run, const run_directory& folder, const error& why) {
  if (why.what != error::kind::model) return why;
  const auto place = " --out " + folder.root().string();
  const auto state = storage::has_checkpoint(folder.checkpoint())
                         ? read_state(run, folder)
                         : result<federated::server_state>(tl::unexpected(error{}));
  const auto kept = state ? fmt::format(
                                "the run is kept up to round {}: correct the class and continue with --resume "
                                "--accept-changed-code{}",
                                state->version, place)
                          : "no round is kept: correct the class and start again with --resume" + place;
  auto told = why;
  told.fix += (why.fix.empty() ? "" : "; ") + kept;
  return told;
}

}  // namespace furlong::tools
