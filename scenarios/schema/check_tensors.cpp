// Checks of keys that name tensors of the model.
#include <algorithm>
#include <fnmatch.h>

#include "federated/experiment/algorithm.hpp"
#include "scenarios/schema/draft.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

namespace {

/// The setting that gives the model a tensor of one client; empty for other tensors.
std::string setting_for(const models::model& probe, std::string_view tensor) {
  for (const auto& personal : personal_tensors())
    if (personal.model == probe.kind() && personal.name == tensor) return std::string(personal.setting);
  return {};
}

/// The models that have this tensor of one client.
std::vector<std::string> models_with(std::string_view tensor) {
  std::vector<std::string> found;
  for (const auto& personal : personal_tensors())
    if (personal.name == tensor) found.emplace_back(personal.model);
  return found;
}

/// The fix for a name that is not a tensor of the model. A tensor that is switched off, or that another model has, is
/// not a spelling mistake.
std::string missing_tensor_fix(const models::model& probe, const std::string& name,
                               const std::vector<std::string>& names) {
  if (const auto setting = setting_for(probe, name); !setting.empty()) return "set " + setting + ", or remove it";
  if (const auto alternatives = models_with(name); !alternatives.empty())
    return "only " + listed(alternatives) + (alternatives.size() == 1 ? " has" : " have") +
           " it: name another one, or remove it";
  const auto near = nearest(name, names);
  return near.empty() ? "remove it, or switch the tensor on in [model]" : "did you mean " + toml_string(near) + "?";
}

/// An example for `private`: a tensor per client that the model has or could have, or any tensor.
std::string private_example(const models::model& probe) {
  const auto& tensors = *probe.tensors();
  const auto write = [](std::string_view name) { return "write private = [" + toml_string(std::string(name)) + "]"; };
  std::string could;
  for (const auto& personal : personal_tensors()) {
    if (personal.model != probe.kind()) continue;
    const auto tensor = tensors.find(personal.name);
    const bool table = tensor && tensors[*tensor].index == models::row_index::by_client;
    if (tensor && !table) return write(personal.name);
    if (could.empty())
      could = "set " + (table ? "model.user_table = false" : std::string(personal.setting)) + " and " +
              write(personal.name);
  }
  if (!could.empty()) return could;
  std::vector<std::string> names;
  for (const auto& spec : tensors.tensors()) names.push_back(spec.name);
  return "name some of " + listed(names) + " in private";
}

std::vector<std::string> kinds_that_share_all() {
  std::vector<std::string> kinds;
  for (const auto& entry : federated::registered_algorithms())
    if (entry.alias_of.empty() && entry.traits.sends && !entry.traits.implicit &&
        entry.traits.private_tensors == federated::private_use::ignored)
      kinds.push_back(entry.kind);
  return kinds;
}

/// Replaces patterns such as "head.*" in a list of tensors by the names that they match.
void expand_patterns(draft& document, const std::string& key, const models::model& probe) {
  if (!document.is_set(key) || !document.good({key})) return;
  std::vector<std::string> names;
  const auto written = document.values.list(key);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i].find_first_of("*?[") == std::string::npos) {
      names.push_back(written[i]);
      continue;
    }
    const auto before = names.size();
    for (const auto& spec : probe.tensors()->tensors())
      if (fnmatch(written[i].c_str(), spec.name.c_str(), 0) == 0 && std::ranges::find(names, spec.name) == names.end())
        names.push_back(spec.name);
    if (names.size() > before) continue;
    std::vector<std::string> present;
    for (const auto& spec : probe.tensors()->tensors()) present.push_back(spec.name);
    return document.report_item(key, i,
                                toml_string(written[i]) + " matches no tensor; the model has " + listed(present),
                                "correct the pattern");
  }
  document.values.set(key, names);
}

}  // namespace

std::vector<std::size_t> find_tensors(draft& document, const std::string& key, const models::model& probe) {
  const auto& tensors = *probe.tensors();
  std::vector<std::string> names;
  for (const auto& spec : tensors.tensors()) names.push_back(spec.name);
  std::vector<std::size_t> found;
  const auto wanted = document.values.list(key);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const auto tensor = tensors.find(wanted[i]);
    if (!tensor)
      document.report_item(key, i, "the model has no tensor " + toml_string(wanted[i]) + "; it has " + listed(names),
                           missing_tensor_fix(probe, wanted[i], names));
    else if (std::ranges::find(found, *tensor) != found.end())
      document.report_item(key, i, "names " + toml_string(wanted[i]) + " twice", "remove one");
    else
      found.push_back(*tensor);
  }
  return found;
}

void check_private(draft& document, const models::model& probe) {
  expand_patterns(document, "model.private", probe);
  if (!document.good({"model.private"})) return;
  const auto wanted = document.values.list("model.private");
  if (!has_private(document)) {
    if (!wanted.empty())
      document.notes.push_back("model.private has no effect: " + algorithm_word(document) + " shares all tensors");
    return;
  }
  const bool required = document.algorithm->traits.private_tensors == federated::private_use::required;
  if (wanted.empty() && !required) return;
  if (wanted.empty())
    return document.report("model.private", algorithm_word(document) + " needs at least one private tensor",
                           private_example(probe) + ", or choose " + listed(kinds_that_share_all(), "or"));
  find_tensors(document, "model.private", probe);
  if (!document.good({"model.private"})) return;
  if (auto parts = models::split(probe.tensors(), wanted); !parts)
    document.report("model.private", parts.error().reason, parts.error().fix);
}

void check_tensor_options(draft& document, const models::model& probe) {
  for (const auto& name : document.algorithm->tensor_options) {
    const auto key = "algorithm." + document.algorithm->kind + "." + name;
    expand_patterns(document, key, probe);
    if (document.good({key})) find_tensors(document, key, probe);
  }
}

void settle_reconstruct(draft& document, const models::model& probe) {
  std::vector<std::string> names;
  if (document.is_set("evaluation.reconstruct")) return expand_patterns(document, "evaluation.reconstruct", probe);
  const auto own = private_tensors(document);
  for (const auto& spec : probe.tensors()->tensors())
    if (std::ranges::find(own, spec.name) != own.end() || spec.index == models::row_index::by_client)
      names.push_back(spec.name);
  document.values.set("evaluation.reconstruct", names);
}

}  // namespace furlong::scenarios
