// A scenario: what one run is, read from a TOML file, checked as a whole before anything runs.
//
// [expect]: what must hold of a run's summary.json, so that a scenario is a test.
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
#include "federated/settings.hpp"
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
  std::variant<double, std::string, bool> value = 0.0;  ///< text and truth value only under equals
  std::filesystem::path baseline;  ///< within: the other scenario, absolute; relative ones stand beside this file
  std::string place;               ///< "file:line:column", or "--set KEY"

  /// The bound as the scenario writes it: "at_most = 0.9", "within = 0.02, baseline = "other.toml"".
  [[nodiscard]] std::string bound() const;
  /// With its figure: "eval.unseen.rmse = {at_most = 0.9}".
  [[nodiscard]] std::string text() const { return key + " = {" + bound() + "}"; }
};

/// One thing wrong with a scenario.
struct problem {
  std::string origin;        ///< the file, or "--set KEY"
  std::uint32_t line = 0;    ///< in the file, from 1; 0: about no line, such as a key that is missing
  std::uint32_t column = 0;  ///< likewise
  std::string key;           ///< dotted; empty: about the file
  std::string why;
  std::string fix;

  /// One line: "origin:line:column: key: why; fix".
  [[nodiscard]] std::string text() const;
};

/// A `--set key=value` of the command line.
struct setting_override {
  std::string key;    ///< dotted: algorithm.client.lr
  std::string value;  ///< TOML, or a bare word for a text
};
/// Splits "key=value". Fails (kind usage) where there is no '=' or no key.
[[nodiscard]] result<setting_override> parse_override(const std::string& text);

/// Which of the runs that a file describes: itself, or the small one of its [smoke] table.
enum class variant : std::uint8_t { full, smoke };

/// A scenario without problems. All values that do not depend on the data are settled.
struct scenario {
  std::string file;
  std::string name;
  variant which = variant::full;
  bool has_smoke = false;  ///< the file has a [smoke] table
  /// Complete but for `rounds`, `participation.per_round` and the range of `evaluation.clip`, which fit() settles.
  federated::run_settings settings;
  std::string data_source;
  option_values data;  ///< options of the source, their names without "data."
  std::string model_kind;
  option_values model;  ///< options of the model, their names without "model."
  /// Tensors that stay on the client: `model.private`, where the algorithm has private tensors.
  std::vector<std::string> private_tensors;
  /// [expect]; in the smoke variant [smoke.expect], or none. No part of the run: neither of its id nor of its settings.
  std::vector<expectation> expectations;
  /// What was set and has no effect, and what is advised, a line each, for people.
  std::vector<std::string> notes;
  /// Where keys were set: "file:line:column", or "--set KEY". Keys left to their defaults are absent.
  std::map<std::string, std::string, std::less<>> places;
  /// Every key with its value, defaults too; keys are dotted.
  option_values values;
  /// The tables that come several times, "event" and "devices.classes", each a list of them with their values.
  std::map<std::string, std::vector<option_values>, std::less<>> records;
};

/// Reads and checks a scenario. Overrides replace what the file says, and come before it is checked; one of those that
/// exclude each other (rounds, epochs and until; per_round and fraction; a target's at_most and at_least) replaces the
/// others. The smoke variant applies the file's [smoke] table first; what is wrong in that table is found in both
/// variants.
/// Returns the scenario or all its problems, those of the file first, by line.
[[nodiscard]] tl::expected<scenario, std::vector<problem>> parse_scenario(
    const std::filesystem::path& file, const std::vector<setting_override>& overrides = {},
    variant which = variant::full);
/// The same of a text; `name` stands for the file in problems.
[[nodiscard]] tl::expected<scenario, std::vector<problem>> parse_scenario_text(
    const std::string& text, const std::string& name, const std::vector<setting_override>& overrides = {},
    variant which = variant::full);

/// The whole scenario with all defaults written out. Parsing it gives the same scenario again. Of one variant: there is
/// no [smoke] in it.
[[nodiscard]] std::string resolved_toml(const scenario& of);
/// Identifies the run: the first 8 bytes (big-endian) of the SHA-256 of the resolved scenario without what may change
/// when a run is resumed (how long it is, how it is evaluated, checkpointed and sent).
[[nodiscard]] std::uint64_t run_id(const scenario& of);

/// Loads or generates the scenario's data. Fails with kind data when they are missing, unreadable or damaged, with kind
/// usage when they are good and the scenario contradicts them.
[[nodiscard]] result<dataset> load_data(const scenario& of, const std::filesystem::path& root = data_root());
/// Whether the file or folder of the data is not there at all.
[[nodiscard]] bool data_absent(const scenario& of, const std::filesystem::path& root = data_root());
/// What a server needs of it: of data that only nodes have the clients without examples, else all.
[[nodiscard]] result<dataset> load_outline(const scenario& of, const std::filesystem::path& root = data_root());
/// What a node with clients first to last needs of it: of data that only nodes have their part in the folder
/// `data.path`, else all.
[[nodiscard]] result<dataset> load_part(const scenario& of, std::uint32_t first, std::uint32_t last,
                                        const std::filesystem::path& root = data_root());
/// Settles what depends on the data: the number of rounds and of clients a round, the range of ratings; adds notes.
/// Fails (kind usage) when more clients are asked than there are, nobody is left to train or has examples for it, an
/// event is about clients or rounds that do not exist, clients are to be chosen by their examples and only nodes know
/// those, or the best model is to be chosen, or a target reached, by a group of clients in which the data leave nobody.
[[nodiscard]] result<void> fit(scenario& to, const dataset& data);
/// The scenario's model for this data.
[[nodiscard]] result<std::shared_ptr<const models::model>> build_model(const scenario& of, const dataset& data);

// How the scenarios of two runs differ.

/// What run_id() tells apart, in words and in the order of the keys: "scenario.seed was 7 and is 8". Empty when both
/// have the same id.
[[nodiscard]] std::vector<std::string> run_differences(const scenario& before, const scenario& after);

}  // namespace furlong::scenarios
