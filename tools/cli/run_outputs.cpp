#include "tools/cli/run_outputs.hpp"

#include <spdlog/spdlog.h>

#include "storage/checkpoint.hpp"

namespace furlong::tools {

namespace {

std::uint64_t length_of(const federated::protocol::server_state& state, const std::string& file) {
  const auto at = state.output_bytes.find(file);
  return at == state.output_bytes.end() ? 0 : at->second;
}

}  // namespace

run_outputs::run_outputs(const run_directory& folder, growing_file metrics, growing_file events, std::uint64_t done,
                         std::uint64_t rounds)
    : folder_(folder), metrics_(std::move(metrics)), events_(std::move(events)), progress_(done, rounds) {}

result<std::unique_ptr<run_outputs>> run_outputs::open(const run_directory& folder,
                                                       const federated::protocol::server_state& from,
                                                       std::uint64_t rounds) {
  auto metrics = growing_file::open(folder.metrics(), length_of(from, "metrics.jsonl"));
  if (!metrics) return tl::unexpected(metrics.error());
  auto events = growing_file::open(folder.events(), length_of(from, "events.jsonl"));
  if (!events) return tl::unexpected(events.error());
  return std::unique_ptr<run_outputs>(
      new run_outputs(folder, std::move(*metrics), std::move(*events), from.version, rounds));
}

federated::run_observer run_outputs::observer() {
  return {[this](const federated::round_report& report) { return on_round(report); },
          [this](const federated::evaluation_report& report) { return on_evaluation(report); },
          [this](federated::protocol::server_state& state) { return on_checkpoint(state); },
          [this](const federated::run_event& event) { return events_.append(to_json(event).dump()); }};
}

result<void> run_outputs::write_pending() {
  if (!pending_) return {};
  auto written = metrics_.append(pending_->dump());
  pending_.reset();
  return written;
}

result<void> run_outputs::on_round(const federated::round_report& report) {
  if (auto written = write_pending(); !written) return written;
  pending_ = to_json(report);
  spdlog::info("round {}: {} of {} folded{}", report.version, report.folded, report.selected,
               report.applied ? fmt::format(", loss {:.5f}", report.loss) : "");
  if (report.gave_up)
    spdlog::info("round {}: abandoned with {} reports", report.version, report.abandoned);
  else if (!report.applied)
    spdlog::warn("round {}: nothing usable was folded ({} of {} clients rejected), the model stays as it was",
                 report.version, report.rejected, report.selected);
  progress_.on_round(report);
  return {};
}

result<void> run_outputs::on_evaluation(const federated::evaluation_report& report) {
  const auto metrics = to_json(report);
  // At the end of a run the best of its models may be evaluated again, which made no round's line.
  if (pending_ && (*pending_)["round"] == report.version) (*pending_)["eval"] = metrics;
  spdlog::info("evaluated version {}: {}", report.version, metrics.dump());
  progress_.on_evaluation(report);
  return {};
}

result<void> run_outputs::on_checkpoint(federated::protocol::server_state& state) {
  if (auto written = write_pending(); !written) return written;
  auto metrics = metrics_.sync();
  if (!metrics) return tl::unexpected(metrics.error());
  auto events = events_.sync();
  if (!events) return tl::unexpected(events.error());
  state.output_bytes = {{"metrics.jsonl", *metrics}, {"events.jsonl", *events}};
  auto written = storage::write_checkpoint(folder_.checkpoint(), state);
  if (written) spdlog::debug("checkpoint of version {} written", state.version);
  return written;
}

result<void> run_outputs::finish() {
  progress_.finish();
  if (auto written = write_pending(); !written) return written;
  if (auto synced = metrics_.sync(); !synced) return tl::unexpected(synced.error());
  if (auto synced = events_.sync(); !synced) return tl::unexpected(synced.error());
  return {};
}

}  // namespace furlong::tools
