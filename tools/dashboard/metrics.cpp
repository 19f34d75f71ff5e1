#include "tools/dashboard/metrics.hpp"

#include <algorithm>
#include <prometheus/text_serializer.h>

#include "tools/dashboard/plain_text.hpp"

namespace furlong::tools::dashboard {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;

/// One metric with its series.
class family {
 public:
  family(MetricType type, std::string name, std::string help) {
    built_.type = type;
    built_.name = "furlong_" + std::move(name);
    built_.help = std::move(help);
  }
  template <class Number>
  family& add(Number value, labels of = {}) {
    ClientMetric one;
    one.label = std::move(of);
    for (auto& label : one.label) label.value = valid_utf8(label.value);
    (built_.type == MetricType::Counter ? one.counter.value : one.gauge.value) = static_cast<double>(value);
    built_.metric.push_back(std::move(one));
    return *this;
  }
  template <class Name, std::size_t Count>
  family& add_each(const std::array<std::uint64_t, Count>& counts, const char* label) {
    for (std::size_t i = 0; i < Count; ++i)
      add(counts[i], {{label, std::string(federated::to_string(static_cast<Name>(i)))}});
    return *this;
  }
  [[nodiscard]] MetricFamily take() { return std::move(built_); }

 private:
  MetricFamily built_;
};

family gauge(std::string name, std::string help) { return {MetricType::Gauge, std::move(name), std::move(help)}; }
family counter(std::string name, std::string help) { return {MetricType::Counter, std::move(name), std::move(help)}; }

using families = std::vector<MetricFamily>;

void add_process(const federation_status& status, families& out) {
  const auto& live = status.live;
  out.push_back(gauge("info", "What runs, as labels.")
                    .add(1, {{"version", live.version},
                             {"scenario", live.scenario},
                             {"run", live.run},
                             {"algorithm", live.algorithm},
                             {"model", live.model}})
                    .take());
  out.push_back(gauge("start_time_seconds", "When the server started, since 1970.").add(live.started_at).take());
  out.push_back(gauge("published_age_seconds", "Since the federation last published its state.")
                    .add(status.published_age)
                    .take());
  out.push_back(gauge("resident_memory_bytes", "Memory of the server.").add(live.resident_bytes).take());
  out.push_back(gauge("resident_memory_peak_bytes", "The most that it had.").add(live.peak_resident_bytes).take());
  auto phases = gauge("phase", "1 for what the run does now.");
  for (std::size_t i = 0; i <= static_cast<std::size_t>(phase_kind::diverged); ++i) {
    const auto phase = static_cast<phase_kind>(i);
    phases.add(phase == live.phase ? 1 : 0, {{"phase", std::string(to_string(phase))}});
  }
  out.push_back(phases.take());
  if (!live.checkpoint) return;
  out.push_back(gauge("checkpoint_version", "Model version of the last durable checkpoint.")
                    .add(live.checkpoint->version)
                    .take());
  out.push_back(
      gauge("checkpoint_timestamp_seconds", "When it became durable, since 1970.").add(live.checkpoint->at).take());
}

void add_clients(const live_status& live, families& out) {
  out.push_back(gauge("clients_population", "Clients that the data has.").add(live.clients.population).take());
  out.push_back(gauge("clients_training", "Clients that the server may ask.").add(live.clients.training).take());
  out.push_back(gauge("clients", "Clients that the server may ask, by state.")
                    .add(live.clients.idle(), {{"state", "idle"}})
                    .add(live.clients.at_work, {{"state", "at-work"}})
                    .add(live.clients.adrift, {{"state", "adrift"}})
                    .add(live.clients.away(), {{"state", "away"}})
                    .take());
  const auto count_connected = [](const auto& all) {
    return std::count_if(all.begin(), all.end(), [](const auto& one) { return one.connected; });
  };
  out.push_back(gauge("nodes_connected", "Nodes.").add(count_connected(live.nodes)).take());
  out.push_back(gauge("aggregators_connected", "Aggregators.").add(count_connected(live.aggregators)).take());
  auto refused = counter("connections_refused_total", "Connections that were not let in, by reason.");
  for (const auto& [why, times] : live.refused_connections) refused.add(times, {{"reason", why}});
  if (!live.refused_connections.empty()) out.push_back(refused.take());
}

void add_tasks(const live_status& live, families& out) {
  const auto& counts = live.counts;
  out.push_back(counter("tasks_selected_total", "Tasks given out.").add(counts.selected).take());
  out.push_back(counter("tasks_folded_total", "Tasks whose update went into a model.").add(counts.folded).take());
  out.push_back(counter("tasks_rejected_total", "Tasks whose update was not fit, by reason.")
                    .add_each<federated::rejection>(counts.rejected, "reason")
                    .take());
  out.push_back(counter("tasks_late_total", "Tasks that ended after their round.").add(counts.late).take());
  out.push_back(counter("tasks_surplus_total", "Tasks that ended when their round had all that it needed.")
                    .add(counts.surplus)
                    .take());
  out.push_back(counter("tasks_dropped_total", "Tasks whose client dropped out, by stage.")
                    .add_each<federated::drop_stage>(counts.dropped, "stage")
                    .take());
  out.push_back(counter("tasks_abandoned_total", "Tasks of abandoned rounds.").add(counts.abandoned).take());
  out.push_back(gauge("tasks_in_flight", "Tasks without an end.").add(counts.in_flight()).take());
  out.push_back(counter("updates_unasked_total", "Updates that ended no task, by reason.")
                    .add_each<federated::rejection>(live.unasked, "reason")
                    .take());
  out.push_back(
      counter("examples_total", "Examples processed for the updates that arrived.").add(counts.examples).take());
  out.push_back(counter("update_bytes_total", "Encoded size of updates that arrived.").add(counts.bytes_up).take());
  out.push_back(
      counter("broadcast_bytes_total", "Encoded size of tasks and models sent.").add(counts.bytes_down).take());
}

void add_rounds(const federation_status& status, families& out) {
  const auto& live = status.live;
  out.push_back(gauge("round", "The round under way, or the last that ended.").add(live.round).take());
  if (live.rounds > 0) out.push_back(gauge("rounds_planned", "Rounds that the run has.").add(live.rounds).take());
  out.push_back(
      counter("rounds_abandoned_total", "Rounds with too few reports.").add(live.counts.rounds_abandoned).take());
  if (status.rounds.empty()) return;
  const auto& last = status.rounds.back();
  out.push_back(gauge("round_duration_seconds", "Of the last round.").add(last.seconds).take());
  if (last.applied == 0) return;
  out.push_back(gauge("round_loss", "Mean training loss per example of the last round.").add(last.loss).take());
  out.push_back(gauge("round_change_norm", "L2 norm of its aggregated change.").add(last.change_norm).take());
}

void add_evaluation(const federation_status& status, families& out) {
  if (status.learning.empty()) return;
  const auto& last = status.learning.back();
  auto figures = gauge("evaluation", "Figures of the last evaluation, by group.");
  const auto add = [&](const char* group, const std::optional<federated::group_metrics>& of) {
    if (!of) return;
    const auto put = [&](const char* metric, double value) {
      figures.add(value, {{"group", group}, {"metric", metric}});
    };
    put("loss", of->loss);
    if (of->accuracy) put("accuracy", *of->accuracy);
    if (of->rmse) put("rmse", *of->rmse);
    if (of->auc) put("auc", *of->auc);
    if (of->accuracy_words) put("accuracy_words", *of->accuracy_words);
    if (of->accuracy_no_end) put("accuracy_no_end", *of->accuracy_no_end);
    if (of->perplexity) put("perplexity", *of->perplexity);
    for (const auto& one : of->custom) put(one.name.c_str(), one.value);
  };
  add("validation", last.validation);
  add("seen", last.seen);
  add("unseen", last.unseen);
  out.push_back(figures.take());
  out.push_back(gauge("evaluation_version", "Model version of that evaluation.").add(last.version).take());
}

void add_nodes(const live_status& live, families& out) {
  if (live.nodes.empty()) return;
  auto up = gauge("node_connected", "1 when the node is connected.");
  auto seen = gauge("node_last_seen_timestamp_seconds", "When it was last connected, since 1970.");
  auto tasks = gauge("node_tasks", "Tasks that it works on.");
  auto updates = counter("node_updates_total", "Updates by what became of them.");
  const std::size_t shown = std::min(live.nodes.size(), most_node_series);
  for (std::size_t i = 0; i < shown; ++i) {
    const auto& node = live.nodes[i];
    // A name may be used twice: a series may not. The clients distinguish the nodes.
    const std::string clients = std::to_string(node.clients.first) + "-" + std::to_string(node.clients.last);
    const labels who = {{"node", node.name}, {"clients", clients}};
    const auto with = [&](const char* label, const char* value) {
      labels more = who;
      more.push_back({label, value});
      return more;
    };
    up.add(node.connected ? 1 : 0, who);
    seen.add(node.last_seen, who);
    tasks.add(node.at_work, who);
    updates.add(node.folded, with("outcome", "folded"));
    updates.add(node.rejected, with("outcome", "rejected"));
    updates.add(node.late, with("outcome", "late"));
  }
  for (auto* one : {&up, &seen, &tasks, &updates}) out.push_back(one->take());
}

}  // namespace

std::string metrics_text(const federation_status& status) {
  families all;
  add_process(status, all);
  add_rounds(status, all);
  add_clients(status.live, all);
  add_tasks(status.live, all);
  add_evaluation(status, all);
  add_nodes(status.live, all);
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace furlong::tools::dashboard
