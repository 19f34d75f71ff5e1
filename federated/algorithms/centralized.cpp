// Centralized training, the baseline of the papers: one participant with the examples of all training clients, and a
// round is an epoch of SGD over them. Nothing is sent.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class centralized final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override { task.count(task.sgd(task.parts().all_tensors, task.client_loop())); }
};

}  // namespace

algorithm_entry centralized_entry() {
  return {.kind = "centralized",
          .doc = "SGD on the examples of all training clients together: what federated training is compared with.",
          .traits = {.sends = false, .own_loop = own_loop_use::refused},
          .fixed = {{"algorithm.aggregation.rule", "uniform-mean", "there is one update to aggregate"}},
          .build = build_as<centralized>};
}

}  // namespace furlong::federated
