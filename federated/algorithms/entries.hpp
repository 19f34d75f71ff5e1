// The built-in algorithms: one function and one line of the table each.
#pragma once

#include <algorithm>
#include <string>

#include "base/registry.hpp"
#include "federated/experiment/algorithm.hpp"
#include "models/model.hpp"

namespace furlong::federated {

[[nodiscard]] algorithm_entry fedavg_entry();
[[nodiscard]] algorithm_entry fedsgd_entry();
[[nodiscard]] algorithm_entry fedatt_entry();
[[nodiscard]] algorithm_entry furl_entry();
[[nodiscard]] algorithm_entry fedper_entry();
[[nodiscard]] algorithm_entry fedrep_entry();
[[nodiscard]] algorithm_entry fedalt_entry();
[[nodiscard]] algorithm_entry fedbabu_entry();
[[nodiscard]] algorithm_entry fedrecon_entry();
[[nodiscard]] algorithm_entry als_entry();
[[nodiscard]] algorithm_entry ials_entry();
[[nodiscard]] algorithm_entry ials_differences_entry();
[[nodiscard]] algorithm_entry pfedrec_entry();
[[nodiscard]] algorithm_entry fedrap_entry();
[[nodiscard]] algorithm_entry popularity_entry();
[[nodiscard]] algorithm_entry ditto_entry();
[[nodiscard]] algorithm_entry pfedme_entry();
[[nodiscard]] algorithm_entry apfl_entry();
[[nodiscard]] algorithm_entry scaffold_entry();
[[nodiscard]] algorithm_entry feddyn_entry();
[[nodiscard]] algorithm_entry centralized_entry();
[[nodiscard]] algorithm_entry python_entry();

/// The build function of an algorithm without options.
template <class Algorithm>
[[nodiscard]] result<std::shared_ptr<const algorithm>> build_as(const option_values&) {
  return std::make_shared<const Algorithm>();
}
/// That of one constructed from its options.
template <class Algorithm>
[[nodiscard]] result<std::shared_ptr<const algorithm>> build_with_options(const option_values& options) {
  return std::make_shared<const Algorithm>(options);
}

/// algorithm.KIND.start, of an algorithm that keeps a personal copy of the model.
[[nodiscard]] inline option_spec start_option() {
  return choice_option("start", "received",
                       "First values of a client's personal copy: received, the model of its first task; initial, the "
                       "model before the first round.",
                       {"received", "initial"});
}
/// Whether it is the model before the first round.
[[nodiscard]] inline bool starts_initial(const option_values& of) { return of.text("start") == "initial"; }

/// The traits of an algorithm that steps on interactions and their negatives, and keeps private tensors whose first
/// values are the same on all clients.
[[nodiscard]] inline algorithm_traits implicit_traits() {
  return {.private_tensors = private_use::required,
          .start = private_start::common,
          .keeps_state = true,
          .implicit = true,
          .own_loop = own_loop_use::refused,
          .defaults = {{"algorithm.aggregation.rule", std::string("uniform-mean")}}};
}

/// algorithm.KIND.item_lr, of an algorithm that steps on the rows of items at a rate of their own.
[[nodiscard]] inline option_spec item_rate_option() {
  option_spec option;
  option.name = "item_lr";
  option.doc = "Learning rate of the items' rows; it follows algorithm.client.schedule.";
  option.at_least = 0;
  option.above = true;
  option.same_as = "algorithm.client.lr";
  return option;
}

/// True if the model is one of furlong's own and has no such option. What other models have is known once they are
/// built.
[[nodiscard]] inline bool is_built_in_without(const scenario_view& scenario, const std::string& option) {
  if (!scenario.is_good("model.kind") || scenario.given().has("model." + option)) return false;
  const auto* model = models::find_model(scenario.given().text("model.kind"));
  return model != nullptr && !is_registered(*model) &&
         std::ranges::find(model->options, option, &option_spec::name) == model->options.end();
}

/// Refuses keys of [algorithm.client] that change the step, for algorithms that take their own plain gradient steps.
inline void check_plain_steps(scenario_view& of, const std::string& kind) {
  for (const std::string name : {"momentum", "proximal", "optimizer", "weight_decay", "clip"})
    if (const auto key = "algorithm.client." + name; of.is_changed(key))
      of.report(key, "is set, and " + kind + " takes plain gradient steps", "remove it");
}

}  // namespace furlong::federated
