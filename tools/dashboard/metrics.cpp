#include "tools/dashboard/metrics.hpp"

#include <algorithm>
#include <prometheus/text_serializer.h>

#include "base/utf8.hpp"
#include "tools/dashboard/status_json.hpp"

namespace furlong::tools::dashboard {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using labels = std::vector<ClientMetric::Label>;
using families = std::vector<MetricFamily>;
using words = std::vector<std::string>;

/// Where the JSON of a federation, or of a node, has the value of a metric.
struct metric {
  std::string name;  ///< without "furlong_"; that of a counter ends in "_total"
  std::string help;
  const char* pointer;          ///< a JSON pointer; without a value there the metric is left out
  const char* label = nullptr;  ///< distinguishes its series
  words series = {};            ///< words of the label: keys of the object there, or what a text may be; none: all keys
};

template <class Name>
words words_of(std::size_t count) {
  words found;
  for (std::size_t i = 0; i < count; ++i) found.emplace_back(to_string(static_cast<Name>(i)));
  return found;
}

const std::vector<metric>& of_federation() {
  const auto reasons = words_of<federated::rejection>(federated::rejection_count);
  const auto stages = words_of<federated::drop_stage>(federated::drop_stage_count);
  static const std::vector<metric> table = {
      {"start_time_seconds", "Start of the server, in seconds since 1970.", "/started_at"},
      {"published_age_seconds", "Seconds since the federation last published its state.", "/published_age"},
      {"resident_memory_bytes", "Resident memory of the server.", "/memory/resident"},
      {"resident_memory_peak_bytes", "Largest resident memory of the server so far.", "/memory/peak"},
      {"phase", "1 for the current phase of the run, else 0.", "/phase", "phase",
       words_of<phase_kind>(static_cast<std::size_t>(phase_kind::diverged) + 1)},
      {"checkpoint_version", "Model version of the last durable checkpoint.", "/checkpoint/version"},
      {"checkpoint_timestamp_seconds", "Time at which the last checkpoint became durable, in seconds since 1970.",
       "/checkpoint/at"},
      {"round", "Current round, or the last one if none is in progress.", "/round"},
      {"rounds_planned", "Rounds planned for the run.", "/rounds"},
      {"rounds_abandoned_total", "Rounds abandoned because too few clients reported.", "/tasks/rounds_abandoned"},
      {"round_duration_seconds", "Duration of the last round.", "/last_round/seconds"},
      {"round_loss", "Mean training loss per example of the last round.", "/last_round/loss"},
      {"round_change_norm", "L2 norm of the aggregated update of the last round.", "/last_round/change_norm"},
      {"clients_population", "Clients in the data.", "/clients/population"},
      {"clients_training", "Clients that the server may select for training.", "/clients/training"},
      {"clients",
       "Clients that the server may select for training, by state.",
       "/clients",
       "state",
       {"idle", "at_work", "adrift", "away"}},
      {"nodes_connected", "Connected nodes.", "/nodes"},
      {"aggregators_connected", "Connected aggregators.", "/aggregators"},
      {"connections_refused_total", "Connections refused, by reason.", "/refused_connections", "reason"},
      {"tasks_selected_total", "Tasks assigned to clients.", "/tasks/selected"},
      {"tasks_folded_total", "Tasks whose update was aggregated.", "/tasks/folded"},
      {"tasks_rejected_total", "Tasks whose update was rejected by validation, by reason.", "/tasks/rejected", "reason",
       reasons},
      {"tasks_late_total", "Tasks that ended after their round.", "/tasks/late"},
      {"tasks_surplus_total", "Tasks that ended when their round had enough reports (over-selection).",
       "/tasks/surplus"},
      {"tasks_dropped_total", "Tasks whose client dropped out, by stage.", "/tasks/dropped", "stage", stages},
      {"tasks_abandoned_total", "Tasks of abandoned rounds.", "/tasks/abandoned"},
      {"tasks_in_flight", "Tasks in flight.", "/tasks/in_flight"},
      {"updates_unasked_total", "Rejected updates that ended no task, by reason.", "/unasked", "reason", reasons},
      {"examples_total", "Examples processed for the updates that arrived.", "/tasks/examples"},
      {"update_bytes_total", "Encoded size of updates that arrived.", "/tasks/bytes_up"},
      {"broadcast_bytes_total", "Encoded size of tasks and models sent.", "/tasks/bytes_down"}};
  return table;
}

const std::vector<metric>& of_node() {
  static const std::vector<metric> table = {
      {"node_connected", "1 if the node is connected, else 0.", "/connected"},
      {"node_last_seen_timestamp_seconds", "Time at which the node was last connected, in seconds since 1970.",
       "/last_seen"},
      {"node_tasks", "Tasks that the node is processing.", "/at_work"},
      {"node_updates_total", "Updates of the node, by outcome.", "", "outcome", {"folded", "rejected", "late"}}};
  return table;
}

double number(const json& value) {
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  if (!value.is_array()) return value.get<double>();
  const auto connected = [](const json& node) { return node.at("connected").get<bool>(); };
  return static_cast<double>(std::count_if(value.begin(), value.end(), connected));
}

MetricFamily family_of(const metric& definition) {
  const auto type = definition.name.ends_with("_total") ? MetricType::Counter : MetricType::Gauge;
  return {"furlong_" + definition.name, definition.help, type, {}};
}

void add_series(MetricFamily& family, double value, labels identity) {
  ClientMetric series;
  for (auto& label : identity) label.value = valid_utf8(label.value);
  series.label = std::move(identity);
  (family.type == MetricType::Counter ? series.counter.value : series.gauge.value) = value;
  family.metric.push_back(std::move(series));
}

// The series of a metric that these values have. `identity`: labels of them all.
void add_values(MetricFamily& family, const metric& definition, const json& object, const labels& identity = {}) {
  const json::json_pointer pointer(definition.pointer);
  if (!object.contains(pointer) || object.at(pointer).is_null()) return;
  const auto& value = object.at(pointer);
  if (definition.label == nullptr) return add_series(family, number(value), identity);
  const auto add = [&](const std::string& word, double count) {
    auto with = identity;
    with.push_back({definition.label, word});
    add_series(family, count, std::move(with));
  };
  for (const auto& key : definition.series) {
    auto word = key;
    std::replace(word.begin(), word.end(), '_', '-');
    add(word, value.is_object() ? value.value(key, 0.0) : value == key ? 1 : 0);
  }
  if (definition.series.empty())
    for (const auto& [key, count] : value.items()) add(key, number(count));
}

MetricFamily info(const json& status) {
  labels identity;
  for (const char* key : {"furlong", "scenario", "run", "algorithm", "model"})
    identity.push_back({key == std::string("furlong") ? "version" : key, status.at(key).get<std::string>()});
  auto out = family_of({"info", "Version of furlong, and scenario, algorithm and model of the run, as labels.", ""});
  add_series(out, 1, std::move(identity));
  return out;
}

void add_evaluation(const json& last, families& out) {
  auto figures = family_of({"evaluation", "Figures of the last evaluation, by group.", ""});
  for (const std::string group : {"validation", "seen", "unseen"}) {
    if (!last.contains(group)) continue;
    for (const auto& [name, value] : last.at(group).items())
      if (name != "examples" && name != "clients")
        add_series(figures, number(value), {{"group", group}, {"metric", name}});
  }
  out.push_back(std::move(figures));
  const metric version{"evaluation_version", "Model version of the last evaluation.", "/version"};
  add_values(out.emplace_back(family_of(version)), version, last);
}

void add_nodes(const json& nodes, families& out) {
  for (const auto& definition : of_node()) {
    auto& family = out.emplace_back(family_of(definition));
    for (std::size_t i = 0; i < std::min(nodes.size(), most_node_series); ++i) {
      const auto& node = nodes.at(i);
      // A name may be used twice: a series may not. The clients distinguish the nodes.
      const auto clients = node.at("first").dump() + "-" + node.at("last").dump();
      add_values(family, definition, node, {{"node", node.at("name").get<std::string>()}, {"clients", clients}});
    }
  }
}

}  // namespace

std::string metrics_text(const federation_status& federation) {
  auto status = status_json(federation);
  if (status["rounds"] == 0) status["rounds"] = nullptr;  // none are planned
  families made{info(status)};
  for (const auto& definition : of_federation())
    add_values(made.emplace_back(family_of(definition)), definition, status);
  if (!status["learning"].empty()) add_evaluation(status["learning"].back(), made);
  add_nodes(status["nodes"], made);
  std::erase_if(made, [](const MetricFamily& family) { return family.metric.empty(); });
  return prometheus::TextSerializer().Serialize(made);
}

}  // namespace furlong::tools::dashboard
