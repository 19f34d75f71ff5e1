#include <algorithm>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "scenarios/schema/dependencies.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/records.hpp"

namespace furlong::scenarios {

namespace {

std::string code(const std::string& text) { return "`" + text + "`"; }

std::string type_text(const option_spec& option) {
  switch (option.type) {
    case option_type::boolean: return "true or false";
    case option_type::integer: return "whole number";
    case option_type::number: return "number";
    case option_type::text: return "text";
    case option_type::text_list: return "list of texts";
    case option_type::number_list: return "list of numbers";
    case option_type::choice: break;
  }
  std::vector<std::string> words;
  for (const auto& choice : option.choices) words.push_back(code(toml_string(choice)));
  return listed(words, "or");
}

std::string default_text(const option_spec& option) {
  if (option.required) return "required";
  if (!option.same_as.empty()) return "as " + code(option.same_as);
  return option.fallback ? code(value_text(*option.fallback)) : "none";
}

std::string bound_text(double bound) {
  auto text = number_text(bound);
  return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
}

/// Bounds that are only technical limits are omitted.
std::string range_text(const option_spec& option) {
  const bool bounded = option.type == option_type::integer || option.type == option_type::number ||
                       option.type == option_type::number_list;
  if (!bounded) return "";
  const bool low = option.at_least > -1e299;
  const bool high = option.at_most < 4294967295.0;
  const auto least = bound_text(option.at_least);
  const auto most = bound_text(option.at_most);
  if (low && high) return (option.above ? "above " : "") + least + " to " + most;
  if (low) return option.above ? "above " + least : "at least " + least;
  return high ? "at most " + most : "";
}

std::string value_type_text(const option_spec& option, const std::vector<std::string>& or_share) {
  const bool shared = std::ranges::find(or_share, option.name) != or_share.end();
  return shared ? "text or share" : type_text(option);
}

/// " Only with `optimizer` = `"adam"`." of a key that depends on another one.
std::string condition_text(const std::string& key) {
  std::string text;
  for (const auto& [keys, when] : dependencies()) {
    if (when.key.empty() || std::ranges::find(keys, key) == keys.end()) continue;
    std::vector<std::string> words;
    for (const auto& word : when.words) words.push_back(code(toml_string(word)));
    const auto name = code(table_of(when.key) == table_of(key) ? std::string(leaf_of(when.key)) : when.key);
    text += " Only with " + name + (words.empty() ? " above 0." : " = " + listed(words, "or") + ".");
  }
  return text;
}

void add_rows(std::string& text, const std::string& table, const std::vector<option_spec>& options,
              const std::vector<std::string>& or_share = {}) {
  text += "| key | value | default | range | meaning |\n|---|---|---|---|---|\n";
  for (const auto& option : options)
    text += "| " + code(option.name.substr(table.empty() ? 0 : table.size() + 1)) + " | " +
            value_type_text(option, or_share) + " | " + default_text(option) + " | " + range_text(option) + " | " +
            option.doc + condition_text(option.name) + " |\n";
  text += "\n";
}

/// The repeated tables that follow this one.
void add_records(std::string& text, const std::string& table) {
  for (const auto& record : schema_records()) {
    if (record.after != table) continue;
    text += "## [[" + record.name + "]]\n\n" + record.doc + "\n\n";
    add_rows(text, "", record.options, record.or_share);
  }
}

}  // namespace

std::string scenario_reference_markdown() {
  std::string text =
      "# Scenario reference\n\nGenerated from the schema; do not edit. A scenario is a TOML file. Tables may be "
      "written "
      "as `[algorithm.client]` or inline, `client = {...}` in `[algorithm]`. `--set KEY=VALUE` takes dotted keys, "
      "`--set algorithm.client.lr=0.5`. Unknown keys are errors.\n\n";
  const auto keys = schema_keys(nullptr, nullptr, nullptr, nullptr);
  for (const auto& table : schema_tables()) {
    std::vector<option_spec> options;
    for (const auto& key : keys)
      if (table_of(key.option.name) == table.name) options.push_back(key.option);
    if (options.empty() && table_of(table.name) == "data") continue;  // documented with its datasets
    text += "## [" + table.name + "]\n\n" + table.doc + "\n\n";
    if (!options.empty()) add_rows(text, table.name, options);
    add_records(text, table.name);
    if (table.name == "data")
      for (const auto& entry : registered_datasets()) {
        text += "### source = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        if (entry.table == "data") add_rows(text, "", entry.options);
      }
    if (table.name == "python") {
      auto own = find_dataset("python")->options;
      for (auto& option : own) option.name.insert(0, "python.");
      add_rows(text, table.name, own);
    }
    if (table.name == "model")
      for (const auto& entry : models::registered_models()) {
        text += "### kind = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        add_rows(text, "", entry.options);
      }
    if (table.name == "algorithm")
      for (const auto& entry : federated::registered_algorithms()) {
        text += "### kind = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        if (!entry.options.empty()) add_rows(text, "algorithm." + entry.kind, algorithm_keys(entry));
      }
    if (table.name == "participation")
      for (const auto& entry : federated::registered_policies()) {
        text += "### policy = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        if (!entry.options.empty()) add_rows(text, "participation", policy_keys(entry));
      }
    if (table.name == "devices.availability")
      for (const auto& entry : federated::registered_availabilities()) {
        text += "### kind = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        if (!entry.options.empty()) add_rows(text, table.name, availability_keys(entry));
      }
    if (table.name == "algorithm.aggregation")
      for (const auto& entry : federated::registered_rules()) {
        text += "### rule = \"" + entry.kind + "\"\n\n" + entry.doc + "\n\n";
        if (!entry.options.empty()) add_rows(text, "algorithm.aggregation", rule_keys(entry));
      }
  }
  text.pop_back();
  return text;
}

}  // namespace furlong::scenarios
