#include "tools/runs/client_table.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fmt/format.h>
#include <optional>
#include <thread>

#include "federated/evaluation/client_scorer.hpp"
#include "federated/experiment/client_groups.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/world/world.hpp"
#include "tools/runs/csv.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

namespace {

using federated::group;

constexpr std::uint64_t most_rounds = 1000;
constexpr std::size_t block_rows = 4096;

/// A client and the group that it is scored in.
struct listed_client {
  std::uint32_t client;
  group membership;
};

std::vector<listed_client> all_clients(const federated::population& clients) {
  std::vector<listed_client> listed;
  for (const auto& [members, membership] :
       {std::pair(clients.training(), group::seen), std::pair(clients.unseen_validation(), group::validation),
        std::pair(clients.unseen_test(), group::unseen)})
    for (const auto client : members) listed.push_back({client, membership});
  std::ranges::sort(listed, {}, &listed_client::client);
  return listed;
}

/// Share of the time of the run in which the client was available; of its rounds if these are drawn one by one.
double availability_of(const trained_run& run, std::uint32_t client) {
  const auto& presence = *run.prepared.experiment.around->presence;
  if (!presence.by_round()) return share_available(presence, client, run.now);
  const auto rounds = std::clamp<std::uint64_t>(run.version, 1, most_rounds);
  std::uint64_t available = 0;
  for (std::uint64_t i = 0; i < rounds; ++i)
    if (presence.available(client, 0, run.version * i / rounds)) ++available;
  return static_cast<double>(available) / static_cast<double>(rounds);
}

/// Pooled training has one participant for all clients.
bool is_known(const trained_run& run, std::uint32_t client) {
  return run.ledger && run.prepared.experiment.settings.algorithm->traits.sends && client < run.ledger->size();
}

std::string participation_fields(const trained_run& run, std::uint32_t client) {
  if (!is_known(run, client)) return ",,,,";
  const auto& record = (*run.ledger)[client];
  const auto round = [](std::uint32_t number) { return number > 0 ? std::to_string(number) : std::string(); };
  return fmt::format("{},{},{},{},{}", record.selected, record.folded, round(record.asked_version),
                     round(record.folded_version),
                     record.reported_version > 0 && federated::keeps_client_losses(run.prepared.experiment.settings)
                         ? fmt::format("{:.6g}", record.loss)
                         : "");
}

/// A mean over a client's scored examples, and one of the model's own metrics.
struct client_metric_value {
  const models::model_metric* metric;
  double value;
};

std::vector<client_metric_value> own_metrics(const trained_run& run, const federated::client_score& score) {
  std::vector<client_metric_value> made;
  const auto metrics = run.prepared.experiment.model->metrics();
  for (std::size_t i = 0; i < std::min(metrics.size(), score.metrics.size()); ++i)
    if (score.metrics[i].count > 0) made.push_back({&metrics[i], score.metrics[i].sum / score.metrics[i].count});
  return made;
}

/// True for a metric that has a column in every table.
bool is_usual(std::string_view name) { return name == "loss" || name == "rmse" || name == "accuracy"; }

std::optional<double> own_metric(const trained_run& run, const federated::client_score& score, std::string_view name) {
  for (const auto& [metric, value] : own_metrics(run, score))
    if (metric->name == name) return value;
  return std::nullopt;
}

std::string quality_fields(const trained_run& run, const federated::client_score& score) {
  if (score.examples == 0) return ",,,";
  const auto n = static_cast<double>(score.examples);
  const auto kind = run.prepared.experiment.model->objective();
  auto rmse = own_metric(run, score, "rmse");
  auto accuracy = own_metric(run, score, "accuracy");
  if (kind == models::objective::squared_error) rmse = std::sqrt(score.squared_error / n);
  if (models::has_accuracy(kind)) accuracy = static_cast<double>(score.correct) / n;
  const auto field = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string();
  };
  return fmt::format("{},{:.6g},{},{}", score.examples, score.loss / n, field(rmse), field(accuracy));
}

/// A field for each of the model's own metrics that is not usual.
std::string own_fields(const trained_run& run, const federated::client_score& score) {
  std::string fields;
  for (const auto& metric : run.prepared.experiment.model->metrics()) {
    if (is_usual(metric.name)) continue;
    const auto value = own_metric(run, score, metric.name);
    fields += value ? fmt::format(",{:.6g}", *value) : ",";
  }
  return fields;
}

std::string device_fields(const trained_run& run, std::uint32_t client) {
  const auto& around = run.prepared.experiment.around;
  if (around == nullptr) return ",,";
  const auto device = around->devices.of(client);
  return fmt::format("{:.6g},{:.6g},{:.4g}", device.seconds_per_example, device.bytes_per_second,
                     availability_of(run, client));
}

/// The groups of evaluation.client_groups, or null.
const federated::client_groups* groups_of(const trained_run& run) {
  return run.prepared.experiment.settings.evaluation->groups_of_clients.get();
}

std::string group_field(const trained_run& run, std::uint32_t client) {
  const auto* groups = groups_of(run);
  return groups == nullptr ? "" : "," + csv_text(groups->names[groups->of_client[client]]);
}

std::string row_of(const trained_run& run, const listed_client& entry, const federated::client_score& score) {
  const auto& clients = *run.prepared.data.clients;
  const auto* const role = entry.membership == group::seen         ? "train"
                           : entry.membership == group::validation ? "validation"
                                                                   : "test";
  const auto examples = run.prepared.data.whole && entry.membership == group::seen
                            ? std::to_string(clients.count(entry.client, federated::part::train))
                            : std::string();
  return fmt::format("{},{},{},{},{},{},{},{:.6g}{}{}", entry.client, csv_text(clients.client_name(entry.client)), role,
                     participation_fields(run, entry.client), examples, quality_fields(run, score),
                     device_fields(run, entry.client), clients.taste(entry.client), group_field(run, entry.client),
                     own_fields(run, score));
}

client_figures figures_of(const trained_run& run, const listed_client& entry, const federated::client_score& score) {
  client_figures made{entry.client, static_cast<std::size_t>(entry.membership), {}, {}, {}, {}, {}, 0.0, {}};
  if (is_known(run, entry.client)) made.updates = (*run.ledger)[entry.client].folded;
  if (score.examples > 0) {
    const auto n = static_cast<double>(score.examples);
    const auto kind = run.prepared.experiment.model->objective();
    made.loss = score.loss / n;
    if (kind == models::objective::squared_error) made.rmse = std::sqrt(score.squared_error / n);
    if (models::has_accuracy(kind)) made.accuracy = static_cast<double>(score.correct) / n;
    for (const auto& [metric, value] : own_metrics(run, score)) {
      if (metric->name == "accuracy") made.accuracy = value;
      if (metric->name == "rmse") made.rmse = value;
      if (!is_usual(metric->name) && !made.own) made.own = value;
    }
  }
  if (const auto& around = run.prepared.experiment.around)
    made.speed = 1.0 / around->devices.of(entry.client).seconds_per_example;
  made.taste = run.prepared.data.clients->taste(entry.client);
  return made;
}

/// What `make` makes of some clients, on all cores.
template <class Row>
result<std::vector<Row>> rows_of(const trained_run& run, const federated::client_scorer& scorer,
                                 std::span<const listed_client> clients,
                                 Row (*make)(const trained_run&, const listed_client&,
                                             const federated::client_score&)) {
  std::vector<Row> rows(clients.size());
  std::vector<std::optional<error>> failed(clients.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    federated::workspace use;
    for (auto i = next++; i < clients.size(); i = next++) {
      auto score = run.prepared.data.whole ? scorer.score(clients[i].membership, clients[i].client, use)
                                           : federated::client_score();
      if (score)
        rows[i] = make(run, clients[i], *score);
      else
        failed[i] = score.error();
    }
  };
  {
    std::vector<std::jthread> helpers;
    for (auto count = std::max(1U, std::thread::hardware_concurrency()); count > 1; --count) helpers.emplace_back(work);
    work();
  }
  for (const auto& why : failed)
    if (why) return tl::unexpected(*why);
  return rows;
}

}  // namespace

double share_available(const federated::availability& presence, std::uint32_t client, federated::virtual_time until) {
  federated::virtual_time now = 0;
  federated::virtual_time available = 0;
  bool there = presence.available(client, now, 0);
  while (now < until) {
    const auto next = std::min(until, presence.changes(client, now, 0));
    if (there) available += next - now;
    there = !there;
    now = next;
  }
  if (until <= 0) return there ? 1.0 : 0.0;
  return static_cast<double>(available) / static_cast<double>(until);
}

result<void> add_clients(std::vector<run_record>& runs) {
  for (auto& entry : runs) {
    if (!counts(entry)) continue;
    const auto run = open_trained_run(run_directory(entry.directory));
    if (!run) return tl::unexpected(run.error());
    if (auto complete = check_private_values(*run); !complete) return complete;
    const federated::client_scorer scorer(run->prepared.experiment, run->model, run->version, run->store.get());
    auto rows = rows_of(*run, scorer, all_clients(*run->prepared.data.clients), figures_of);
    if (!rows) return tl::unexpected(rows.error());
    entry.clients = std::move(*rows);
    for (const auto& metric : run->prepared.experiment.model->metrics()) {
      if (is_usual(metric.name)) continue;
      entry.own_metric = metric.name;
      entry.own_smaller_is_better = metric.smaller_is_better;
      break;
    }
  }
  return {};
}

result<void> write_client_table(const trained_run& run, const std::filesystem::path& file) {
  if (auto complete = check_private_values(run); !complete) return complete;
  auto out = atomic_file::begin(file);
  if (!out) return tl::unexpected(out.error());
  std::string header =
      "client,name,role,selected,folded,last_selected,last_folded,training_loss,train_examples,examples,loss,rmse,"
      "accuracy,seconds_per_example,bytes_per_second,availability,taste";
  if (groups_of(run) != nullptr) header += ",group";
  for (const auto& metric : run.prepared.experiment.model->metrics())
    if (!is_usual(metric.name)) header += "," + csv_text(metric.name);
  auto written = out->append(header + "\n");
  const auto listed = all_clients(*run.prepared.data.clients);
  const federated::client_scorer scorer(run.prepared.experiment, run.model, run.version, run.store.get());
  for (std::size_t first = 0; written && first < listed.size(); first += block_rows) {
    const auto rows =
        rows_of(run, scorer, std::span(listed).subspan(first, std::min(block_rows, listed.size() - first)), row_of);
    if (!rows) return tl::unexpected(rows.error());
    for (std::size_t i = 0; written && i < rows->size(); ++i) written = out->append((*rows)[i] + "\n");
  }
  return written ? out->commit() : written;
}

}  // namespace furlong::tools
