// Checks of a scenario's algorithm and aggregation rule.
#include <algorithm>

#include "federated/algorithm.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

option_values options_of(const draft& of, std::string_view prefix) {
  option_values options;
  for (const auto& [key, value] : of.values.all())
    if (key.starts_with(prefix)) options.set(key.substr(prefix.size()), value);
  return options;
}

option_values source_options(const draft& of) {
  option_values options;
  const auto& source = *of.source;
  const auto add = [&](const std::string& option) {
    if (const auto key = source_key(source, option); of.good({key}))
      options.set(option, of.values.all().find(key)->second);
  };
  const bool has_class = of.named != nullptr && of.named->kind == source.algorithm;
  for (const auto& option : source.options)
    if (has_class || option.name != "algorithm") add(option.name);
  for (const auto& [key, value] : of.values.all())
    if (is_open_key(of.source, key))
      add(key.substr(source.table.size() + 1));
    else if (has_class && is_open_key(of.named, key))
      add("algorithm." + std::string(leaf_of(key)));
  return options;
}

bool options_are_good(const draft& of, const std::string& prefix, const std::vector<option_spec>& options) {
  return std::ranges::all_of(options, [&](const auto& option) {
    const auto key = prefix + option.name;
    return of.good({key}) || (!of.is_set(key) && !option.fallback && !option.required && option.same_as.empty());
  });
}

bool has_private(const draft& of) {
  return of.algorithm != nullptr && of.algorithm->traits.private_tensors != federated::private_use::ignored;
}

std::vector<std::string> private_tensors(const draft& of) {
  return has_private(of) ? of.values.list("model.private") : std::vector<std::string>{};
}

bool keeps_private(const draft& of) {
  return of.algorithm != nullptr && of.algorithm->traits.keeps_state && !private_tensors(of).empty();
}

void report_unsent(draft& of, const std::string& key, const std::string& why) {
  of.report(key, "has no meaning under kind = " + toml_string(algorithm_word(of)) + ": " + why,
            "remove it, or choose another algorithm");
}

std::string rule_with(bool federated::rule_traits::*trait) {
  const auto& all = federated::registered_rules();
  const auto at = std::ranges::find_if(all, [&](const auto& entry) { return entry.traits.*trait; });
  return at == all.end() ? std::string() : at->kind;
}

namespace {

/// Checks the traits of the algorithm and its options.
void check_traits(draft& of) {
  const auto& kind = of.algorithm->kind;
  const auto& traits = of.algorithm->traits;
  const std::string rule = "algorithm.aggregation.rule";
  const auto why = [&](const std::string& key) {
    return "is " + quoted(of, key) + ", and " + kind + " does not work with it";
  };
  if (of.good({rule}) && !traits.rules.empty() &&
      std::ranges::find(traits.rules, of.values.text(rule)) == traits.rules.end())
    of.report(rule, why(rule), "choose " + listed(traits.rules, "or"));
  const std::string mode = "participation.mode";
  if (of.good({mode}) && !traits.async && of.values.text(mode) == "async")
    of.report(mode, why(mode), "write mode = \"sync\"");
  const std::string update = "participation.update";
  if (of.good({mode, update}) && !traits.mixes && of.values.text(mode) == "async" && of.values.text(update) == "model")
    of.report(update, why(update), "write update = \"change\"");
  const auto table = "algorithm." + kind + ".";
  if (options_are_good(of, table, of.algorithm->options))
    if (auto built = of.algorithm->build(options_of(of, table)); !built)
      of.report(built.error().place, built.error().reason, built.error().fix);
  if (of.algorithm->check) of.algorithm->check(of);
}

/// Keys that change updates on their way to the server, which algorithms with exact state do not allow.
void check_exact(draft& of) {
  if (!of.algorithm->traits.exact_state) return;
  const auto& kind = of.algorithm->kind;
  const auto refuse = [&](const std::string& key, const std::string& what, const std::string& fix) {
    of.report(key, what + ", and the server values of " + kind + " must stay the exact sum of what clients keep", fix);
  };
  for (const std::string key : {"privacy.clip", "privacy.noise", "algorithm.aggregation.noise"})
    if (of.exceeds(key)) refuse(key, "changes what clients computed", "remove it");
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (of.is(bound, "clip")) refuse(bound, "is \"clip\", which changes what clients computed", "write \"adaptive\"");
  const std::string how = "network.compression";
  if (of.good({how}) && of.values.text(how) != "none" && of.values.text(how) != "zstd")
    refuse(how, "rounds what clients computed", "write \"none\" or \"zstd\"");
  const std::string weighting = "participation.weighting";
  if (of.good({"participation.mode", weighting}) && of.values.text("participation.mode") == "async" &&
      of.values.text(weighting) != "constant")
    refuse(weighting, "is " + quoted(of, weighting) + ", which weighs updates by their staleness",
           "write weighting = \"constant\"");
  const std::string commit = "private.commit";
  if (of.good({commit}) && of.values.text(commit) != "after-ack")
    refuse(commit, "is " + quoted(of, commit) + ", which keeps the values of lost updates too",
           "write commit = \"after-ack\"");
}

/// Keys about client updates, which do not apply to algorithms without updates.
void check_sent(draft& of) {
  if (of.algorithm->traits.sends) return;
  for (const char* key : {"algorithm.aggregation.noise", "privacy.clip", "privacy.noise"})
    if (of.exceeds(key)) report_unsent(of, key, "there are no clients' updates");
  const std::string bound = "algorithm.aggregation.norm_bound";
  if (of.is(bound, "clip")) report_unsent(of, bound, "there are no clients' updates");
  if (of.good({"network.compression"}) && of.values.text("network.compression") != "none")
    report_unsent(of, "network.compression", "nothing is sent");
}

}  // namespace

void settle_algorithm(draft& of) {
  if (of.algorithm == nullptr) return;
  for (const auto* entry : {of.named, of.algorithm}) {
    for (const auto& [key, value, why] : entry->fixed) {
      const auto& by_alias = of.named->fixed;
      if (entry != of.named && std::ranges::find(by_alias, key, &federated::fixed_value::key) != by_alias.end())
        continue;  // the alias determines the value
      const bool differs = of.is_set(key) && of.good({key}) && of.values.text(key) != value;
      if (differs && why.empty())
        of.report(key, "contradicts kind = " + toml_string(entry->kind),
                  entry->alias_of.empty() ? "remove it" : "remove it, or write kind = " + toml_string(entry->alias_of));
      else if (differs)
        of.notes.push_back(key + " has no effect: " + why);
      of.values.set(key, value);
    }
    if (of.named == of.algorithm) break;
  }
  of.values.set("algorithm.kind", of.algorithm->kind);
}

void check_algorithm(draft& of) {
  if (of.algorithm != nullptr) {
    check_traits(of);
    check_sent(of);
    check_exact(of);
  }
  if (of.rule != nullptr && of.rule->check) of.rule->check(of);
}

void check_own_loop(draft& of, const models::model& probe) {
  const auto* own = probe.own_loop();
  if (own == nullptr) return;
  using federated::own_loop_use;
  const auto use = of.algorithm->traits.own_loop;
  const auto& word = algorithm_word(of);
  const bool chosen = of.is("python.loop", "trainer");
  const auto refuse = [&](const std::string& why, const std::string& fix) {
    of.report("algorithm.kind", "is " + toml_string(word) + why, fix);
  };
  const std::string by_gradients = ", which computes by gradients alone, and ";
  if (use == own_loop_use::refused)
    refuse(by_gradients + (chosen ? "python.loop is \"trainer\"" : "the class trains by a fit() of its own"),
           "choose fedavg or another algorithm with local training, or " +
               std::string(chosen ? "remove python.loop" : "give fit() another name"));
  else if (use == own_loop_use::unused && !probe.has_gradient())
    refuse(by_gradients + "the class has no gradient()", "define gradient(), or choose another algorithm");
  else if (use == own_loop_use::unused)
    of.notes.push_back((chosen ? "python.loop" : "fit() of the class") + std::string(" has no effect: ") + word +
                       " takes steps of its own, by gradient()");
  else if (use == own_loop_use::plain && !own->takes_plain_steps())
    refuse(", whose corrections hold for plain gradient steps, and the class does not say that its fit() takes such",
           "set plain = True in the class if each step is weights -= rate * gradient, or choose another algorithm");
}

}  // namespace furlong::scenarios
