// Checks of the dataset's, the algorithm's and the model's entries, which other libraries may have registered: what
// they say about keys of the scenario.
#include <algorithm>
#include <set>

#include "federated/experiment/algorithm.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

/// Whether a key is one of a part that is not chosen, beside those of algorithms and rules.
bool is_key_of_others(const std::string& key) {
  const auto has = [&](const std::string& table, const std::vector<option_spec>& options) {
    return std::ranges::any_of(options, [&](const auto& option) { return table + "." + option.name == key; });
  };
  return std::ranges::any_of(models::registered_models(),
                             [&](const auto& entry) { return has("model", entry.options); }) ||
         std::ranges::any_of(registered_datasets(), [&](const auto& entry) { return has(entry.table, entry.options); });
}

class part_check {
 public:
  part_check(const std::vector<key_spec>& keys, const std::vector<option_spec>& idle, draft& document)
      : keys_(keys), idle_(idle), document_(document) {}

  /// @param place the key that names the part
  /// @param role of the value: "its default"
  void check_value(const std::string& place, const std::string& part, const std::string& role, const std::string& key,
                   const option_value& value) {
    const auto* option = find(key);
    if (option == nullptr && is_key_of_others(key)) return;
    const auto fault = option == nullptr ? "is for no key of scenarios" : fault_of(*option, value);
    if (!fault.empty())
      document_.report(place, "is " + toml_string(part) + ": " + role + " for " + key + " " + fault,
                       "correct the entry of " + part);
  }

  /// @param options keys of a part beside others of its table
  /// False: it was reported.
  bool check_options(const std::string& place, const std::string& part, const std::vector<option_spec>& options) {
    for (const auto& option : options)
      if (std::ranges::count(keys_, option.name, [](const key_spec& key) { return key.option.name; }) > 1) {
        document_.report(place, "is " + toml_string(part) + ": its option " + option.name + " is a key already",
                         "rename the option");
        return false;
      }
    return true;
  }

  void check_names(const std::string& place, const std::string& part) {
    std::set<std::string_view> names;
    for (const auto& key : keys_)
      if (!names.insert(key.option.name).second)
        return document_.report(place,
                                "is " + toml_string(part) + ": its option " + key.option.name + " is a key already",
                                "rename the option");
  }

 private:
  [[nodiscard]] const option_spec* find(const std::string& key) const {
    for (const auto& known : keys_)
      if (known.option.name == key) return &known.option;
    const auto idle = std::ranges::find(idle_, key, &option_spec::name);
    return idle == idle_.end() ? nullptr : &*idle;
  }

  const std::vector<key_spec>& keys_;
  const std::vector<option_spec>& idle_;
  draft& document_;
};

}  // namespace

void check_parts(const std::vector<key_spec>& keys, const std::vector<option_spec>& idle, draft& document) {
  if (document.source == nullptr || document.algorithm == nullptr) return;  // the keys are not all known
  part_check check(keys, idle, document);
  if (const auto* policy = document.policy; policy != nullptr)
    if (!check.check_options("participation.policy", policy->kind, policy_keys(*policy))) return;
  if (const auto* presence = document.availability; presence != nullptr)
    if (!check.check_options(std::string(availability_kind_key), presence->kind, availability_keys(*presence))) return;
  check.check_names("data.source", document.source->kind);
  for (const auto& [key, value] : document.source->defaults)
    check.check_value("data.source", document.source->kind, "its default", key, value);
  for (const auto& [key, value] : document.algorithm->traits.defaults)
    check.check_value("algorithm.kind", document.algorithm->kind, "its default", key, value);
  for (const auto* entry : {document.named, document.algorithm}) {
    for (const auto& [key, value, why] : entry->fixed)
      check.check_value("algorithm.kind", entry->kind, "its fixed value", key, value);
    if (document.named == document.algorithm) break;
  }
}

}  // namespace furlong::scenarios
