// FedAvg. McMahan, Moore, Ramage, Hampson, Aguera y Arcas: Communication-efficient learning of deep networks from
// decentralized data, AISTATS 2017, algorithm 1.
//
//   client k, from the model w:  for each local epoch, for each batch b:  w_k <- w_k - eta grad l(w_k; b)
//   server:                      w <- w + sum_k (n_k / n) (w_k - w)
//
// All tensors are shared. The server's side is the aggregation rule (mean) and the server optimizer (sgd, learning rate
// 1). FedAtt (Ji et al. 2019) is the same client with another rule.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class fedavg final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override { task.count(task.sgd(task.parts().all_tensors, task.client_loop())); }
};

}  // namespace

algorithm_entry fedavg_entry() {
  return {.kind = "fedavg",
          .doc =
              "Local SGD on all tensors; the server adds the weighted mean of the clients' updates (McMahan et al. "
              "2017).",
          .build = build_as<fedavg>};
}

algorithm_entry fedatt_entry() {
  return {.kind = "fedatt",
          .doc =
              "`fedavg` with the aggregation rule `fedatt`: updates weigh by their distance from the model (Ji et al. "
              "2019).",
          .fixed = {{"algorithm.aggregation.rule", "fedatt"}},
          .alias_of = "fedavg"};
}

}  // namespace furlong::federated
