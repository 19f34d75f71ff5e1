// FedRecon. Singhal, Sidahmed, Garrett, Wu, Rush, Prakash: Federated reconstruction: partially local federated
// learning, NeurIPS 2021, algorithm 1.
//
// Private ("local") tensors are not kept: a client reconstructs them whenever it needs them.
//
//   client k, from the model g:
//     split its batches into a support set (even ones) and a query set (odd ones)
//     R: l_k <- initial values; SGD steps (or exact least squares) on l_k over the support set, g frozen
//     U: SGD on g over the query set, l_k frozen (with reconstruction.joint: moving too)
//   client k sends g_k - g, weighted by its query examples; the server does as FedAvg
//
// Dropout applies in U only. A client under evaluation reconstructs in the same way.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

class fedrecon final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    const auto update = client_loop(settings);
    if (!settings.reconstruction->split) return reconstruction_examples(count, settings) + examples_in(count, update);
    const auto query = query_examples(count, settings.client->batch_size);
    return reconstruction_examples(count - query, settings) + examples_in(query, update);
  }
  [[nodiscard]] std::uint64_t most_weight(const run_settings& settings, std::uint64_t count) const override {
    const bool split = settings.reconstruction->split;
    return examples_in(split ? query_examples(count, settings.client->batch_size) : count, client_loop(settings));
  }
  void train(local_task& task) const override {
    const auto& how = *task.settings().reconstruction;
    if (task.settings().client->shuffle) task.shuffle();
    task.split_support(how.split);
    task.count_unweighted(task.reconstruct(task.parts().own_tensors));
    task.count(task.sgd_on_query(how.joint ? task.parts().all_tensors : task.parts().shared_tensors));
  }
};

}  // namespace

algorithm_entry fedrecon_entry() {
  return {.kind = "fedrecon",
          .doc =
              "Private tensors are reconstructed from a client's support batches in every task, then the shared ones "
              "trained on its query batches; no client keeps anything (Singhal et al. 2021).",
          .traits = {.private_tensors = private_use::required,
                     .start = private_start::per_task,
                     .reconstructs = true,
                     .splits_support = true},
          .build = build_as<fedrecon>};
}

}  // namespace furlong::federated
