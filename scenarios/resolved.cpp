#include <algorithm>

#include "federated/compression.hpp"
#include "federated/digest.hpp"
#include "scenarios/draft.hpp"
#include "scenarios/records.hpp"

namespace furlong::scenarios {

std::string value_text(const models::option_value& value) {
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

/// The tables of the keys, each once; a table follows the one that it stands in.
std::vector<std::string> tables_of(const std::vector<key_spec>& keys) {
  std::vector<std::string> tables;
  const auto add = [&](std::string_view name) {
    if (std::ranges::find(tables, name) == tables.end()) tables.emplace_back(name);
  };
  for (const auto& table : schema_tables()) add(table.name);
  for (const auto& key : keys) add(table_of(key.option.name));
  return tables;
}

std::string write_records(const scenario& of) {
  std::string text;
  for (const auto& spec : schema_records()) {
    const auto at = of.records.find(spec.name);
    if (at == of.records.end()) continue;
    for (const auto& record : at->second) {
      text += "\n[[" + spec.name + "]]\n";
      for (const auto& option : spec.options)
        if (record.has(option.name))
          text += option.name + " = " + value_text(record.all().find(option.name)->second) + "\n";
    }
  }
  return text;
}

std::string write(const scenario& of, bool identity_only) {
  const auto keys = schema_keys(find_dataset(of.data_source), models::find_model(of.model_kind));
  // A schedule over the rounds makes their number part of what is computed.
  const bool scheduled = of.values.text("algorithm.client.schedule") != "constant";
  const auto numbers = of.settings.network.compression.numbers;
  const bool rounded = numbers != federated::number_format::float32;
  const auto text_of = [&](const models::option_spec& option, const models::option_value& value) {
    if (identity_only && option.name == "network.compression") return toml_string(federated::to_string(numbers));
    return value_text(value);
  };
  const auto left_out = [&](const key_spec& key) {
    const auto& name = key.option.name;
    const bool counts = name == "scenario.rounds" || name == "scenario.epochs" || name == "scenario.until.rounds";
    // Numbers that are rounded as they travel are part of it too; whether zstd packs them is not.
    const bool rounds = name == "network.compression" || name == "network.upload";
    return identity_only && !key.identity && !(scheduled && counts) && !(rounded && rounds);
  };
  std::string text;
  for (const auto& table : tables_of(keys)) {
    std::string lines;
    for (const auto& key : keys) {
      const auto& option = key.option;
      const auto at = of.values.all().find(option.name);
      if (table_of(option.name) != table || at == of.values.all().end() || left_out(key)) continue;
      lines += std::string(leaf_of(option.name)) + " = " + text_of(option, at->second) + "\n";
    }
    if (!lines.empty()) text += (text.empty() ? "[" : "\n[") + table + "]\n" + lines;
  }
  return text + write_records(of);
}

/// [expect], a figure a line.
std::string write_expectations(const scenario& of) {
  std::string text;
  for (std::size_t i = 0; i < of.expectations.size(); ++i) {
    const auto& one = of.expectations[i];
    const bool first = i == 0 || of.expectations[i - 1].key != one.key;
    const bool last = i + 1 == of.expectations.size() || of.expectations[i + 1].key != one.key;
    text += first ? toml_string(one.key) + " = {" : ", ";
    text += one.bound() + (last ? "}\n" : "");
  }
  return text.empty() ? text : "\n[expect]\n" + text;
}

}  // namespace

std::string resolved_toml(const scenario& of) { return write(of, false) + write_expectations(of); }

std::uint64_t run_id(const scenario& of) {
  const auto digest = federated::sha256_stream().add(write(of, true)).finish();
  std::uint64_t id = 0;
  for (std::size_t i = 0; i < 8; ++i) id = id << 8 | digest[i];
  return id;
}

}  // namespace furlong::scenarios
