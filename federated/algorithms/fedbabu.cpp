// FedBABU. Oh, Kim, Yun: FedBABU: Toward enhanced representation for federated image classification, ICLR 2022,
// algorithm 1.
//
// The private tensors v (the head) have the same initial values on all clients, and training never changes them.
//
//   client k, from the shared tensors u (the body):  SGD on u with v frozen; u_k - u is sent
//   server: as FedAvg
//   before the model predicts for a client, the tensors of evaluation.reconstruct (default: v; ["*"]: u and v) are
//   fine-tuned on its own examples, as [algorithm] reconstruction says: from v and u as they are, 5 epochs in the paper
//
// Nothing is kept. With evaluation.reconstruct = [] the initial v predicts.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class fedbabu final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override { task.count(task.sgd(task.parts().shared_tensors, task.client_loop())); }

  [[nodiscard]] bool personalizes_from_examples(const experiment& e, const client_kind&) const override {
    return !reconstructed_tensors(e).empty();
  }
  personal_source personalize(personal_task& task, const client_kind&) const override {
    const auto phase = task.reconstruct(reconstructed_tensors(task.of()));
    return phase.examples > 0 ? personal_source::tuned : personal_source::initial;
  }
};

}  // namespace

algorithm_entry fedbabu_entry() {
  return {.kind = "fedbabu",
          .doc =
              "Local SGD on the shared tensors; the private ones (the head) keep initial values that all clients have "
              "in common. Before a client is scored or served, the tensors of evaluation.reconstruct are fine-tuned "
              "on its examples by [algorithm.reconstruction], with 5 epochs by default (Oh et al. 2022).",
          .traits = {.private_tensors = private_use::required,
                     .start = private_start::common,
                     .defaults = {{"algorithm.reconstruction.epochs", std::int64_t{5}}}},
          .build = build_as<fedbabu>};
}

}  // namespace furlong::federated
