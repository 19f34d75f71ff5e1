// What is written and does nothing, and figures that are not what their name says.
#include "scenarios/draft.hpp"

namespace furlong::scenarios {

namespace {

void note_aggregation(draft& of) {
  const std::string rule = "algorithm.aggregation.rule";
  if (of.good({rule}) && of.rule != nullptr && !of.rule->traits.weighs_examples)
    note_unused(of, "algorithm.aggregation", {"max_weight"}, "aggregation.rule is " + quoted(of, rule));
  const std::string noise = "algorithm.aggregation.noise";
  if (!of.good({noise, noise + "_at"})) return;
  if (of.values.number(noise) == 0.0) note_unused(of, "algorithm.aggregation", {"noise_at"}, "noise is 0");
}

void note_client(draft& of) {
  const std::string optimizer = "algorithm.client.optimizer";
  if (of.good({optimizer}) && of.values.text(optimizer) == "sgd")
    note_unused(of, "algorithm.client", {"beta1", "beta2", "eps", "weight_decay"}, "client.optimizer is \"sgd\"");
}

void note_server(draft& of) {
  const std::string optimizer = "algorithm.server.optimizer";
  if (!of.good({optimizer})) return;
  const auto& kind = of.values.text(optimizer);
  const auto why = "server.optimizer is " + quoted(of, optimizer);
  if (kind == "sgd" || kind == "adagrad")
    note_unused(of, "algorithm.server", {"beta1", "beta2", "bias_correction"}, why);
  if (kind == "sgd") note_unused(of, "algorithm.server", {"eps", "initial_accumulator"}, why);
}

/// Whether anybody's tensors are reconstructed, in training or before scoring.
bool rebuilds(const draft& of) {
  const auto& traits = of.algorithm->traits;
  if (traits.keeps_state) return of.values.text("private.cold_start") == "reconstruct";
  return traits.rebuilds || !of.values.list("evaluation.reconstruct").empty();
}

void note_reconstruction(draft& of) {
  const std::string table = "algorithm.reconstruction";
  const std::string solver = table + ".solver";
  if (!of.good({solver, "evaluation.reconstruct", "private.cold_start"})) return;
  if (!rebuilds(of)) {
    const auto keys = {"solver", "lr",   "epochs", "max_steps", "batch_size", "ridge", "ridge_per_example",
                       "split",  "joint"};
    for (const char* key : keys)
      if (of.is_changed(table + "." + key))
        return of.notes.push_back(table +
                                  " has no effect on the run: no tensor is rebuilt, in training or in evaluation");
    return;
  }
  if (!of.algorithm->traits.rebuilds)
    note_unused(of, table, {"split", "joint"}, algorithm_word(of) + " does not reconstruct in every task");
  const auto why = "reconstruction.solver is " + quoted(of, solver);
  if (of.values.text(solver) == "least-squares") return note_unused(of, table, {"lr", "epochs", "max_steps"}, why);
  note_unused(of, table, {"ridge", "ridge_per_example"}, why);
}

/// The published code's batches (models/gru_lm.hpp): what they come to must not pass for perplexity.
void note_protocol(draft& of) {
  const std::string protocol = "model.protocol";
  if (!of.good({protocol}) || of.values.text(protocol) != "fedatt-2018") return;
  of.notes.push_back(
      "model.protocol = \"fedatt-2018\": what is called perplexity is not that of a language model; compare it with "
      "the tables of FedAtt's paper only");
  const std::string whole = "model.score_batch";
  const std::string scored = "evaluation.batch_size";
  const std::string trained = "algorithm.client.batch_size";
  if (!of.good({whole, scored, trained})) return;
  const auto& from = of.values.integer(scored) > 0 ? scored : trained;
  const auto size = of.values.integer(from);
  if (size % of.values.integer(whole) != 0)
    of.notes.push_back(whole + " is " + std::to_string(of.values.integer(whole)) + ", and " + from + " has " +
                       std::to_string(size) +
                       " sentences scored at a time: under fedatt-2018 the figures depend on that; set " + scored +
                       " to a multiple of " + whole);
}

void note_user_vector(draft& of) {
  const std::string width = "model.user_embedding";
  if (of.good({width}) && of.values.integer(width) == 0) note_unused(of, "model", {"user_init"}, "user_embedding is 0");
}

}  // namespace

void note_unused(draft& of, std::string_view table, std::initializer_list<const char*> keys, const std::string& why) {
  for (const char* name : keys)
    if (const auto key = std::string(table) + "." + name; of.is_changed(key))
      of.notes.push_back(key + " has no effect: " + why);
}

void check_unused(draft& of) {
  note_aggregation(of);
  note_client(of);
  note_server(of);
  note_protocol(of);
  note_user_vector(of);
  if (of.algorithm != nullptr) note_reconstruction(of);
}

}  // namespace furlong::scenarios
