// The schema of scenario files: every key once, in one table (schema.cpp). Parsing, checking, defaults, the resolved
// scenario, the run's id and the documentation are made from it.
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
#include "federated/algorithm.hpp"
#include "federated/settings.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

/// A table of the file: "algorithm.client" stands for [algorithm.client], or client = {...} in [algorithm].
struct table_spec {
  std::string name;
  std::string doc;
};

/// A key. Its option's name is dotted: "algorithm.client.lr".
struct key_spec {
  option_spec option;
  /// Copies the value to where the run reads it; null for keys that the parser itself interprets.
  std::function<void(federated::run_settings&, const option_value&)> apply;
  /// False for what may differ between a run and its resumption: how long, how watched, by how many aggregators; and
  /// for how private values are stored, which changes no result and is checked by the store.
  bool identity = true;
};

/// All tables, in the order of the documentation.
[[nodiscard]] const std::vector<table_spec>& schema_tables();
/// The keys that every scenario has, table by table, with the options of a dataset as "data.NAME" and of a model as
/// "model.NAME" in their tables, of an algorithm as "algorithm.KIND.NAME", and of an aggregation rule as
/// "algorithm.aggregation.NAME"; each may be null.
[[nodiscard]] std::vector<key_spec> schema_keys(const dataset_entry* source, const models::model_entry* kind,
                                                const federated::algorithm_entry* algorithm = nullptr,
                                                const federated::rule_entry* rule = nullptr);
/// The keys of one algorithm's own table, "algorithm.KIND.NAME".
[[nodiscard]] std::vector<option_spec> algorithm_keys(const federated::algorithm_entry& of);
/// The keys of one rule, "algorithm.aggregation.NAME".
[[nodiscard]] std::vector<option_spec> rule_keys(const federated::rule_entry& of);

/// A value by the schema, or what is wrong with it.
struct reading {
  std::optional<option_value> value;
  std::string why;
  std::string fix;
};
/// Checks and converts a value.
[[nodiscard]] reading read_value(const option_spec& spec, const toml_value& value);

/// What stands before the last dot: "algorithm.client" of "algorithm.client.lr".
[[nodiscard]] std::string_view table_of(std::string_view key);
/// What stands after it.
[[nodiscard]] std::string_view leaf_of(std::string_view key);

/// The scenario reference in Markdown: every table with its keys, types, defaults and ranges, every dataset and model.
[[nodiscard]] std::string scenario_reference_markdown();

}  // namespace furlong::scenarios
