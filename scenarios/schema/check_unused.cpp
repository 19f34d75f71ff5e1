// Notes about keys without effect, and about figures with misleading names.
#include "base/registry.hpp"
#include "scenarios/schema/draft.hpp"

namespace furlong::scenarios {

namespace {

void note_aggregation(draft& document) {
  const std::string rule = "algorithm.aggregation.rule";
  if (document.good({rule}) && document.rule != nullptr && !document.rule->traits.weighs_examples)
    note_unused(document, "algorithm.aggregation", {"max_weight"}, "aggregation.rule is " + quoted(document, rule));
}

void note_reconstruction(draft& document) {
  const std::string table = "algorithm.reconstruction";
  if (reconstructs(document)) return;
  for (const char* key :
       {"solver", "lr", "epochs", "max_steps", "batch_size", "ridge", "ridge_per_example", "split", "joint"})
    if (document.is_changed(table + "." + key))
      return document.notes.push_back(table +
                                      " has no effect on the run: no tensor is rebuilt, in training or in evaluation");
}

/// The published code's batches (models/gru_lm.cpp): their perplexity must not be mistaken for that of a language
/// model.
void note_protocol(draft& document) {
  if (!document.is("model.protocol", "fedatt-2018")) return;
  document.notes.push_back(
      "model.protocol = \"fedatt-2018\": what is called perplexity is not that of a language model; compare it with "
      "the tables of FedAtt's paper only");
  const std::string whole = "model.score_batch";
  const std::string scored = "evaluation.batch_size";
  if (!document.good({whole, scored})) return;
  const auto size = document.values.integer(scored);
  if (size % document.values.integer(whole) != 0)
    document.notes.push_back(whole + " is " + std::to_string(document.values.integer(whole)) + ", and " + scored +
                             " has " + std::to_string(size) +
                             " sentences scored at a time: under fedatt-2018 the figures depend on that; set " +
                             scored + " to a multiple of " + whole);
}

}  // namespace

void note_unused(draft& document, std::string_view table, std::initializer_list<const char*> keys,
                 const std::string& why) {
  for (const char* name : keys)
    if (const auto key = std::string(table) + "." + name; document.is_changed(key))
      document.notes.push_back(key + " has no effect: " + why);
}

bool reconstructs(const draft& document) {
  if (document.algorithm == nullptr || !document.good({"evaluation.reconstruct", "private.cold_start"})) return true;
  if (is_registered(*document.algorithm)) return true;  // what its train() and personalize() do is unknown
  const auto& traits = document.algorithm->traits;
  if (traits.reconstructs) return true;
  if (keeps_private(document)) return document.values.text("private.cold_start") == "reconstruct";
  return !document.values.list("evaluation.reconstruct").empty();
}

void check_unused(draft& document) {
  note_idle_keys(document);
  note_aggregation(document);
  note_protocol(document);
  note_reconstruction(document);
}

}  // namespace furlong::scenarios
