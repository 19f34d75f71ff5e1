// Notes about keys without effect, and about figures with misleading names.
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

void note_aggregation(draft& of) {
  const std::string rule = "algorithm.aggregation.rule";
  if (of.good({rule}) && of.rule != nullptr && !of.rule->traits.weighs_examples)
    note_unused(of, "algorithm.aggregation", {"max_weight"}, "aggregation.rule is " + quoted(of, rule));
}

void note_reconstruction(draft& of) {
  const std::string table = "algorithm.reconstruction";
  if (reconstructs(of)) return;
  for (const char* key :
       {"solver", "lr", "epochs", "max_steps", "batch_size", "ridge", "ridge_per_example", "split", "joint"})
    if (of.is_changed(table + "." + key))
      return of.notes.push_back(table +
                                " has no effect on the run: no tensor is rebuilt, in training or in evaluation");
}

/// The published code's batches (models/gru_lm.cpp): their perplexity must not be mistaken for that of a language
/// model.
void note_protocol(draft& of) {
  if (!of.is("model.protocol", "fedatt-2018")) return;
  of.notes.push_back(
      "model.protocol = \"fedatt-2018\": what is called perplexity is not that of a language model; compare it with "
      "the tables of FedAtt's paper only");
  const std::string whole = "model.score_batch";
  const std::string scored = "evaluation.batch_size";
  if (!of.good({whole, scored})) return;
  const auto size = of.values.integer(scored);
  if (size % of.values.integer(whole) != 0)
    of.notes.push_back(whole + " is " + std::to_string(of.values.integer(whole)) + ", and " + scored + " has " +
                       std::to_string(size) +
                       " sentences scored at a time: under fedatt-2018 the figures depend on that; set " + scored +
                       " to a multiple of " + whole);
}

}  // namespace

void note_unused(draft& of, std::string_view table, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* name : keys)
    if (const auto key = std::string(table) + "." + name; of.is_changed(key))
      of.notes.push_back(key + " has no effect: " + why);
}

bool reconstructs(const draft& of) {
  if (of.algorithm == nullptr || !of.good({"evaluation.reconstruct", "private.cold_start"})) return true;
  const auto& traits = of.algorithm->traits;
  if (traits.reconstructs) return true;
  if (keeps_private(of)) return of.values.text("private.cold_start") == "reconstruct";
  return !of.values.list("evaluation.reconstruct").empty();
}

void check_unused(draft& of) {
  note_idle_keys(of);
  note_aggregation(of);
  note_protocol(of);
  note_reconstruction(of);
}

}  // namespace furlong::scenarios
