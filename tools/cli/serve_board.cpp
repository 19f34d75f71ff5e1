#include "tools/cli/serve_board.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <unistd.h>

#include "actors/net/address.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/privacy_json.hpp"
#include "tools/runs/version.hpp"

namespace furlong::tools {

namespace {

using actors::federation::federation_view;

double unix_now() { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); }

/// Current memory of this process.
std::uint64_t resident_bytes() {
  std::uint64_t total = 0;
  std::uint64_t resident = 0;
  std::ifstream("/proc/self/statm") >> total >> resident;  // in pages
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

dashboard::phase_kind phase_of(const federation_view& view) {
  if (!view.state.losses.diverged.empty()) return dashboard::phase_kind::diverged;
  switch (view.now) {
    case federation_view::phase::waiting: return dashboard::phase_kind::waiting;
    case federation_view::phase::training: return dashboard::phase_kind::training;
    case federation_view::phase::evaluating: return dashboard::phase_kind::evaluating;
    case federation_view::phase::done: break;
  }
  return dashboard::phase_kind::done;
}

/// Aggregator names by number.
std::map<std::uint32_t, std::string> list_aggregators(const federation_view& view, double now,
                                                      dashboard::live_status& out) {
  std::map<std::uint32_t, std::string> names;
  for (const auto& aggregator : view.aggregators) {
    if (aggregator.gateway.empty()) continue;  // the server's own
    names[aggregator.number] = fmt::format("{} ({})", aggregator.name, aggregator.number);
    out.aggregators.push_back({names[aggregator.number], aggregator.gateway, "", true, now - aggregator.since,
                               view.who.reached(aggregator.number)});
  }
  return names;
}

/// "rack-1" of "rack-1/0-599/4".
std::string node_name(const federation_view::node& node) {
  const auto name = node.name.substr(0, node.name.find('/'));
  return name.empty() ? fmt::format("clients {} to {}", node.clients.first, node.clients.last) : name;
}

}  // namespace

serve_board::serve_board(const prepared_run& run) : run_(run), last_round_ended_(unix_now()) {
  const auto& experiment = run.experiment;
  fixed_.scenario = run.scenario.name;
  fixed_.run = fmt::format("{:016x}", experiment.run);
  fixed_.algorithm = experiment.settings.algorithm->kind;
  fixed_.model = run.scenario.model_kind;
  fixed_.version = version;
  fixed_.asynchronous = experiment.settings.participation->mode == federated::participation_mode::async;
  fixed_.rounds = experiment.settings.rounds;
  fixed_.started_at = unix_now();
  fixed_.clients.population = experiment.clients->facts().clients;
  fixed_.clients.training = experiment.participants->training().size();
  counts_.resize(fixed_.clients.population);
}

void serve_board::list_nodes(const federation_view& view, const std::map<std::uint32_t, std::string>& names,
                             double now) {
  for (auto& [first, node] : nodes_) {
    node.connected = false;
    node.at_work = 0;
  }
  for (const auto& entry : view.nodes) {
    auto& node = nodes_[entry.clients.first];
    node.name = node_name(entry);
    node.clients = entry.clients;
    const auto via = names.find(entry.via);
    node.via = via == names.end() ? "" : via->second;
    node.connected = true;
    node.since = now - entry.since;
    node.last_seen = now;
    node.at_work = entry.at_work;
  }
  for (auto& [first, node] : nodes_) {
    node.folded = node.rejected = node.late = 0;
    for (auto client = node.clients.first; client <= node.clients.last && client < counts_.size(); ++client) {
      node.folded += counts_[client].folded;
      node.rejected += counts_[client].rejected;
      node.late += counts_[client].late;
    }
  }
}

result<std::unique_ptr<serve_board>> serve_board::open(const std::string& address, const prepared_run& run) {
  const auto endpoint = actors::net::parse_address(address);
  if (!endpoint) return fail(error::kind::usage, "--dashboard", endpoint.error().text());
  std::unique_ptr<serve_board> made(new serve_board(run));
  dashboard::dashboard_settings settings;
  settings.host = endpoint->host;
  settings.port = endpoint->port;
  auto started = dashboard::dashboard_server::start(made->board_, settings);
  if (!started) return tl::unexpected(started.error());
  made->server_ = std::move(*started);
  return made;
}

/// Nodes and aggregators that connected or disconnected since the last check. Many at once are one event, so that they
/// do not displace all others.
void serve_board::tell_of_links(const dashboard::live_status& live) {
  constexpr std::size_t most_told = 20;
  constexpr double same = 0.5;  // seconds; rounding makes the times of one connection differ
  std::map<std::string, dashboard::unix_time> here;
  for (const auto& node : live.nodes)
    if (node.connected)
      here.emplace(fmt::format("node {} (clients {}-{})", node.name, node.clients.first, node.clients.last),
                   node.since);
  for (const auto& aggregator : live.aggregators) here.emplace("aggregator " + aggregator.name, aggregator.since);
  std::vector<std::string> lost;
  std::vector<std::string> came;
  for (const auto& [peer, since] : links_)
    if (const auto found = here.find(peer); found == here.end() || found->second > since + same) lost.push_back(peer);
  for (const auto& [peer, since] : here)
    if (const auto found = links_.find(peer); found == links_.end() || since > found->second + same)
      came.push_back(peer);
  const auto tell = [&](const std::vector<std::string>& whom, dashboard::severity level, const char* label) {
    if (whom.size() > most_told)
      return board_.happened(
          {0, 0, level, live.round, label, fmt::format("{} nodes and aggregators", whom.size()), {}});
    for (const auto& peer : whom) board_.happened({0, 0, level, live.round, label, peer, {}});
  };
  tell(lost, dashboard::severity::warning, "connection lost");
  tell(came, dashboard::severity::info, "connected");
  links_ = std::move(here);
}

/// Composing privacy losses takes a tenth of a second: not after each of many short rounds.
void serve_board::account(const federation_view& view, double now) {
  constexpr double every = 10.0;
  if (run_.experiment.settings.privacy->noise <= 0 || now < accounted_at_ + every) return;
  if (privacy_ && accounted_version_ == view.state.version) return;
  const auto found = privacy_json(run_.experiment, view.state);
  auto& spent = privacy_.emplace();
  if (!found["epsilon"].is_null()) spent.epsilon = found["epsilon"].get<double>();
  spent.delta = found["delta"].get<double>();
  spent.relation = found.value("relation", std::string());
  spent.simulated = found["simulated"].get<bool>();
  accounted_version_ = view.state.version;
  accounted_at_ = now;
}

void serve_board::show(const federation_view& view) {
  auto live = fixed_;
  live.phase = phase_of(view);
  live.round = view.state.version + (view.now == federation_view::phase::training ? 1 : 0);
  live.counts = view.state.counts;
  live.clients.reached = view.who.reached();
  live.clients.adrift = view.adrift;
  live.clients.at_work = view.in_flight - view.adrift;
  if (view.covered != checkpoint_.version) checkpoint_ = {view.covered, unix_now()};
  if (view.covered > 0) live.checkpoint = checkpoint_;
  live.unasked = view.refusals.unasked;
  live.refused_connections = view.refusals.by_word();
  live.state_lost = view.state_lost;
  live.resident_bytes = resident_bytes();
  // The kernel updates the peak at intervals, so it may lag.
  peak_bytes_ = std::max({peak_bytes_, peak_rss_bytes(), live.resident_bytes});
  live.peak_resident_bytes = peak_bytes_;
  const double now = unix_now();
  account(view, now);
  live.privacy = privacy_;
  list_nodes(view, list_aggregators(view, now, live), now);
  for (const auto& [first, node] : nodes_) live.nodes.push_back(node);
  tell_of_links(live);
  board_.publish(std::move(live));
}

void serve_board::count(const federated::run_event& event) {
  if (!event.client || *event.client >= counts_.size()) return;
  auto& record = counts_[*event.client];
  if (event.what == to_string(federated::outcome::rejected)) ++record.rejected;
  if (event.what == to_string(federated::outcome::late) || event.what == to_string(federated::outcome::surplus))
    ++record.late;
}

federated::run_observer serve_board::watching(federated::run_observer next) {
  auto watched = next;
  watched.on_round = [this, next](const federated::round_report& report) -> result<void> {
    const double now = unix_now();
    board_.round_ended(report, now - std::exchange(last_round_ended_, now));
    for (const auto& id : report.members)
      if (id.client < counts_.size()) ++counts_[id.client].folded;
    return next.on_round ? next.on_round(report) : result<void>();
  };
  watched.on_evaluation = [this, next](const federated::evaluation_report& report) -> result<void> {
    board_.evaluated(report);
    return next.on_evaluation ? next.on_evaluation(report) : result<void>();
  };
  watched.on_event = [this, next](const federated::run_event& event) -> result<void> {
    board_.happened(event);
    count(event);
    return next.on_event ? next.on_event(event) : result<void>();
  };
  return watched;
}

}  // namespace furlong::tools
