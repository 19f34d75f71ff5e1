// The schema of scenario files: every key once, in one table (schema.cpp). Parsing, checks, defaults, the resolved
// scenario, the run's id and the documentation derive from it.
//
// Adding a key that sets a field of federated::run_settings is one line in schema.cpp.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/availability.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

/// The key that names the model of availability.
constexpr std::string_view availability_kind_key = "devices.availability.kind";

/// A table of the file: "algorithm.client" is [algorithm.client], or client = {...} in [algorithm].
struct table_spec {
  std::string name;
  std::string doc;
};

/// A key. Its option's name is dotted: "algorithm.client.lr".
struct key_spec {
  option_spec option;
  /// Copies the value to the settings; null for keys that the parser interprets.
  std::function<void(federated::run_settings&, const option_value&)> apply;
  /// False for keys that may differ between a run and its resumption: its length, observation and number of
  /// aggregators; and for the storage of private values, which does not affect results and is checked by the store.
  bool identity = true;
};

/// All tables, in the order of the documentation.
[[nodiscard]] const std::vector<table_spec>& schema_tables();
/// The keys of a scenario, table by table, with the options of a dataset as "data.NAME", of a model as "model.NAME", of
/// an algorithm as "algorithm.KIND.NAME", of an aggregation rule as "algorithm.aggregation.NAME", of a selection policy
/// as "participation.NAME", and of a model of availability as "devices.availability.NAME"; each may be null.
[[nodiscard]] std::vector<key_spec> schema_keys(const dataset_entry* source, const models::model_entry* kind,
                                                const federated::algorithm_entry* algorithm = nullptr,
                                                const federated::rule_entry* rule = nullptr,
                                                const federated::policy_entry* policy = nullptr,
                                                const federated::availability_entry* availability = nullptr);
/// True for a key of the dataset's open table: "python.options.alpha".
[[nodiscard]] bool is_open_key(const dataset_entry* source, std::string_view key);
/// True for a key that the algorithm takes beside its options: "algorithm.python.mu".
[[nodiscard]] bool is_open_key(const federated::algorithm_entry* algorithm, std::string_view key);
/// The key of a dataset's option, or "algorithm.NAME" of the algorithm that comes with it.
[[nodiscard]] std::string source_key(const dataset_entry& source, const std::string& option);
/// The keys of one algorithm's own table, "algorithm.KIND.NAME".
[[nodiscard]] std::vector<option_spec> algorithm_keys(const federated::algorithm_entry& algorithm);
/// The keys of one rule, "algorithm.aggregation.NAME".
[[nodiscard]] std::vector<option_spec> rule_keys(const federated::rule_entry& rule);
/// The keys of one policy, "participation.NAME".
[[nodiscard]] std::vector<option_spec> policy_keys(const federated::policy_entry& policy);
/// The keys of one model of availability, "devices.availability.NAME".
[[nodiscard]] std::vector<option_spec> availability_keys(const federated::availability_entry& entry);

/// A valid value, or the reason why it is invalid.
struct reading {
  std::optional<option_value> value;
  std::string why;
  std::string fix;
};
/// Checks and converts a value.
[[nodiscard]] reading read_value(const option_spec& spec, const toml_value& value);

/// The part before the last dot: "algorithm.client" of "algorithm.client.lr".
[[nodiscard]] std::string_view table_of(std::string_view key);
/// The part after it.
[[nodiscard]] std::string_view leaf_of(std::string_view key);

/// The scenario reference in Markdown: every table with its keys, types, defaults and ranges, every dataset and model.
[[nodiscard]] std::string scenario_reference_markdown();

}  // namespace furlong::scenarios
