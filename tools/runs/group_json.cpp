#include "tools/runs/group_json.hpp"

#include <algorithm>
#include <fstream>

#include "base/digest.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"

namespace furlong::tools {

namespace {

using stage_counts = std::array<std::uint64_t, federated::drop_stage_count>;

/// What the clients of a group did.
struct group_tasks {
  std::uint64_t clients = 0;
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  stage_counts dropped{};
};

/// Counts the dropped tasks of a line of events.jsonl.
void count_drop(const std::string& line, const federated::client_groups& groups, std::vector<group_tasks>& tasks) {
  if (line.find("\"dropped\"") == std::string::npos) return;
  const auto event = json::parse(line, nullptr, false);
  if (!event.is_object() || event.value("event", "") != "dropped") return;
  const auto client = event.value("client", groups.of_client.size());
  const auto stage = event.value("stage", "");
  if (client >= groups.of_client.size()) return;
  auto& dropped = tasks[groups.of_client[client]].dropped;
  for (std::size_t i = 0; i < dropped.size(); ++i)
    if (federated::to_string(static_cast<federated::drop_stage>(i)) == stage) ++dropped.at(i);
}

result<std::vector<group_tasks>> count_tasks(const federated::client_groups& groups,
                                             const federated::server_state& state,
                                             const std::filesystem::path& events) {
  std::vector<group_tasks> tasks(groups.names.size());
  for (std::uint32_t client = 0; client < groups.of_client.size(); ++client) {
    auto& own = tasks[groups.of_client[client]];
    ++own.clients;
    if (!state.ledger || client >= state.ledger->size()) continue;
    own.selected += (*state.ledger)[client].selected;
    own.folded += (*state.ledger)[client].folded;
  }
  std::ifstream input(events, std::ios::binary);
  for (std::string line; std::getline(input, line);) count_drop(line, groups, tasks);
  if (input.bad() || !input.eof()) return fail(error::kind::data, events.string(), "cannot be read");
  return tasks;
}

}  // namespace

result<json> client_groups_json(const prepared_run& run, const federated::run_outcome& outcome,
                                const std::filesystem::path& events) {
  const auto& settings = run.experiment.settings;
  const auto& groups = settings.evaluation->groups_of_clients;
  if (groups == nullptr) return json();
  const auto tasks = count_tasks(*groups, outcome.state, events);
  if (!tasks) return tl::unexpected(tasks.error());
  json out = json::object();
  for (std::size_t group = 0; group < groups->names.size(); ++group) {
    const auto& own = (*tasks)[group];
    json& line = out[groups->names[group]] = {{"clients", own.clients}};
    if (settings.algorithm->traits.sends) {
      line["selected"] = own.selected;
      line["folded"] = own.folded;
      for (std::size_t i = 0; i < own.dropped.size(); ++i)  // zeros too: they can be expected, and compared
        line["dropped"][std::string(federated::to_string(static_cast<federated::drop_stage>(i)))] = own.dropped.at(i);
    }
    line["eval"] = json::object();
    const auto& scored = outcome.evaluation.by_client_group;
    for (std::size_t index = 0; group < scored.size() && index < federated::group_names.size(); ++index)
      if (scored[group].at(index))
        line["eval"][std::string(federated::group_names.at(index))] = to_json(*scored[group].at(index));
  }
  return out;
}

std::string groups_sha256(const federated::client_groups& groups) {
  sha256_stream digest;
  for (const auto group : groups.of_client) digest.add(groups.names[group] + "\n");
  return hex(digest.finish());
}

}  // namespace furlong::tools
