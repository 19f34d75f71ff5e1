#include "tests/dashboard/sample.hpp"

#include <cmath>

namespace furlong::tests {

using namespace tools::dashboard;

namespace {

// A fixed sequence without pattern, in [0, 1).
double jitter(std::uint64_t n) {
  const double x = std::sin(static_cast<double>(n) * 12.9898) * 43758.5453;
  return x - std::floor(x);
}

node_status sample_node(std::uint32_t i, double now) {
  node_status node;
  node.name = std::string(i < 8 ? "rack-1" : "rack-2") + "-node-" + std::to_string(i % 8 + 1);
  node.clients = {i * 25, i * 25 + 24};
  node.via = i < 8 ? "aggregator-a" : i < 14 ? "aggregator-b" : "";
  node.since = now - 5400 + 60.0 * i;
  node.last_seen = now - 0.3;
  node.at_work = i % 3 == 0 ? 0 : 2 + i % 5;
  node.folded = 300 + 17 * i;
  node.rejected = i == 5 ? 14 : 0;
  node.late = i % 4;
  return node;
}

std::vector<node_status> sample_nodes(double now, bool hostile) {
  std::vector<node_status> nodes;
  for (std::uint32_t i = 0; i < 16; ++i) nodes.push_back(sample_node(i, now));
  nodes[11].connected = false;
  nodes[11].last_seen = now - 75;
  nodes[11].at_work = 0;
  if (!hostile) return nodes;
  nodes[2].name = hostile_name;
  nodes[3].name = "caf\xC3\xA9 \xFF\xFE broken \x1B[2J";
  nodes[6].name = std::string(300, 'w');
  return nodes;
}

federated::group_metrics sample_metrics(double rmse) {
  federated::group_metrics of;
  of.clients = 120;
  of.examples = 4800;
  of.rmse = rmse;
  of.loss = rmse * rmse;
  of.accuracy = 0.72 - 0.3 * rmse;
  return of;
}

}  // namespace

live_status sample_live(double now, bool hostile) {
  live_status live;
  live.scenario = hostile ? "films </title><script>document.title='owned'</script>" : "films-furl";
  live.run = "9f3c2a7715d04be8";
  live.algorithm = "furl";
  live.model = "matrix-factorization";
  live.version = "0.1.0";
  live.phase = phase_kind::training;
  live.round = 141;
  live.rounds = 200;
  live.started_at = now - 5520;
  live.clients = {400, 360, 335, 58, 6};
  live.nodes = sample_nodes(now, hostile);
  live.aggregators = {{"aggregator-a", "10.0.0.2:7000", "", true, now - 5500, 200},
                      {"aggregator-b", "10.0.1.2:7000", "", true, now - 5480, 135}};
  auto& counts = live.counts;
  counts.selected = 8460;
  counts.folded = 7911;
  counts.rejected[static_cast<std::size_t>(federated::rejection::not_finite)] = 9;
  counts.rejected[static_cast<std::size_t>(federated::rejection::norm_bound)] = 5;
  counts.late = 131;
  counts.surplus = 96;
  counts.dropped = {61, 102, 43};
  counts.abandoned = 44;
  counts.rounds_abandoned = 1;
  counts.examples = 1'403'220;
  counts.bytes_up = 913'000'000;
  counts.bytes_down = 1'204'000'000;
  live.unasked[static_cast<std::size_t>(federated::rejection::duplicate)] = 7;
  live.unasked[static_cast<std::size_t>(federated::rejection::stale_version)] = 3;
  live.refused_connections = {{"denied", 2}, {"expired", 1}, {hostile ? "<b>bold\"\n" : "untrusted", 11}};
  live.checkpoint = checkpoint_status{140, now - 12};
  live.privacy = privacy_status{2.3953, 1e-5, "add-or-remove-one", true};
  live.resident_bytes = 148'000'000;
  live.peak_resident_bytes = 171'000'000;
  return live;
}

federated::round_report sample_round(std::uint64_t version) {
  federated::round_report report;
  report.version = version;
  report.selected = 60;
  report.late = version % 5 == 0 ? 3 : jitter(version) > 0.6 ? 1 : 0;
  report.surplus = version % 7 == 0 ? 4 : 0;
  report.dropped = {jitter(version + 31) > 0.7 ? 2U : 0U, static_cast<std::uint64_t>(4 * jitter(version + 77)), 0};
  if (version % 29 == 0) {
    report.refused = {{{5, 1}, federated::rejection::not_finite}, {{7, 1}, federated::rejection::norm_bound}};
    report.rejected = 2;
  }
  report.gave_up = version == 63;
  report.applied = !report.gave_up;
  const auto gone = report.late + report.surplus + report.rejected + report.dropped[0] + report.dropped[1];
  (report.gave_up ? report.abandoned : report.folded) = report.selected - gone;
  report.loss = 0.32 + 0.9 * std::exp(-static_cast<double>(version) / 40.0) + 0.03 * jitter(version + 5);
  report.change_norm = 0.5 + jitter(version);
  report.bytes_up = 6'480'000;
  report.bytes_down = 8'540'000;
  return report;
}

federated::evaluation_report sample_evaluation(std::uint64_t version) {
  const double decay = std::exp(-static_cast<double>(version) / 45.0);
  federated::evaluation_report report;
  report.version = version;
  report.validation = sample_metrics(0.712 + 0.34 * decay + 0.006 * jitter(version));
  report.seen = sample_metrics(0.694 + 0.33 * decay + 0.006 * jitter(version + 1));
  report.unseen = sample_metrics(0.731 + 0.35 * decay + 0.008 * jitter(version + 2));
  return report;
}

void fill_sample(status_board& board, std::uint64_t rounds, double now, bool hostile) {
  for (std::uint64_t version = 1; version <= rounds; ++version) {
    auto report = sample_round(version);
    report.staleness = {30, 14, 6, 3, 1};
    board.round_ended(report, 31.0 + 8.0 * jitter(version));
    if (version % 5 == 0) board.evaluated(sample_evaluation(version));
    const double then = now - 36.0 * static_cast<double>(rounds - version);
    if (version % 20 == 1)
      board.happened({0, then, severity::info, 0, "join", "rack-2-node-" + std::to_string(version % 8 + 1),
                      "clients " + std::to_string(version) + "-" + std::to_string(version + 24)});
    if (version % 29 == 0)
      board.happened({0, then + 3, severity::fault, version, "rejected", "client 130", "not-finite"});
    if (version % 23 == 0)
      board.happened(
          {0, then + 8, severity::warning, version, "dropped", "client " + std::to_string(version), "train"});
  }
  board.happened({0, now - 75, severity::warning, rounds, "node lost", hostile ? hostile_name : "rack-2-node-4",
                  hostile ? "<script>document.title='owned'</script>" : "no answer for 5 s"});
  auto live = sample_live(now, hostile);
  live.asynchronous = true;
  live.round = rounds + 1;
  board.publish(std::move(live));
}

}  // namespace furlong::tests
