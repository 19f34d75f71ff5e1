#include "tools/json.hpp"

#include <algorithm>
#include <numeric>
#include <sys/resource.h>

#include "federated/digest.hpp"
#include "models/kernels/kernels.hpp"
#include "tools/version.hpp"

namespace furlong::tools {

json to_json(const federated::group_metrics& metrics) {
  json out;
  if (metrics.rmse) out["rmse"] = *metrics.rmse;
  out["accuracy"] = metrics.accuracy;
  if (metrics.auc) out["auc"] = *metrics.auc;
  out["loss"] = metrics.loss;
  out["examples"] = metrics.examples;
  out["clients"] = metrics.clients;
  return out;
}

json to_json(const federated::evaluation_report& report) {
  json out = json::object();
  if (report.validation) out["validation"] = to_json(*report.validation);
  if (report.seen) out["seen"] = to_json(*report.seen);
  if (report.unseen) out["unseen"] = to_json(*report.unseen);
  return out;
}

json to_json(const federated::round_report& report) {
  return {{"round", report.version},           {"selected", report.selected}, {"folded", report.folded},
          {"rejected", report.rejected},       {"examples", report.examples}, {"loss", report.loss},
          {"change_norm", report.change_norm}, {"bytes_up", report.bytes_up}, {"bytes_down", report.bytes_down},
          {"applied", report.applied}};
}

std::vector<json> rejection_events(const federated::round_report& report) {
  std::vector<json> events;
  for (const auto& refused : report.refused)
    events.push_back({{"round", report.version},
                      {"event", "rejected"},
                      {"client", refused.who.client},
                      {"reason", federated::to_string(refused.why)}});
  return events;
}

result<private_facts> read_private_facts(federated::private_store& store, std::uint64_t server_version) {
  private_facts facts;
  federated::sha256_stream hash;
  auto visited =
      store.visit([&](std::uint32_t client, std::uint64_t trained_at, const models::private_parameters& value) {
        hash.add(std::uint64_t{client});
        hash.add(value.values());
        facts.staleness.push_back(server_version - trained_at - 1);
        ++facts.clients;
      });
  if (!visited) return tl::unexpected(visited.error());
  facts.sha256 = federated::hex(hash.finish());
  std::ranges::sort(facts.staleness);
  return facts;
}

namespace {

json staleness_json(const std::vector<std::uint64_t>& sorted) {
  if (sorted.empty()) return {{"mean", 0}, {"p50", 0}, {"p90", 0}, {"max", 0}};
  const auto at = [&](double share) {
    return sorted[static_cast<std::size_t>(share * static_cast<double>(sorted.size() - 1))];
  };
  const double total = std::accumulate(sorted.begin(), sorted.end(), 0.0);
  return {
      {"mean", total / static_cast<double>(sorted.size())}, {"p50", at(0.5)}, {"p90", at(0.9)}, {"max", sorted.back()}};
}

std::uint64_t peak_rss_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

double per_second(std::uint64_t count, double seconds) {
  return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
}

/// "fedatt" is a name of its own for fedavg with that rule.
std::string_view algorithm_word(const federated::run_settings& settings) {
  const bool attends = settings.algorithm == federated::algorithm_kind::fedavg &&
                       settings.aggregation.rule == federated::rule_kind::fedatt;
  return attends ? "fedatt" : federated::to_string(settings.algorithm);
}

json rejected_json(const federated::protocol::accounting& counts) {
  json by_reason = json::object();
  for (std::size_t i = 0; i < counts.rejected.size(); ++i)
    if (counts.rejected[i] > 0)
      by_reason[std::string(federated::to_string(static_cast<federated::rejection>(i)))] = counts.rejected[i];
  return by_reason;
}

}  // namespace

json summary_json(const session& of, const federated::run_outcome& outcome, const private_facts& own) {
  const auto& state = outcome.state;
  const auto& counts = state.counts;
  json out = {{"furlong", version},
              {"scenario", of.scenario.name},
              {"seed", of.experiment.settings.seed},
              {"algorithm", algorithm_word(of.experiment.settings)},
              {"model", of.experiment.model->kind()},
              {"kernel_level", models::kernels().level},
              {"rounds", state.version},
              {"model_sha256", federated::hex(federated::model_sha256(state.model))},
              {"private_sha256", own.sha256},
              {"wall_seconds", state.wall_seconds},
              {"cpu_seconds", state.cpu_seconds},
              {"train_seconds", state.train_seconds},
              {"train_cpu_seconds", state.train_cpu_seconds},
              {"virtual_seconds", 0},
              {"clients_trained", counts.clients_trained},
              {"clients_per_second", per_second(counts.clients_trained, state.train_seconds)},
              {"examples_per_second", per_second(counts.examples, state.train_seconds)},
              {"bytes_up", counts.bytes_up},
              {"bytes_down", counts.bytes_down},
              {"selected", counts.selected},
              {"folded", counts.folded},
              {"rejected", rejected_json(counts)},
              {"late", 0},
              {"surplus", 0},
              {"dropped", json::object()},
              {"abandoned", 0},
              {"in_flight", 0},
              {"peak_rss_bytes", peak_rss_bytes()},
              {"private_clients", own.clients}};
  out["private_staleness"] = staleness_json(own.staleness);
  out["eval"] = to_json(outcome.evaluation);
  return out;
}

}  // namespace furlong::tools
