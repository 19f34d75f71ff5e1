#include "tools/runs/run_outputs.hpp"

#include <fmt/format.h>
#include <fstream>
#include <iterator>
#include <spdlog/spdlog.h>
#include <string>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/settings.hpp"
#include "storage/checkpoint.hpp"
#include "tools/runs/calling_script.hpp"
#include "tools/runs/cohorts.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/kept_checkpoints.hpp"

namespace furlong::tools {

namespace {

std::uint64_t length_of(const federated::server_state& state, const std::string& file) {
  const auto found = state.output_bytes.find(file);
  return found == state.output_bytes.end() ? 0 : found->second;
}

/// Bytes up to the end of the last complete line; 0 if there is no file.
std::uint64_t whole_lines(const std::filesystem::path& path) {
  std::ifstream input(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(input), {}};
  const auto last = text.rfind('\n');
  return last == std::string::npos ? 0 : last + 1;
}

}  // namespace

run_outputs::run_outputs(const run_directory& folder, growing_file metrics, growing_file events, std::uint64_t done,
                         const federated::experiment& experiment)
    : experiment_(experiment),
      folder_(folder),
      metrics_(std::move(metrics)),
      events_(std::move(events)),
      progress_(done, experiment.settings.rounds, experiment.settings.evaluation->target.metric) {}

result<std::unique_ptr<run_outputs>> run_outputs::open(const run_directory& folder,
                                                       const federated::server_state& state,
                                                       const federated::experiment& experiment,
                                                       std::optional<checkpoint_keeper> keeper) {
  auto metrics = growing_file::open(folder.metrics(), length_of(state, "metrics.jsonl"));
  if (!metrics) return tl::unexpected(metrics.error());
  auto events = growing_file::open(folder.events(), length_of(state, "events.jsonl"));
  if (!events) return tl::unexpected(events.error());
  std::unique_ptr<run_outputs> made(
      new run_outputs(folder, std::move(*metrics), std::move(*events), state.version, experiment));
  if (keeper && experiment.settings.algorithm->traits.sends) {
    auto cohorts = growing_file::open(folder.cohorts(), length_of(state, "cohorts.jsonl"));
    if (!cohorts) return tl::unexpected(cohorts.error());
    made->cohorts_.emplace(std::move(*cohorts));
  }
  if (keeper) made->keeper_.emplace(std::move(*keeper));
  if (auto line = json::parse(state.unwritten_round, nullptr, false); line.is_object())
    made->pending_ = std::move(line);
  return made;
}

federated::run_observer run_outputs::observer() {
  return {[this](const federated::round_report& report) { return on_round(report); },
          [this](const federated::evaluation_report& report) { return on_evaluation(report); },
          [this](federated::server_state& state) { return on_checkpoint(state); },
          [this](const federated::run_event& event) { return on_event(event); }};
}

result<void> run_outputs::write_pending() {
  if (!pending_) return {};
  auto written = metrics_.append(pending_->dump());
  pending_.reset();
  return written;
}

result<void> run_outputs::on_round(const federated::round_report& report) {
  if (auto written = write_pending(); !written) return written;
  if (cohorts_)
    if (auto written = cohorts_->append(cohort_line(report)); !written) return written;
  pending_ = to_json(report);
  tell_script(*pending_);
  spdlog::info("round {}: {} of {} folded{}", report.version, report.folded, report.selected,
               report.has_loss() ? fmt::format(", loss {:.5f}", report.loss) : "");
  if (report.gave_up)
    spdlog::info("round {}: abandoned with {} reports", report.version, report.abandoned);
  else if (!report.applied)
    spdlog::warn("round {}: no update was applied ({} of {} clients rejected), the model stays as it was",
                 report.version, report.rejected, report.selected);
  progress_.on_round(report);
  return {};
}

result<void> run_outputs::on_evaluation(const federated::evaluation_report& report) {
  const auto metrics = to_json(report);
  // The best model may be evaluated again at the end of a run, which does not belong to a round's line.
  if (pending_ && (*pending_)["round"] == report.version) {
    (*pending_)["eval"] = metrics;
    tell_script(*pending_);
  }
  spdlog::info("evaluated version {}: {}", report.version, metrics.dump());
  progress_.on_evaluation(report);
  unscored_.warn(*experiment_.clients, report.version, report.unscored);
  return {};
}

result<void> run_outputs::on_checkpoint(federated::server_state& state) {
  state.unwritten_round.clear();
  if (state.evaluation_due)
    state.unwritten_round = pending_ ? pending_->dump() : "";
  else if (auto written = write_pending(); !written)
    return written;
  auto metrics = metrics_.sync();
  if (!metrics) return tl::unexpected(metrics.error());
  auto events = events_.sync();
  if (!events) return tl::unexpected(events.error());
  state.output_bytes = {{"metrics.jsonl", *metrics}, {"events.jsonl", *events}};
  if (cohorts_) {
    auto cohorts = cohorts_->sync();
    if (!cohorts) return tl::unexpected(cohorts.error());
    state.output_bytes["cohorts.jsonl"] = *cohorts;
  }
  auto written = storage::write_checkpoint(folder_.checkpoint(), state);
  if (written) spdlog::debug("checkpoint of version {} written", state.version);
  if (!written || !keeper_) return written;
  return kept_checkpoints(folder_).add(state.version, keeper_->store, keeper_->keep);
}

/// A client that is erased must not be in kept checkpoints either.
result<void> run_outputs::on_event(const federated::run_event& event) {
  if (keeper_ && event.what == "erased") {
    auto clients = event.members;
    if (event.client) clients.push_back(*event.client);
    const auto dropped = kept_checkpoints(folder_).drop(clients, keeper_->key_file);
    if (!dropped) return tl::unexpected(dropped.error());
    if (*dropped > 0) spdlog::info("{} kept checkpoints had values of erased clients and were removed", *dropped);
  }
  return events_.append(to_json(event).dump());
}

result<void> run_outputs::finish() {
  progress_.finish();
  if (auto written = write_pending(); !written) return written;
  if (auto synced = metrics_.sync(); !synced) return tl::unexpected(synced.error());
  if (auto synced = events_.sync(); !synced) return tl::unexpected(synced.error());
  if (cohorts_)
    if (auto synced = cohorts_->sync(); !synced) return tl::unexpected(synced.error());
  return {};
}

result<fold_ledger> fold_ledger::open(const std::filesystem::path& path, const federated::server_state& state) {
  auto file = growing_file::open(path, whole_lines(path));
  if (!file) return tl::unexpected(file.error());
  fold_ledger ledger(std::move(*file), state.history.life());
  if (auto begun = ledger.append(json{{"life", ledger.life_}, {"from", state.version}}.dump()); !begun)
    return tl::unexpected(begun.error());
  return ledger;
}

result<void> fold_ledger::add(const federated::round_report& report) {
  json line = {{"life", life_}, {"version", report.version}, {"folded", json::array()}};
  for (const auto& id : report.members) line["folded"].push_back(json::array({id.version, id.client, id.attempt}));
  return append(line.dump());
}

result<void> fold_ledger::append(const std::string& line) {
  if (auto written = file_.append(line); !written) return written;
  if (auto synced = file_.sync(); !synced) return tl::unexpected(synced.error());
  return {};
}

}  // namespace furlong::tools
