#include <algorithm>

#include "base/digest.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/quantization.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/records.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

std::string value_text(const option_value& value) {
  struct writer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t whole) const { return std::to_string(whole); }
    std::string operator()(double number) const { return number_text(number); }
    std::string operator()(const std::string& text) const { return toml_string(text); }
    std::string operator()(const std::vector<std::string>& texts) const {
      std::string list;
      for (const auto& text : texts) list += (list.empty() ? "" : ", ") + toml_string(text);
      return "[" + list + "]";
    }
    std::string operator()(const std::vector<double>& numbers) const {
      std::string list;
      for (const auto number : numbers) list += (list.empty() ? "" : ", ") + number_text(number);
      return "[" + list + "]";
    }
  };
  return std::visit(writer{}, value);
}

namespace {

/// The value of a key that has that of another one.
constexpr std::string_view following = "that of ";

/// The tables of the keys, each once; a table follows its parent.
std::vector<std::string> tables_of(const std::vector<key_spec>& keys) {
  std::vector<std::string> tables;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(tables, name) == tables.end()) tables.emplace_back(name);
  };
  for (const auto& table : schema_tables()) add(table.name);
  for (const auto& key : keys) add(table_of(key.option.name));
  return tables;
}

std::string write_records(const scenario& run) {
  std::string text;
  for (const auto& spec : schema_records()) {
    const auto found = run.records.find(spec.name);
    if (found == run.records.end()) continue;
    for (const auto& record : found->second) {
      text += "\n[[" + spec.name + "]]\n";
      for (const auto& option : spec.options)
        if (record.has(option.name))
          text += option.name + " = " + value_text(record.all().find(option.name)->second) + "\n";
    }
  }
  return text;
}

/// True if a key's value is part of run_id().
bool identifies(const scenario& run, const key_spec& key) {
  const auto& name = key.option.name;
  // With a schedule over the rounds, their number affects results.
  const bool scheduled = run.values.text("algorithm.client.schedule") != "constant";
  const bool counts = name == "scenario.rounds" || name == "scenario.epochs" || name == "scenario.until.rounds";
  // Quantization in transit affects results; zstd does not.
  const bool rounded = run.settings.network->compression.numbers != federated::number_format::float32;
  const bool rounds = name == "network.compression" || name == "network.upload";
  return key.identity || (scheduled && counts) || (rounded && rounds);
}

std::string identifying_text(const scenario& run, const key_spec& key, const option_value& value) {
  if (key.option.name != "network.compression") return value_text(value);
  return toml_string(federated::to_string(run.settings.network->compression.numbers));
}

std::vector<key_spec> keys_of(const scenario& run) {
  const auto* source = find_dataset(run.data_source);
  const auto* algorithm = federated::find_algorithm(run.settings.algorithm->kind);
  auto keys = schema_keys(source, models::find_model(run.model_kind), algorithm,
                          federated::find_rule(run.settings.aggregation->rule.kind),
                          federated::find_policy(run.settings.participation->policy.kind),
                          federated::find_availability(run.settings.devices->availability.kind));
  for (const auto& entry : run.values.all())
    if (is_open_key(source, entry.first) || is_open_key(algorithm, entry.first))
      keys.push_back({text_option(entry.first, std::nullopt, ""), nullptr});
  return keys;
}

std::string write(const scenario& run, bool identity_only) {
  const auto keys = keys_of(run);
  std::string text;
  for (const auto& table : tables_of(keys)) {
    std::string lines;
    for (const auto& key : keys) {
      const auto& option = key.option;
      const auto found = run.values.all().find(option.name);
      if (table_of(option.name) != table || found == run.values.all().end() || (identity_only && !identifies(run, key)))
        continue;
      const auto value = identity_only ? identifying_text(run, key, found->second) : value_text(found->second);
      lines += std::string(leaf_of(option.name)) + " = " + value + "\n";
    }
    if (!lines.empty()) text += (text.empty() ? "[" : "\n[") + table + "]\n" + lines;
  }
  return text + write_records(run);
}

/// Every key of the run's identity in schema order, with its value or the key that it follows.
std::vector<std::pair<std::string, std::string>> identity_of(const scenario& run) {
  std::vector<std::pair<std::string, std::string>> entries;
  const auto& values = run.values.all();
  for (const auto& key : keys_of(run)) {
    const auto found = values.find(key.option.name);
    if (found == values.end() || !identifies(run, key)) continue;
    const auto leader = values.find(key.option.same_as);
    const bool follows = leader != values.end() && leader->second == found->second;
    entries.emplace_back(found->first,
                         follows ? std::string(following) + leader->first : identifying_text(run, key, found->second));
  }
  return entries;
}

/// [expect], one figure per line.
std::string write_expectations(const scenario& run) {
  std::string text;
  for (std::size_t i = 0; i < run.expectations.size(); ++i) {
    const auto& expectation = run.expectations[i];
    const bool first = i == 0 || run.expectations[i - 1].key != expectation.key;
    const bool last = i + 1 == run.expectations.size() || run.expectations[i + 1].key != expectation.key;
    text += first ? toml_string(expectation.key) + " = {" : ", ";
    text += expectation.bound() + (last ? "}\n" : "");
  }
  return text.empty() ? text : "\n[expect]\n" + text;
}

}  // namespace

std::string resolved_toml(const scenario& run) { return write(run, false) + write_expectations(run); }

std::uint64_t run_id(const scenario& run) {
  const auto digest = sha256_stream().add(write(run, true)).finish();
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8 | digest[i];
  return id;
}

std::vector<std::string> run_differences(const scenario& before, const scenario& after) {
  const auto was = identity_of(before);
  const auto is = identity_of(after);
  const auto value_in = [](const auto& entries, const std::string& key) {
    const auto found = std::ranges::find(entries, key, [](const auto& one) { return one.first; });
    return found == entries.end() ? std::string("not set") : found->second;
  };
  std::vector<std::string> found;
  for (const auto& [key, value] : is)
    if (const auto old = value_in(was, key); old != value) found.push_back(key + " was " + old + " and is " + value);
  for (const auto& [key, value] : was)
    if (value_in(is, key) == "not set" && !value.starts_with(following))
      found.push_back(key + " was " + value + " and is not set");
  if (write_records(before) != write_records(after))
    found.emplace_back("the [[event]] or [[devices.classes]] tables differ");
  return found;
}

}  // namespace furlong::scenarios
