#include "tools/runs/json.hpp"

#include "base/digest.hpp"

namespace furlong::tools {

json to_json(const federated::evaluation_report& report) {
  json out = json::object();
  if (report.validation) out["validation"] = to_json(*report.validation);
  if (report.seen) out["seen"] = to_json(*report.seen);
  if (report.unseen) out["unseen"] = to_json(*report.unseen);
  if (report.train) out["train"] = to_json(*report.train);
  return out;
}

namespace {

json to_json(const federated::task_span& span) {
  json out = {{"client", span.client}, {"started", federated::to_seconds(span.started_at)}};
  if (span.ended_at) out["ended"] = federated::to_seconds(*span.ended_at);
  out["outcome"] = federated::to_string(span.what);
  return out;
}

json to_json(const federated::attention_weights& attention) {
  json tensors = json::array();
  for (const auto& tensor : attention.tensors)
    tensors.push_back(
        {{"tensor", tensor.tensor}, {"min", tensor.least}, {"max", tensor.most}, {"weights", tensor.weights}});
  return {{"clients", attention.clients}, {"tensors", std::move(tensors)}};
}

}  // namespace

json to_json(const federated::round_report& report) {
  json out = {{"round", report.version}};
  if (report.ended_at > 0) {
    out["began"] = federated::to_seconds(report.began_at);
    out["ended"] = federated::to_seconds(report.ended_at);
  }
  out["selected"] = report.selected;
  out["folded"] = report.folded;
  out["rejected"] = report.rejected;
  out["late"] = report.late;
  out["surplus"] = report.surplus;
  if (auto dropped = counts_json<federated::drop_stage>(report.dropped); !dropped.empty())
    out["dropped"] = std::move(dropped);
  out["abandoned"] = report.abandoned;
  out["in_flight"] = report.in_flight;
  out["probed"] = report.probed;
  out["available"] = report.available;
  if (report.sent_keys > 0) out["sent_keys"] = report.sent_keys;
  out["applied"] = report.applied;
  out["gave_up"] = report.gave_up;
  out["examples"] = report.examples;
  if (report.has_loss()) out["loss"] = report.loss;  // of aggregated updates
  out["change_norm"] = report.change_norm;
  for (const auto& [name, value] : report.figures) out["metrics"][name] = value;
  out["bytes_up"] = report.bytes_up;
  out["bytes_down"] = report.bytes_down;
  if (!report.staleness.empty()) out["staleness"] = report.staleness;
  if (report.attention) out["attention"] = to_json(*report.attention);
  for (const auto& span : report.spans) out["spans"].push_back(to_json(span));
  return out;
}

json to_json(const federated::run_event& event) {
  json out = {{"time", federated::to_seconds(event.at)}, {"round", event.round}, {"event", event.what}};
  if (event.client && event.last)
    out["clients"] = {*event.client, *event.last};
  else if (event.client)
    out["client"] = *event.client;
  else if (!event.members.empty())
    out["members"] = event.members;
  if (!event.processes.empty()) out["processes"] = event.processes;
  if (!event.detail.empty()) out[event.what == "dropped" ? "stage" : "reason"] = event.detail;
  if (!event.cause.empty()) out["cause"] = event.cause;
  return out;
}

result<private_facts> read_private_facts(federated::private_store& store, std::uint64_t server_version) {
  private_facts facts;
  sha256_stream hash;
  auto visited =
      store.visit([&](std::uint32_t client, std::uint64_t committed_at, const models::private_parameters& value) {
        hash.add(std::uint64_t{client});
        hash.add(value.values());
        facts.holders.push_back({client, server_version - committed_at - 1});
        ++facts.clients;
      });
  if (!visited) return tl::unexpected(visited.error());
  facts.sha256 = hex(hash.finish());
  return facts;
}

}  // namespace furlong::tools
