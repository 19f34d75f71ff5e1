// A scenario prepared to run: its data loaded, its model built, its parameters partitioned.
#pragma once

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/privacy/run_account.hpp"
#include "federated/protocol/messages.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

/// What changed code is: refused; refused, and --accept-changed-code is offered; or accepted, with a warning.
enum class code_change : std::uint8_t { refused, offered, accepted };

struct prepared_run {
  scenarios::scenario scenario;
  scenarios::dataset data;
  federated::experiment experiment;
  scenarios::source_code code = {};           ///< of the data, and versions of registered parts
  code_change change = code_change::offered;  ///< of the code since the run's checkpoint
};

/// Clients are simulated, with devices under the virtual clock; hosted by nodes; or only asked for their data: then
/// there are no devices, and neither a trace nor a table of them is read, nor groups of clients.
enum class clients_are : std::uint8_t { simulated, on_nodes, without_devices };

/// Loads the data and assembles the experiment. Fails as its parts do.
/// @param here the clients of this node; nothing: this is the server, which may have no data
[[nodiscard]] result<prepared_run> open_prepared_run(scenarios::scenario scenario,
                                                     clients_are where = clients_are::simulated,
                                                     const std::optional<federated::client_range>& here = {});
/// The same with data that were loaded for this scenario, or for another one with the same table [data].
[[nodiscard]] result<prepared_run> open_prepared_run(scenarios::scenario scenario, scenarios::dataset data,
                                                     clients_are where,
                                                     const std::optional<federated::client_range>& here = {});

/// The experiment without clients' data, for an aggregator: `clients` and `participants` are null.
/// @param facts of the data that the server has
[[nodiscard]] result<federated::experiment> open_without_data(const scenarios::scenario& scenario,
                                                              const models::data_facts& facts);

/// Prints every problem of a scenario to stderr, one per line, and returns the exit code.
int report_problems(const std::vector<scenarios::problem>& problems);

// The run that --smoke selects: that of the [smoke] table, or the first rounds.

/// Rounds of a smoke run of a scenario without [smoke] table.
constexpr int smoke_rounds = 3;

/// Reads a scenario, or with `smoke` its small variant; without a [smoke] table, `smoke_rounds` rounds of the scenario
/// without expectations. Overrides of scenario.rounds and the other lengths of a run hold for it too.
[[nodiscard]] inline tl::expected<scenarios::scenario, std::vector<scenarios::problem>> parse_variant(
    const std::filesystem::path& file, std::vector<scenarios::setting_override> overrides, bool smoke) {
  auto parsed =
      scenarios::parse_scenario(file, overrides, smoke ? scenarios::variant::smoke : scenarios::variant::full);
  const auto is_length = [](const scenarios::setting_override& set) {
    return set.key == "scenario.rounds" || set.key == "scenario.epochs" || set.key.starts_with("scenario.until");
  };
  if (!smoke || !parsed || parsed->has_smoke || std::ranges::any_of(overrides, is_length)) return parsed;
  overrides.push_back({"scenario.rounds", std::to_string(smoke_rounds), "--smoke"});
  auto cut = scenarios::parse_scenario(file, overrides, scenarios::variant::smoke);
  if (cut) cut->expectations.clear();
  return cut;
}

// Identifies the data files of a run.

/// The digest and location of data.
struct data_digest {
  std::string sha256;  ///< as data_sha256() has it
  std::string place;   ///< a file to name in messages
};
/// Of data as a scenario's load_data() read them.
[[nodiscard]] result<data_digest> digest_of(const scenarios::dataset& data, const federated::run_settings& settings);

/// SHA-256 in hex over the lengths and bytes of the data files and of those of the devices; empty if all data are
/// generated or on nodes. Independent of file locations. Fails (kind data) if a file cannot be read.
[[nodiscard]] result<std::string> data_sha256(const prepared_run& run);

/// Fails (kind data) if the data differ from those of a run: its clients and classes would differ.
/// @param recorded digest in the run's checkpoint; empty: it has none, and nothing is compared
/// @param run its folder
[[nodiscard]] result<void> check_same_data(const prepared_run& prepared, const std::string& recorded,
                                           const std::filesystem::path& run);
/// The same where the digest is known.
[[nodiscard]] result<void> check_same_data(const data_digest& here, const std::string& recorded,
                                           const std::filesystem::path& run);

// Identifies the source code of data and models in other languages, and registered parts.

/// Fails (kind usage), naming the files and parts, if code has changed since it was recorded, unless that is accepted.
/// @param recorded code_text() of it; empty: only parts are compared
/// @param place that has the record
[[nodiscard]] result<void> check_same_code(const scenarios::source_code& here, const std::string& recorded,
                                           const std::filesystem::path& place, code_change change);

}  // namespace furlong::tools
