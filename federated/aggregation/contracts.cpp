#include "federated/aggregation/contracts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "base/registry.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/negatives.hpp"
#include "federated/experiment/population.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

/// Fails with what is wrong, and where `ask` throws with its words.
result<void> contract(const std::string& key, const std::string& kind, const std::function<std::string()>& ask) {
  std::string fault;
  try {
    fault = ask();
  } catch (const std::exception& thrown) {
    fault = std::string("failed: ") + thrown.what();
  }
  if (fault.empty()) return {};
  return fail(error::kind::usage, key, "is \"" + kind + "\", which " + fault, "correct it");
}

/// Examples of the client that has most of them; of clients that only nodes know: a hundred.
std::uint64_t examples_of_largest(const experiment& setup) {
  std::uint32_t most = 0;
  for (const auto client : setup.participants->training())
    most = std::max(most, setup.participants->count(client, part::train));
  return most > 0 ? most : 100;
}

std::string fault_of_plan(const experiment& setup) {
  constexpr std::uint64_t most_planned = std::uint64_t{1} << 50U;  // far beyond what any device can do
  const auto& algorithm = *setup.settings.algorithm->does;
  const auto examples = examples_of_largest(setup);
  const auto client_text = " of a client with " + std::to_string(examples) + " examples";
  const auto planned = algorithm.plan(setup.settings, examples);
  if (planned == 0)
    return "plans no work for a task" + client_text + ": plan() is the number of examples that it processes";
  if (planned > most_planned)
    return "plans to process " + std::to_string(planned) + " examples in a task" + client_text +
           ": plan() is too large";
  if (const auto again = algorithm.plan(setup.settings, examples); again != planned)
    return "plans to process " + std::to_string(planned) + " examples in a task" + client_text + ", and then " +
           std::to_string(again) + ": plan() must depend on its arguments alone";
  if (most_weight(setup, examples) == 0)
    return "allows no weight of an update" + client_text + ": most_weight() is the largest one";
  return {};
}

/// An update client_text norm every rule accepts, that of each tensor as that of all of them.
models::delta small_update(const experiment& setup) {
  const auto norm = 0.5 * std::min(1.0, setup.settings.aggregation->max_norm) /
                    std::sqrt(static_cast<double>(setup.parts.shared->count()));
  models::delta change{setup.parts.shared, {}, {}, {}};
  for (const auto& spec : setup.parts.shared->tensors()) {
    change.pieces.push_back({false, 0, 0, change.values.size()});
    const auto value = static_cast<float>(norm / std::sqrt(static_cast<double>(spec.size())));
    change.values.resize(change.values.size() + spec.size(), value);
  }
  return change;
}

std::string fault_of_change(const models::shared_parameters& change, const models::layout& shared) {
  if (change.shape() == nullptr || change.values().size() != shared.size())
    return "makes an aggregate of " + std::to_string(change.values().size()) + " values, and the model shares " +
           std::to_string(shared.size()) + ": report() sets the change of all of them";
  if (!std::ranges::all_of(change.values(), [](float value) { return std::isfinite(value); }))
    return "makes an aggregate that is not finite, of updates that are: correct its report()";
  return {};
}

std::string fault_of_size(std::size_t first, std::size_t later) {
  return "has " + std::to_string(first) + " words, and then " + std::to_string(later) +
         ": words() must depend on the settings and the shapes alone";
}

std::string fault_of_rule(const experiment& setup) {
  const auto& settings = *setup.settings.aggregation;
  const auto reference = first_reference(settings, setup.parts.shared);
  const auto seed = setup.settings.seed;
  const auto rule = make_rule(settings, setup.parts.shared, reference, seed);
  const auto other = rule ? make_rule(settings, setup.parts.shared, reference, seed) : nullptr;
  // As where only the number of words is needed.
  const auto bare = other ? make_rule(settings, setup.parts.shared, {}, seed) : nullptr;
  if (!rule || !other || !bare) return "is built as null";
  const auto words = rule->words();
  const bool holds = settings.rule.traits.holds_updates;
  if (words == 0 && !holds) return "has no words: words() is how many integers its sum has";
  if (const auto rebuilt = other->words(); rebuilt != words) return fault_of_size(words, rebuilt);
  std::vector<std::int64_t> sum(words, 0);
  std::vector<std::int64_t> again(words, 0);
  const auto update = small_update(setup);
  constexpr std::uint32_t updates = 3;
  aggregate made;
  for (std::uint32_t client = 0; client < updates; ++client) {
    const fold_context context{.id = {setup.run, 0, client, 0}, .weight = 1};
    if (rule->encode(update, context, sum)) return {};  // it wants others
    static_cast<void>(other->encode(update, context, again));
    if (holds) made.updates.push_back({.id = context.id, .weight = context.weight, .change = update});
    ++made.count;
    ++made.weight;
  }
  if (words > 0 && std::ranges::all_of(sum, [](std::int64_t word) { return word == 0; }))
    return "adds nothing to its sum: encode() adds the integers of the update";
  for (const auto* built : {rule.get(), bare.get()})
    if (const auto later = built->words(); later != words) return fault_of_size(words, later);
  if (sum != again)
    return "encodes the same updates in another way when it is built again: encode() must depend on its arguments and "
           "the draws of its build";
  rule->report(sum, made);
  if (std::ranges::any_of(sum, [](std::int64_t word) { return word != 0; }))
    return "leaves its sum as it is: report() clears it";
  return made.usable ? fault_of_change(made.change, *setup.parts.shared) : std::string();
}

}  // namespace

result<void> check_contracts(const experiment& setup) {
  const auto& algorithm = setup.settings.algorithm->kind;
  if (const auto* entry = find_algorithm(algorithm); entry != nullptr && is_registered(*entry))
    if (auto sound = contract("algorithm.kind", algorithm, [&] { return fault_of_plan(setup); }); !sound) return sound;
  const auto& rule = setup.settings.aggregation->rule.kind;
  if (const auto* entry = find_rule(rule); setup.parts.sends_model && entry != nullptr && is_registered(*entry))
    return contract("algorithm.aggregation.rule", rule, [&] { return fault_of_rule(setup); });
  return {};
}

void check_aggregate(const experiment& setup, const aggregate& made) {
  const auto& rule = setup.settings.aggregation->rule.kind;
  if (const auto* entry = find_rule(rule); !setup.parts.sends_model || entry == nullptr || !is_registered(*entry))
    return;
  if (const auto fault = fault_of_change(made.change, *setup.parts.shared); !fault.empty())
    throw models::broken_part(
        {error::kind::runtime, "algorithm.aggregation.rule", "is \"" + rule + "\", which " + fault, ""});
}

error failure_of_algorithm(const experiment& setup, const char* where, std::optional<std::uint32_t> client,
                           const std::exception& thrown) {
  const auto name_of_client = client ? " " + std::to_string(*client) : std::string();
  const auto& algorithm = setup.settings.algorithm->kind;
  const auto* entry = find_algorithm(algorithm);
  const bool is_own = entry != nullptr && !is_registered(*entry);  // then the model failed that it asked
  return {error::kind::runtime, is_own ? "model.kind" : "algorithm.kind",
          "is \"" + (is_own ? std::string(setup.model->kind()) : algorithm) + "\", which failed " + where +
              name_of_client + ": " + thrown.what(),
          ""};
}

error failure_of_rule(const std::string& kind, const char* where, const std::exception& thrown) {
  return {error::kind::runtime, "algorithm.aggregation.rule",
          "is \"" + kind + "\", which failed " + where + ": " + thrown.what(), ""};
}

}  // namespace furlong::federated
