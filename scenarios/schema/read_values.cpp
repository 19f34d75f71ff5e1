#include <algorithm>
#include <cmath>
#include <filesystem>

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/records.hpp"

namespace furlong::scenarios {

namespace {

bool is_table(const std::string& name, const std::vector<std::string>& known) {
  const auto holds = [&](std::string_view key) { return key == name || key.starts_with(name + "."); };
  return std::ranges::any_of(schema_tables(), holds, &table_spec::name) ||
         std::ranges::any_of(known, [&](const auto& key) { return key.starts_with(name + "."); });
}

const source_entry* written_value(const source_text& text, std::string_view key) {
  const auto found = std::ranges::find_if(text.values, [&](const source_entry& e) { return e.entry.key == key; });
  return found == text.values.end() ? nullptr : &*found;
}

std::string word_of(const source_text& text, std::string_view key) {
  const auto* written = written_value(text, key);
  const auto* word = written == nullptr ? nullptr : std::get_if<std::string>(&written->entry.value.data);
  return word == nullptr ? std::string{} : *word;
}

/// The dataset or model that a key belongs to if it is not the selected one; empty: none.
std::string owner_of(const std::string& key, const draft& document) {
  const auto name = key.substr(key.find('.') + 1);
  const auto has = [&](const std::vector<option_spec>& options) {
    return std::ranges::find(options, name, &option_spec::name) != options.end();
  };
  if (document.source != nullptr)
    for (const auto& entry : registered_datasets())
      if ((key.starts_with(entry.table + ".") && has(entry.options)) || is_open_key(&entry, key))
        return "is a key of source = " + toml_string(entry.kind) + ", not of " + toml_string(document.source->kind);
  if (key.starts_with("model.") && document.kind != nullptr)
    for (const auto& entry : models::registered_models())
      if (has(entry.options))
        return "is a key of kind = " + toml_string(entry.kind) + ", not of " + toml_string(document.kind->kind);
  return {};
}

bool is_algorithm_key(const std::string& key) {
  return std::ranges::any_of(federated::registered_algorithms(),
                             [&](const auto& entry) { return key.starts_with("algorithm." + entry.kind + "."); });
}

void report_unknown(const source_entry& written, const std::vector<std::string>& known, draft& document) {
  const auto& key = written.entry.key;
  // With an unknown dataset, model or algorithm, its keys cannot be checked.
  const auto is_of_data = [&](const dataset_entry& entry) { return key.starts_with(entry.table + "."); };
  if ((document.source == nullptr && std::ranges::any_of(registered_datasets(), is_of_data)) ||
      (key.starts_with("model.") && document.kind == nullptr))
    return;
  if (document.algorithm == nullptr && is_algorithm_key(key)) return;
  if (auto owner = owner_of(key, document); !owner.empty()) return document.report_name(written, owner, "remove it");
  if (is_table(key, known))
    return document.report_name(written, "is a table, not a value", "write [" + key + "], or " + key + " = {...}");
  const auto near = nearest_key(key, known);
  if (!near.empty()) return document.report_name(written, "unknown key", "did you mean " + near + "?");
  std::vector<std::string> tables;
  for (const auto& table : schema_tables())
    if (table_of(table.name).empty()) tables.push_back(table.name);
  if (std::ranges::find(tables, key.substr(0, key.find('.'))) == tables.end())
    return document.report_name(written, "is in no known table", "write TABLE.KEY; the tables are " + listed(tables));
  std::vector<std::string> siblings;
  for (const auto& name : known)
    if (table_of(name) == table_of(key)) siblings.emplace_back(leaf_of(name));
  document.report_name(written, "unknown key",
                       siblings.empty() ? "remove it" : "[" + std::string(table_of(key)) + "] has " + listed(siblings));
}

/// Reports unknown tables and returns their names: their keys are not reported individually.
std::vector<std::string> report_unknown_tables(const source_text& text, const std::vector<std::string>& known,
                                               draft& document) {
  std::vector<std::string> unknown;
  std::vector<std::string> names;
  for (const auto& table : schema_tables()) names.push_back(table.name);
  for (const auto& written : text.tables) {
    const auto& name = written.entry.key;
    if (is_table(name, known) || is_open_key(document.source, name + ".key")) continue;
    if (document.algorithm == nullptr && is_algorithm_key(name + ".")) continue;
    const auto outer = std::ranges::any_of(unknown, [&](const auto& u) { return name.starts_with(u + "."); });
    unknown.push_back(name);
    if (outer) continue;
    if (std::ranges::find(known, name) != known.end()) {
      document.report_name(written, "is a value, not a table", "write " + name + " = ...");
      continue;
    }
    auto near = nearest(name, names);
    if (near.empty()) near = nearest_key(name, names);
    document.report_name(written, "unknown table", near.empty() ? "remove it" : "did you mean [" + near + "]?");
  }
  return unknown;
}

/// The requirements of a dataset or an algorithm for keys of other tables. check_parts() has reported those that are no
/// values of their keys.
template <class Defaults>
void replace_defaults(std::vector<key_spec>& keys, const Defaults& defaults) {
  for (const auto& [name, value] : defaults)
    for (auto& key : keys)
      if (key.option.name == name && fault_of(key.option, value).empty()) key.option.fallback = value;
}

/// The effective rule: the algorithm may determine it.
std::string rule_word(const source_text& text, const draft& document) {
  const std::string key = "algorithm.aggregation.rule";
  for (const auto* entry : {document.named, document.algorithm}) {
    if (entry == nullptr) continue;
    const auto fixed = std::ranges::find(entry->fixed, key, &federated::fixed_value::key);
    if (fixed != entry->fixed.end()) return fixed->value;
  }
  if (written_value(text, key) != nullptr) return word_of(text, key);
  if (document.algorithm != nullptr)
    for (const auto& [name, value] : document.algorithm->traits.defaults)
      if (const auto* word = std::get_if<std::string>(&value); name == key && word != nullptr) return *word;
  return federated::registered_rules().front().kind;
}

/// The keys of algorithms, rules, policies and models of availability that are not selected: a file may have those of
/// several, for a sweep.
std::vector<option_spec> idle_keys(const draft& document) {
  const auto& [algorithm, rule, policy, availability] =
      std::tie(document.algorithm, document.rule, document.policy, document.availability);
  std::vector<option_spec> specs;
  const auto add = [&](std::vector<option_spec> keys) { std::ranges::move(keys, std::back_inserter(specs)); };
  for (const auto& entry : federated::registered_algorithms())
    if (algorithm != nullptr && entry.kind != algorithm->kind) add(algorithm_keys(entry));
  for (const auto& entry : federated::registered_rules())
    if (rule == nullptr || entry.kind != rule->kind) add(rule_keys(entry));
  for (const auto& entry : federated::registered_policies())
    if (policy == nullptr || entry.kind != policy->kind) add(policy_keys(entry));
  for (const auto& entry : federated::registered_availabilities())
    if (availability == nullptr || entry.kind != availability->kind) add(availability_keys(entry));
  return specs;
}

void read_idle(const source_entry& written, const option_spec& spec, draft& document) {
  if (auto read = read_value(spec, written.entry.value); !read.value)
    document.report(written.entry.key, std::move(read.why), std::move(read.fix));
  else if (read.value == spec.fallback || document.rule == nullptr)
    return;  // it has no effect, or its owner is unknown
  else if (written.entry.key.starts_with("algorithm.aggregation."))
    document.notes.push_back(written.entry.key + " has no effect: aggregation.rule is " +
                             toml_string(document.rule->kind));
  else if (written.entry.key.starts_with("participation."))
    document.notes.push_back(written.entry.key + " has no effect: participation.policy is " +
                             (document.policy == nullptr ? "unknown" : toml_string(document.policy->kind)));
  else if (written.entry.key.starts_with("devices.availability."))
    document.notes.push_back(written.entry.key + " has no effect: " + std::string(availability_kind_key) + " is " +
                             (document.availability == nullptr ? "unknown" : toml_string(document.availability->kind)));
  else
    document.notes.push_back(written.entry.key + " has no effect: algorithm.kind is " +
                             toml_string(document.named->kind));
}

/// A further key of an algorithm that is not selected: its program alone knows it.
bool is_idle_open_key(const std::string& key, const draft& document) {
  return document.algorithm != nullptr &&
         std::ranges::any_of(federated::registered_algorithms(),
                             [&](const auto& entry) { return is_open_key(&entry, key); });
}

/// A path in the file starts at the file's folder, one of the command line at the working directory.
option_value absolute_path(const option_value& path, const source_entry& written, const draft& document) {
  const std::filesystem::path named = std::get<std::string>(path);
  const auto folder = written.origin == document.file() ? std::filesystem::path(document.file()).parent_path()
                                                        : std::filesystem::path();
  return std::filesystem::absolute(folder / named).lexically_normal().string();
}

/// A value whose key only the data know.
void read_open(const source_entry& written, draft& target) {
  const auto& [key, position, value] = written.entry;
  target.mark_changed(key);
  if (const auto* flag = std::get_if<bool>(&value.data)) return target.values.set(key, *flag);
  if (const auto* whole = std::get_if<std::int64_t>(&value.data)) return target.values.set(key, *whole);
  if (const auto* number = std::get_if<double>(&value.data); number != nullptr && std::isfinite(*number))
    return target.values.set(key, *number);
  if (const auto* text = std::get_if<std::string>(&value.data)) return target.values.set(key, *text);
  target.report(key, "is " + to_text(value) + ", must be true, false, a finite number or a text", "");
}

void complete(const std::vector<key_spec>& keys, draft& document) {
  for (const auto& [option, apply, identity] : keys) {
    if (document.values.has(option.name) || document.is_set(option.name)) continue;
    if (option.fallback) {
      document.values.set(option.name, *option.fallback);
    } else if (option.required) {
      document.report(option.name, "is missing",
                      option.choices.empty() ? "add " + std::string(leaf_of(option.name)) + " = ..."
                                             : "choose " + listed(option.choices, "or"));
    }
  }
  for (const auto& [option, apply, identity] : keys)
    if (!document.values.has(option.name) && !document.is_set(option.name) && document.values.has(option.same_as))
      document.values.set(option.name, document.values.all().find(option.same_as)->second);
}

}  // namespace

void read_values(const source_text& text, draft& document, described_entry described) {
  document.source = find_dataset(word_of(text, "data.source"));
  document.kind = models::find_model(word_of(text, "model.kind"));
  document.named = federated::find_algorithm(word_of(text, "algorithm.kind"));
  document.algorithm = document.named == nullptr || document.named->alias_of.empty()
                           ? document.named
                           : federated::find_algorithm(document.named->alias_of);
  document.described = std::move(described);
  if (document.described != nullptr) document.algorithm = document.named = document.described.get();
  document.rule = federated::find_rule(rule_word(text, document));
  const std::string policy = "participation.policy";
  document.policy = federated::find_policy(
      written_value(text, policy) == nullptr ? federated::registered_policies().front().kind : word_of(text, policy));
  const std::string presence(availability_kind_key);
  document.availability = federated::find_availability(written_value(text, presence) == nullptr
                                                           ? federated::registered_availabilities().front().kind
                                                           : word_of(text, presence));
  auto keys = schema_keys(document.source, document.kind, document.algorithm, document.rule, document.policy,
                          document.availability);
  const auto idle = idle_keys(document);
  check_parts(keys, idle, document);
  if (document.source != nullptr) replace_defaults(keys, document.source->defaults);
  if (document.algorithm != nullptr) replace_defaults(keys, document.algorithm->traits.defaults);
  std::vector<std::string> known;
  for (const auto& spec : keys) known.push_back(spec.option.name);
  for (const auto& spec : schema_records()) known.push_back(spec.name);
  for (const auto& spec : idle) known.push_back(spec.name);

  for (const auto& written : text.tables) document.remember(written);
  for (const auto& written : text.values) document.remember(written);
  const auto unknown_tables = report_unknown_tables(text, known, document);
  for (const auto& written : text.values) {
    const auto& entry = written.entry;
    if (std::ranges::any_of(unknown_tables, [&](const auto& name) { return entry.key.starts_with(name + "."); }))
      continue;
    const auto spec = std::ranges::find_if(keys, [&](const key_spec& k) { return k.option.name == entry.key; });
    if (spec == keys.end()) {
      if (is_open_key(document.source, entry.key) || is_open_key(document.algorithm, entry.key))
        read_open(written, document);
      else if (is_idle_open_key(entry.key, document))
        document.notes.push_back(entry.key + " has no effect: algorithm.kind is " + toml_string(document.named->kind));
      else if (const auto unused = std::ranges::find(idle, entry.key, &option_spec::name); unused != idle.end())
        read_idle(written, *unused, document);
      else
        report_unknown(written, known, document);
      continue;
    }
    auto read = read_value(spec->option, entry.value);
    const bool is_path = spec->option.beside_file && read.value && !std::get<std::string>(*read.value).empty();
    if (is_path) read.value = absolute_path(*read.value, written, document);
    if (!read.value || read.value != spec->option.fallback) document.mark_changed(entry.key);
    if (read.value)
      document.values.set(entry.key, std::move(*read.value));
    else
      document.report(entry.key, std::move(read.why), std::move(read.fix));
  }
  complete(keys, document);
}

}  // namespace furlong::scenarios
