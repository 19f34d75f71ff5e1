// Checks of a scenario's algorithm and aggregation rule.
#include <algorithm>

#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/single_updates.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

option_values options_of(const draft& document, std::string_view prefix) {
  option_values options;
  for (const auto& [key, value] : document.values.all())
    if (key.starts_with(prefix)) options.set(key.substr(prefix.size()), value);
  return options;
}

option_values source_options(const draft& document) {
  option_values options;
  const auto& source = *document.source;
  const auto add = [&](const std::string& option) {
    if (const auto key = source_key(source, option); document.good({key}))
      options.set(option, document.values.all().find(key)->second);
  };
  const bool has_class = document.named != nullptr && document.named->kind == source.algorithm;
  for (const auto& option : source.options)
    if (has_class || option.name != "algorithm") add(option.name);
  for (const auto& [key, value] : document.values.all())
    if (is_open_key(document.source, key))
      add(key.substr(source.table.size() + 1));
    else if (has_class && is_open_key(document.named, key))
      add("algorithm." + std::string(leaf_of(key)));
  return options;
}

bool options_are_good(const draft& document, const std::string& prefix, const std::vector<option_spec>& options) {
  return std::ranges::all_of(options, [&](const auto& option) {
    const auto key = prefix + option.name;
    return document.good({key}) ||
           (!document.is_set(key) && !option.fallback && !option.required && option.same_as.empty());
  });
}

bool has_private(const draft& document) {
  return document.algorithm != nullptr && document.algorithm->traits.private_tensors != federated::private_use::ignored;
}

std::vector<std::string> private_tensors(const draft& document) {
  return has_private(document) ? document.values.list("model.private") : std::vector<std::string>{};
}

bool keeps_private(const draft& document) {
  return document.algorithm != nullptr && document.algorithm->traits.keeps_state && !private_tensors(document).empty();
}

void report_unsent(draft& document, const std::string& key, const std::string& why) {
  document.report(key, "has no meaning under kind = " + toml_string(algorithm_word(document)) + ": " + why,
                  "remove it, or choose another algorithm");
}

std::string rule_with(bool federated::rule_traits::*trait) {
  const auto& rules = federated::registered_rules();
  const auto found = std::ranges::find_if(rules, [&](const auto& entry) { return entry.traits.*trait; });
  return found == rules.end() ? std::string() : found->kind;
}

namespace {

/// Checks the traits of the algorithm and its options.
void check_traits(draft& document) {
  const auto& kind = document.algorithm->kind;
  const auto& traits = document.algorithm->traits;
  const std::string rule = "algorithm.aggregation.rule";
  const auto why = [&](const std::string& key) {
    return "is " + quoted(document, key) + ", and " + kind + " does not work with it";
  };
  for (const auto& name : traits.rules)
    if (federated::find_rule(name) == nullptr)
      document.report(
          "algorithm.kind",
          "is " + toml_string(kind) + ", whose traits name a rule " + toml_string(name) + " that is not registered",
          "register the rule, or correct the traits");
  if (document.good({rule}) && !traits.rules.empty() &&
      std::ranges::find(traits.rules, document.values.text(rule)) == traits.rules.end())
    document.report(rule, why(rule), "choose " + listed(traits.rules, "or"));
  const std::string mode = "participation.mode";
  if (document.good({mode}) && !traits.async && document.values.text(mode) == "async")
    document.report(mode, why(mode), "write mode = \"sync\"");
  const std::string update = "participation.update";
  if (document.good({mode, update}) && !traits.mixes && document.values.text(mode) == "async" &&
      document.values.text(update) == "model")
    document.report(update, why(update), "write update = \"change\"");
  const auto table = "algorithm." + kind + ".";
  if (options_are_good(document, table, document.algorithm->options))
    if (auto built = document.algorithm->build(options_of(document, table)); !built)
      document.report(built.error().place, built.error().reason, built.error().fix);
  if (document.algorithm->check) document.algorithm->check(document);
}

/// Keys that change updates on their way to the server, which algorithms with exact state do not allow.
void check_exact(draft& document) {
  if (!document.algorithm->traits.exact_state) return;
  const auto& kind = document.algorithm->kind;
  const auto refuse = [&](const std::string& key, const std::string& reason, const std::string& fix) {
    document.report(
        key, reason + ", and the server values of " + kind + " must stay the exact sum of what clients keep", fix);
  };
  const std::string rule = "algorithm.aggregation.rule";
  const bool any_rule = document.algorithm->traits.rules.empty();  // else check_traits() has refused it
  if (any_rule && document.good({rule}) && document.rule != nullptr && document.rule->traits.robust)
    refuse(rule, "is " + quoted(document, rule) + ", which leaves out or changes updates", "write \"uniform-mean\"");
  for (const std::string key : {"privacy.clip", "privacy.noise", "algorithm.aggregation.noise"})
    if (document.exceeds(key)) refuse(key, "changes what clients computed", "remove it");
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (document.is(bound, "clip"))
    refuse(bound, "is \"clip\", which changes what clients computed", "write \"adaptive\"");
  const std::string key = "network.compression";
  if (document.good({key}) && document.values.text(key) != "none" && document.values.text(key) != "zstd")
    refuse(key, "rounds what clients computed", "write \"none\" or \"zstd\"");
  const std::string weighting = "participation.weighting";
  if (document.good({"participation.mode", weighting}) && document.values.text("participation.mode") == "async" &&
      document.values.text(weighting) != "constant")
    refuse(weighting, "is " + quoted(document, weighting) + ", which weighs updates by their staleness",
           "write weighting = \"constant\"");
  const std::string commit = "private.commit";
  if (document.good({commit}) && document.values.text(commit) != "after-ack")
    refuse(commit, "is " + quoted(document, commit) + ", which keeps the values of lost updates too",
           "write commit = \"after-ack\"");
}

/// Keys about client updates, which do not apply to algorithms without updates.
void check_sent(draft& document) {
  if (document.algorithm->traits.sends) return;
  for (const char* key : {"algorithm.aggregation.noise", "privacy.clip", "privacy.noise"})
    if (document.exceeds(key)) report_unsent(document, key, "there are no clients' updates");
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (document.is(bound, "clip")) report_unsent(document, bound, "there are no clients' updates");
  if (document.good({"network.compression"}) && document.values.text("network.compression") != "none")
    report_unsent(document, "network.compression", "nothing is sent");
}

}  // namespace

void settle_algorithm(draft& document) {
  if (document.algorithm == nullptr || !document.good({"algorithm.kind"})) return;
  for (const auto* entry : {document.named, document.algorithm}) {
    for (const auto& [key, value, why] : entry->fixed) {
      const auto& by_alias = document.named->fixed;
      if (entry != document.named && std::ranges::find(by_alias, key, &federated::fixed_value::key) != by_alias.end())
        continue;  // the alias determines the value
      const bool differs = document.is_set(key) && document.good({key}) && document.values.text(key) != value;
      if (differs && why.empty())
        document.report(
            key, "contradicts kind = " + toml_string(entry->kind),
            entry->alias_of.empty() ? "remove it" : "remove it, or write kind = " + toml_string(entry->alias_of));
      else if (differs)
        document.notes.push_back(key + " has no effect: " + why);
      document.values.set(key, value);
    }
    if (document.named == document.algorithm) break;
  }
  document.values.set("algorithm.kind", document.algorithm->kind);
}

void check_algorithm(draft& document) {
  if (document.algorithm != nullptr) {
    check_traits(document);
    check_sent(document);
    check_exact(document);
  }
  if (document.rule == nullptr) return;
  if (document.rule->traits.holds_updates)
    federated::check_single_updates(document,
                                    "and the rule " + document.rule->kind + " needs the updates of single clients");
  if (document.rule->check) document.rule->check(document);
}

void check_own_loop(draft& document, const models::model& probe) {
  const auto* own = probe.own_loop();
  if (own == nullptr) return;
  using federated::own_loop_use;
  const auto use = document.algorithm->traits.own_loop;
  const auto& word = algorithm_word(document);
  struct {
    std::string word;  ///< as a subject
    std::string why;
    std::string fix;
  } loop{"fit() of the class", "the class trains by a fit() of its own", "give fit() another name"};
  if (document.is("python.loop", "trainer"))
    loop = {"python.loop", "python.loop is \"trainer\"", "remove python.loop"};
  else if (document.values.has("python.devices") && !document.values.list("python.devices").empty())
    loop = {"the loop of trainers with python.devices", "trainers with python.devices take the steps",
            "remove python.devices"};
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    document.report("algorithm.kind", "is " + toml_string(word) + why, fix);
  };
  const std::string by_gradients = ", which computes by gradients alone, and ";
  if (use == own_loop_use::refused)
    refuse(by_gradients + loop.why, "choose fedavg or another algorithm with local training, or " + loop.fix);
  else if (use == own_loop_use::unused && !probe.has_gradient())
    refuse(by_gradients + "the class has no gradient()", "define gradient(), or choose another algorithm");
  else if (use == own_loop_use::unused)
    document.notes.push_back(loop.word + " has no effect: " + word + " takes steps of its own, by gradient()");
  else if (use == own_loop_use::plain && !own->takes_plain_steps())
    refuse(", whose corrections hold for plain gradient steps, and the class does not say that its fit() takes such",
           "set plain = True in the class if each step is weights -= rate * gradient, or choose another algorithm");
}

}  // namespace furlong::scenarios
