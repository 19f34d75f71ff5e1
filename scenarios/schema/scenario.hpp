// A scenario: the description of one run, read from a TOML file and checked as a whole before the run.
//
// [expect]: conditions on a run's summary.json, which make a scenario a test.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <variant>
#include <vector>

#include "base/options.hpp"
#include "base/result.hpp"
#include "federated/settings/settings.hpp"
#include "models/layout.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"

namespace furlong::scenarios {

enum class expectation_kind {
  at_most,   ///< the figure <= value
  at_least,  ///< the figure >= value
  equals,    ///< the figure == value: a number, a text or a truth value
  within     ///< |figure - baseline's figure| <= value |baseline's figure|
};

/// One bound on one figure. `"eval.unseen.rmse" = {at_least = 0.5, at_most = 0.9}` gives two.
struct expectation {
  std::string key;  ///< dotted key of summary.json: "eval.unseen.rmse"
  expectation_kind kind = expectation_kind::at_most;
  std::variant<double, std::string, bool> value = 0.0;  ///< text and bool only with equals
  std::string level = {};          ///< of the kernels: equals holds for runs computed by it; empty: by any
  std::filesystem::path baseline;  ///< within: the other scenario, absolute; relative ones start at this file's folder
  std::string place;               ///< "file:line:column", or the option: "--set KEY"

  /// The bound as written in a scenario: "at_most = 0.9", "within = 0.02, baseline = "other.toml"".
  [[nodiscard]] std::string bound() const;
  /// With its figure: "eval.unseen.rmse = {at_most = 0.9}".
  [[nodiscard]] std::string text() const { return key + " = {" + bound() + "}"; }
};

/// A problem of a scenario.
struct problem {
  std::string origin;        ///< the file, or the option: "--set KEY"
  std::uint32_t line = 0;    ///< in the file, from 1; 0: none, as for a missing key
  std::uint32_t column = 0;  ///< likewise
  std::string key;           ///< dotted; empty: about the file
  std::string why;
  std::string fix;

  /// One line: "origin:line:column: key: why; fix", or "--set KEY: why; fix".
  [[nodiscard]] std::string text() const;
};

/// A value that replaces one of the file, as `--set key=value` does.
struct setting_override {
  std::string key;          ///< dotted: algorithm.client.lr
  std::string value;        ///< TOML, or text without quotes
  std::string origin = {};  ///< the option in problems, such as "--seed"; empty: "--set KEY"
};
/// Splits "key=value". Fails (kind usage) if '=' or the key is missing.
[[nodiscard]] result<setting_override> parse_override(const std::string& text);

/// The variant of a file: the run itself, or the small one of its [smoke] table.
enum class variant : std::uint8_t { full, smoke };

/// A valid scenario. All values that do not depend on the data are settled.
struct scenario {
  std::string file;
  std::string name;
  variant which = variant::full;
  bool has_smoke = false;  ///< the file has a [smoke] table
  /// Complete except `rounds`, `participation.per_round`, the range of `evaluation.clip` and the default of
  /// `aggregation.max_weight`, which fit() settles.
  federated::run_settings settings;
  std::string data_source;
  option_values data;  ///< options of the source, named without "data."
  std::string model_kind;
  option_values model;  ///< options of the model, named without "model."
  /// Tensors that stay on the client: `model.private`, if the algorithm has private tensors.
  std::vector<std::string> private_tensors;
  /// [expect]; in the smoke variant [smoke.expect], or none. Not part of the run's id or settings.
  std::vector<expectation> expectations;
  /// Notes for people, a line each: settings without effect, and advice.
  std::vector<std::string> notes;
  /// The places of set keys: "file:line:column", or the option: "--set KEY". Default keys are absent.
  std::map<std::string, std::string, std::less<>> places;
  /// Every key with its value, including defaults; keys are dotted.
  option_values values;
  /// The repeated tables, "event" and "devices.classes", each a list with its values.
  std::map<std::string, std::vector<option_values>, std::less<>> records;
};

/// Reads and checks a scenario. Overrides replace values of the file before the checks; an override of mutually
/// exclusive keys (rounds, epochs and until; per_round and fraction; a target's at_most and at_least) replaces the
/// others. The smoke variant first applies the file's [smoke] table; problems of that table are reported in both
/// variants. Returns the scenario or all its problems, those of the file first, by line.
[[nodiscard]] tl::expected<scenario, std::vector<problem>> parse_scenario(
    const std::filesystem::path& file, const std::vector<setting_override>& overrides = {},
    variant which = variant::full);
/// The same for a text; `name` is the file in problems.
[[nodiscard]] tl::expected<scenario, std::vector<problem>> parse_scenario_text(
    const std::string& text, const std::string& name, const std::vector<setting_override>& overrides = {},
    variant which = variant::full);

/// The whole scenario with all defaults. Parsing it gives the same scenario. It describes one variant, without [smoke].
[[nodiscard]] std::string resolved_toml(const scenario& run);
/// Identifies the run: the first 8 bytes (big-endian) of the SHA-256 of the resolved scenario, without keys that may
/// change when a run is resumed (its length, evaluation, checkpoints, transport).
[[nodiscard]] std::uint64_t run_id(const scenario& run);

/// Loads or generates the scenario's data. Fails with kind data if they are missing, unreadable or damaged, with kind
/// usage if they are valid but contradict the scenario.
[[nodiscard]] result<dataset> load_data(const scenario& run, const std::filesystem::path& root = data_root());
/// True if a file or folder that the scenario names does not exist: of its data, its devices, its
/// groups of clients, or its initial values.
[[nodiscard]] bool data_absent(const scenario& run, const std::filesystem::path& root = data_root());
/// The server's data: clients without examples if only nodes have the data, else all.
[[nodiscard]] result<dataset> load_outline(const scenario& run, const std::filesystem::path& root = data_root());
/// The data of a node with clients first to last: their part in the folder `data.path` if only nodes have the data,
/// else all.
[[nodiscard]] result<dataset> load_part(const scenario& run, std::uint32_t first, std::uint32_t last,
                                        const std::filesystem::path& root = data_root());
/// Settles values that depend on the data: the number of rounds and of clients per round, the range of ratings; adds
/// notes. Fails (kind usage) if more clients are selected than exist, none remains for training or has examples for it,
/// an event is about clients or rounds that do not exist, a client has more examples than aggregation.max_weight,
/// clients are selected by examples that only nodes know, or the best model or a target depends on a group of clients
/// that is empty.
[[nodiscard]] result<void> fit(scenario& run, const dataset& data);
/// The model of a scenario for data with these facts, with its own initial values. If they are interactions, its
/// metrics() are the figures of rankings.
[[nodiscard]] result<std::shared_ptr<const models::model>> build_model(const scenario& given,
                                                                       const models::data_facts& facts);
/// The scenario's model for this data. Adds notes for people, if they are wanted.
[[nodiscard]] result<std::shared_ptr<const models::model>> build_model(const scenario& run, const dataset& data,
                                                                       std::vector<std::string>* notes = nullptr);

// Differences between the scenarios of two runs.

/// The differences in run_id(), in the order of the keys: "scenario.seed was 7 and is 8". Empty if the ids are equal.
[[nodiscard]] std::vector<std::string> run_differences(const scenario& before, const scenario& after);

}  // namespace furlong::scenarios
