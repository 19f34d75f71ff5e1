#include "tools/runs/prepared_run.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iostream>

#include "base/digest.hpp"
#include "federated/aggregation/contracts.hpp"
#include "federated/experiment/pooled_population.hpp"
#include "federated/privacy/server_noise.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/attackers.hpp"
#include "federated/world/world.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/parameters/start_values.hpp"
#include "scenarios/python/algorithm.hpp"
#include "scenarios/schema/parts.hpp"
#include "scenarios/traces/device_file.hpp"
#include "scenarios/traces/trace_file.hpp"
#include "tools/runs/failure.hpp"
#include "tools/runs/messages.hpp"
#include "wire/traffic.hpp"

namespace furlong::tools {

namespace {

/// The simulated devices, under the virtual clock.
result<void> build_world(federated::experiment& experiment) {
  if (experiment.settings.clock == federated::clock_kind::real) return {};
  std::shared_ptr<const federated::availability_trace> trace;
  const auto& presence = experiment.settings.devices->availability;
  if (presence.kind == "trace") {
    auto read = scenarios::read_trace(std::filesystem::path(presence.trace));
    if (!read) return tl::unexpected(read.error());
    trace = std::make_shared<const federated::availability_trace>(std::move(*read));
  }
  std::shared_ptr<const federated::device_table> recorded;
  if (const auto& table = experiment.settings.devices->table; !table.empty()) {
    auto read = scenarios::read_device_table(std::filesystem::path(table));
    if (!read) return tl::unexpected(read.error());
    recorded = std::make_shared<const federated::device_table>(std::move(*read));
  }
  experiment.around =
      federated::make_world(experiment.settings, *experiment.participants, std::move(trace), std::move(recorded));
  wire::plan_traffic(experiment);
  return {};
}

/// The groups of clients, if figures are divided by them.
result<void> read_groups(federated::experiment& experiment) {
  auto& evaluation = *experiment.settings.evaluation;
  if (evaluation.groups_file.empty()) return {};
  auto read =
      scenarios::read_client_groups(std::filesystem::path(evaluation.groups_file), experiment.clients->facts().clients);
  if (!read) return tl::unexpected(read.error());
  evaluation.groups_of_clients = std::make_shared<const federated::client_groups>(std::move(*read));
  return {};
}

/// Figures of honest and of bad clients apart. A run whose attack begins after its last round has the same groups.
void divide_figures(federated::experiment& run) {
  if (run.settings.attack->entry == nullptr || run.around == nullptr) return;
  auto& groups = run.settings.evaluation->groups_of_clients;
  groups = std::make_shared<const federated::client_groups>(
      federated::divide_by_attack(groups.get(), run.around->attackers, run.clients->facts().clients));
}

/// Maximum number of updates in one version: over a network all updates in flight may arrive while it is being
/// completed.
std::uint32_t most_updates(const federated::participation_settings& settings) {
  if (settings.mode == federated::participation_mode::async) return settings.buffer + settings.concurrency;
  return static_cast<std::uint32_t>(asked_per_round(settings));
}

}  // namespace

namespace {

/// Settings, model and parameters: the parts without clients' data.
result<void> assemble(federated::experiment& experiment, const scenarios::scenario& scenario,
                      result<std::shared_ptr<const models::model>> model) {
  experiment.run = scenarios::run_id(scenario);
  experiment.settings = scenario.settings;
  if (!model) return tl::unexpected(model.error());
  experiment.model = std::move(*model);
  if (auto done = federated::lay_out(experiment, scenario.private_tensors); !done) return done;
  auto& rule = *experiment.settings.aggregation;
  rule.max_updates = std::max(rule.max_updates, most_updates(*experiment.settings.participation));
  return {};
}

/// The message for exhausted memory.
void explain_size(const federated::experiment& experiment) {
  constexpr double gigabyte = 1e9;
  const auto count = experiment.parts.model->size();
  explain_memory(
      fmt::format("make the model smaller (model.*), or lower participation.per_round, batch_size or "
                  "--threads: the model has {} parameters ({:.2g} GB), and a run keeps several copies of it "
                  "and the work of its threads",
                  count, static_cast<double>(count * sizeof(float)) / gigabyte));
}

}  // namespace

result<prepared_run> open_prepared_run(scenarios::scenario scenario, clients_are where,
                                       const std::optional<federated::client_range>& here) {
  auto data = where != clients_are::on_nodes ? scenarios::load_data(scenario)
              : here                         ? scenarios::load_part(scenario, here->first, here->last)
                                             : scenarios::load_outline(scenario);
  if (!data) return tl::unexpected(data.error());
  return open_prepared_run(std::move(scenario), std::move(*data), where, here);
}

result<prepared_run> open_prepared_run(scenarios::scenario scenario, scenarios::dataset data, clients_are where,
                                       const std::optional<federated::client_range>& here) {
  if (auto fitted = scenarios::fit(scenario, data); !fitted) return tl::unexpected(fitted.error());

  const std::string start = "model.start_from";
  if (where == clients_are::on_nodes && scenario.values.has(start))
    if (auto fits = scenarios::check_start_on_nodes(scenario.values.text(start), scenario.private_tensors); !fits)
      return tl::unexpected(fits.error());

  prepared_run made{std::move(scenario), std::move(data), {}};
  made.code = made.data.code;
  made.code.merge(scenarios::parts_of(made.scenario));
  auto& experiment = made.experiment;
  if (auto done = assemble(experiment, made.scenario, scenarios::build_model(made.scenario, made.data)); !done)
    return tl::unexpected(done.error());
  experiment.clients = made.data.clients;
  experiment.sizes_declared = scenarios::find_dataset(made.scenario.data_source)->build_part != nullptr;
  experiment.participants = experiment.clients;
  if (!experiment.settings.algorithm->traits.sends)
    experiment.participants = federated::pool_clients(experiment.clients);
  const bool plans = where == clients_are::simulated && experiment.settings.clock == federated::clock_kind::simulated;
  if (auto used = scenarios::use_algorithm(made.data.problem, experiment, plans); !used)
    return tl::unexpected(used.error());
  if (auto kept = federated::check_contracts(experiment); !kept) return tl::unexpected(kept.error());
  if (where != clients_are::without_devices && !here)
    if (auto grouped = read_groups(experiment); !grouped) return tl::unexpected(grouped.error());
  explain_size(experiment);
  wire::meter_traffic(experiment);
  auto& privacy = *experiment.settings.privacy;
  if (privacy.noise > 0 && !federated::privacy::is_simulated(privacy, where == clients_are::on_nodes))
    privacy.key = std::make_shared<const secret_key>(draw_secret_key());
  if (!here) {
    auto budget = federated::privacy::budget_of(
        experiment.settings, {experiment.participants->training().size(), where == clients_are::on_nodes});
    if (!budget) return tl::unexpected(budget.error());
    privacy.budget = *budget;
    if (auto fits = federated::check_noise(experiment, experiment.participants->training().size()); !fits)
      return tl::unexpected(fits.error());
  }
  if (where == clients_are::on_nodes) {
    experiment.settings.clock = federated::clock_kind::real;
    wire::meter_frames(experiment);
    return made;
  }
  if (where == clients_are::simulated)
    if (auto built = build_world(experiment); !built) return tl::unexpected(built.error());
  if (!here) divide_figures(experiment);
  wire::meter_frames(experiment);  // times of transfers are planned without zstd
  return made;
}

result<federated::experiment> open_without_data(const scenarios::scenario& scenario, const models::data_facts& facts) {
  federated::experiment experiment;
  if (auto done = assemble(experiment, scenario, scenarios::build_model(scenario, facts)); !done)
    return tl::unexpected(done.error());
  experiment.settings.clock = federated::clock_kind::real;
  // Values settled by fit(); a scenario for nodes states both.
  experiment.settings.rounds = static_cast<std::uint64_t>(scenario.values.integer("scenario.rounds"));
  auto& settings = *experiment.settings.participation;
  settings.per_round = settings.mode == federated::participation_mode::async
                           ? settings.buffer
                           : static_cast<std::uint32_t>(scenario.values.integer("participation.per_round"));
  experiment.settings.aggregation->max_updates =
      std::max(experiment.settings.aggregation->max_updates, most_updates(settings));
  wire::meter_traffic(experiment);
  wire::meter_frames(experiment);
  return experiment;
}

int report_problems(const std::vector<scenarios::problem>& problems) {
  int code = usage;
  for (const auto& problem : problems) {
    const auto limit = limit_behind(problem.text());
    if (!limit.empty()) code = failure;
    std::cerr << for_people(problem.text()) << limit << '\n';
  }
  return code;
}

result<data_digest> digest_of(const scenarios::dataset& data, const federated::run_settings& settings) {
  auto files = data.files;
  std::ranges::copy(scenarios::device_files(*settings.devices), std::back_inserter(files));
  if (files.empty()) return data_digest{};
  sha256_stream digest;
  for (const auto& path : files) {
    const auto file = scenarios::mapped_file::open(path);
    if (!file) return tl::unexpected(file.error());
    digest.add(std::uint64_t{file->bytes().size()}).add(file->bytes());
  }
  const auto further = data.files.empty() ? 0 : data.files.size() - 1;
  return data_digest{
      hex(digest.finish()),
      files.front().string() + (further == 0 ? "" : " or one of " + std::to_string(further) + " other files")};
}

result<std::string> data_sha256(const prepared_run& run) {
  auto here = digest_of(run.data, run.experiment.settings);
  if (!here) return tl::unexpected(here.error());
  return std::move(here->sha256);
}

result<void> check_same_data(const prepared_run& prepared, const std::string& recorded,
                             const std::filesystem::path& run) {
  if (recorded.empty()) return {};
  const auto here = digest_of(prepared.data, prepared.experiment.settings);
  if (!here) return tl::unexpected(here.error());
  return check_same_data(*here, recorded, run);
}

result<void> check_same_data(const data_digest& here, const std::string& recorded, const std::filesystem::path& run) {
  if (recorded.empty() || recorded == here.sha256) return {};
  return fail(error::kind::data, run.string(),
              "the data differ from those that the run started with: the content of " + here.place + " has changed",
              "restore the files, or start a new run in another --out");
}

result<void> check_same_code(const scenarios::source_code& here, const std::string& recorded,
                             const std::filesystem::path& place, code_change change) {
  const auto before = scenarios::code_from(recorded);
  const auto selection = [](const scenarios::source_code& code, bool parts) {
    scenarios::source_code found;
    for (const auto& file : code)
      if (scenarios::is_part(file.first) == parts) found.insert(file);
    return found;
  };
  const auto files = recorded.empty() ? "" : scenarios::changed_files(selection(before, false), selection(here, false));
  const auto parts = scenarios::changed_files(selection(before, true), selection(here, true));
  if (files.empty() && parts.empty()) return {};
  const auto reason = !files.empty() ? "the code of the class has changed since: " + files
                                     : "a registered part has another version than before: " + parts;
  const std::string restore = !files.empty() ? "restore the files" : "use the program as it was";
  if (change != code_change::accepted)
    return fail(error::kind::usage, place.string(), reason,
                change == code_change::refused
                    ? restore
                    : restore +
                          ", start anew in another folder, or continue with the changed code by "
                          "--accept-changed-code");
  fmt::print(stderr, "warning: {}: {}\n", for_people(place.string()), reason);
  return {};
}

}  // namespace furlong::tools
