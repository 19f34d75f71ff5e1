#include "tools/dashboard/status_json.hpp"

#include "tools/runs/figures_json.hpp"

namespace furlong::tools::dashboard {

namespace {

using tools::to_json;

json to_json(const client_counts& clients) {
  return {{"population", clients.population},
          {"training", clients.training},
          {"reached", clients.reached},
          {"idle", clients.idle()},
          {"at_work", clients.at_work},
          {"adrift", clients.adrift},
          {"away", clients.away()}};
}

json to_json(const node_status& node) {
  return {{"name", node.name},
          {"first", node.clients.first},
          {"last", node.clients.last},
          {"via", node.via},
          {"connected", node.connected},
          {"since", node.since},
          {"last_seen", node.last_seen},
          {"at_work", node.at_work},
          {"folded", node.folded},
          {"rejected", node.rejected},
          {"late", node.late}};
}

json to_json(const aggregator_status& aggregator) {
  return {{"name", aggregator.name},           {"address", aggregator.address}, {"via", aggregator.via},
          {"connected", aggregator.connected}, {"since", aggregator.since},     {"clients", aggregator.clients}};
}

json to_json(const federated::accounting& counts) {
  return {{"selected", counts.selected},
          {"folded", counts.folded},
          {"rejected", counts_json<federated::rejection>(counts.rejected)},
          {"late", counts.late},
          {"surplus", counts.surplus},
          {"dropped", counts_json<federated::drop_stage>(counts.dropped)},
          {"abandoned", counts.abandoned},
          {"in_flight", counts.in_flight()},
          {"rounds_abandoned", counts.rounds_abandoned},
          {"examples", counts.examples},
          {"bytes_up", counts.bytes_up},
          {"bytes_down", counts.bytes_down}};
}

json to_json(const round_record& round) {
  json out = {{"first", round.first},     {"last", round.last},         {"ended_at", round.ended_at},
              {"seconds", round.seconds}, {"selected", round.selected}, {"folded", round.folded}};
  if (auto rejected = counts_json<federated::rejection>(round.rejected); !rejected.empty())
    out["rejected"] = std::move(rejected);
  out["late"] = round.late;
  out["surplus"] = round.surplus;
  if (auto dropped = counts_json<federated::drop_stage>(round.dropped); !dropped.empty())
    out["dropped"] = std::move(dropped);
  out["abandoned"] = round.abandoned;
  out["gave_up"] = round.gave_up;
  out["applied"] = round.applied;
  out["loss"] = round.applied > 0 ? json(round.loss) : json(nullptr);
  out["change_norm"] = round.applied > 0 ? json(round.change_norm) : json(nullptr);
  out["bytes_up"] = round.bytes_up;
  out["bytes_down"] = round.bytes_down;
  return out;
}

json to_json(const evaluation_record& point) {
  json out = {{"version", point.version}, {"at", point.time}};
  if (point.validation) out["validation"] = to_json(*point.validation);
  if (point.seen) out["seen"] = to_json(*point.seen);
  if (point.unseen) out["unseen"] = to_json(*point.unseen);
  return out;
}

json to_json(const event_record& event) {
  json out = {{"number", event.number}, {"at", event.time}, {"level", to_string(event.level)}, {"event", event.kind}};
  if (event.round > 0) out["round"] = event.round;
  if (!event.subject.empty()) out["who"] = event.subject;
  if (!event.detail.empty()) out["detail"] = event.detail;
  return out;
}

template <class Record>
json list_json(const std::vector<Record>& records) {
  json out = json::array();
  for (const auto& record : records) out.push_back(to_json(record));
  return out;
}

json checkpoint_json(const federation_status& status) {
  const auto& last = status.live.checkpoint;
  if (!last) return nullptr;
  return {{"version", last->version}, {"at", last->time}, {"age", status.now - last->time}};
}

json to_json(const privacy_status& privacy) {
  return {{"epsilon", privacy.epsilon ? json(*privacy.epsilon) : json(nullptr)},
          {"delta", privacy.delta},
          {"unit", "client"},
          {"relation", privacy.relation},
          {"simulated", privacy.simulated}};
}

}  // namespace

json status_json(const federation_status& status) {
  const auto& live = status.live;
  json out = {{"furlong", live.version},
              {"now", status.now},
              {"published", status.published},
              {"published_age", status.published_age},
              {"scenario", live.scenario},
              {"run", live.run},
              {"algorithm", live.algorithm},
              {"model", live.model},
              {"asynchronous", live.asynchronous},
              {"phase", to_string(live.phase)},
              {"round", live.round},
              {"rounds", live.rounds},
              {"started_at", live.started_at},
              {"uptime", status.published ? status.now - live.started_at : 0.0},
              {"clients", to_json(live.clients)},
              {"tasks", to_json(live.counts)}};
  out["unasked"] = counts_json<federated::rejection>(live.unasked);
  out["refused_connections"] = live.refused_connections;
  out["state_lost"] = live.state_lost;
  out["checkpoint"] = checkpoint_json(status);
  if (live.privacy) out["privacy"] = to_json(*live.privacy);
  out["memory"] = {{"resident", live.resident_bytes}, {"peak", live.peak_resident_bytes}};
  out["last_round"] = status.rounds.empty() ? json(nullptr) : to_json(status.rounds.back());
  out["aggregators"] = list_json(live.aggregators);
  out["nodes"] = list_json(live.nodes);
  out["learning"] = list_json(status.learning);
  out["staleness"] = status.staleness;
  out["events"] = list_json(status.events);
  return out;
}

json rounds_json(const std::vector<round_record>& rounds) { return {{"rounds", list_json(rounds)}}; }

std::string text_of(const json& document) { return document.dump(-1, ' ', false, json::error_handler_t::replace); }

}  // namespace furlong::tools::dashboard
