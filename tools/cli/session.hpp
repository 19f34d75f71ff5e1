// A scenario made ready to run: its data loaded, its model built, its parameters split.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/protocol/messages.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

struct session {
  scenarios::scenario scenario;
  scenarios::dataset data;
  federated::experiment experiment;
};

/// Whether clients are simulated, with devices of their own under the virtual clock, or are on nodes.
enum class clients_are : std::uint8_t { simulated, on_nodes };

/// Loads the data and assembles the experiment. Fails as its parts do.
/// @param here of clients on nodes, those of this node; nothing: it is the server, which may have nobody's data
[[nodiscard]] result<session> open_session(scenarios::scenario from, clients_are where = clients_are::simulated,
                                           const std::optional<federated::protocol::client_range>& here = {});

/// The experiment without anybody's data, as an aggregator needs it: `clients` and `participants` are null.
/// @param facts of the data that the server has
[[nodiscard]] result<federated::experiment> open_without_data(const scenarios::scenario& from,
                                                              const models::data_facts& facts);

/// Prints every problem of a scenario to stderr, a line each, and returns the exit code.
int report_problems(const std::vector<scenarios::problem>& problems);

// The run that --smoke makes of a scenario: the one of its [smoke] table, else its first rounds.

/// Rounds of a smoke run of a scenario without [smoke] table.
constexpr int smoke_rounds = 3;

/// Reads a scenario, or with `smoke` its small variant; where there is no [smoke] table, `smoke_rounds` rounds of the
/// scenario, of which nothing is expected.
[[nodiscard]] inline tl::expected<scenarios::scenario, std::vector<scenarios::problem>> parse_variant(
    const std::filesystem::path& file, std::vector<scenarios::setting_override> overrides, bool smoke) {
  auto parsed =
      scenarios::parse_scenario(file, overrides, smoke ? scenarios::variant::smoke : scenarios::variant::full);
  if (!smoke || !parsed || parsed->has_smoke) return parsed;
  overrides.push_back({"scenario.rounds", std::to_string(smoke_rounds)});
  auto cut = scenarios::parse_scenario(file, overrides, scenarios::variant::smoke);
  if (cut) cut->expectations.clear();
  return cut;
}

// Tells the files of a run's data from others.

/// The digest of data, and where they come from.
struct data_digest {
  std::string sha256;  ///< as data_sha256() has it
  std::string place;   ///< a file, to be named in a message; all are part of one digest
};
/// Of data as a scenario's load_data() read them.
[[nodiscard]] result<data_digest> digest_of(const scenarios::dataset& data, const federated::run_settings& settings);

/// SHA-256 in hex over the lengths and bytes of the files that the data were read from, and of the availability trace;
/// empty where all is generated, or on nodes. Where the files are does not matter.
/// Fails (kind data) when one cannot be read any more.
[[nodiscard]] result<std::string> data_sha256(const session& of);

/// Fails (kind data) when the data are not those of a run, whose clients and classes would then be others.
/// @param recorded digest in the run's checkpoint; empty: it has none, and nothing is compared
/// @param run its folder
[[nodiscard]] result<void> check_same_data(const session& of, const std::string& recorded,
                                           const std::filesystem::path& run);
/// The same where the digest is known.
[[nodiscard]] result<void> check_same_data(const data_digest& here, const std::string& recorded,
                                           const std::filesystem::path& run);

}  // namespace furlong::tools
