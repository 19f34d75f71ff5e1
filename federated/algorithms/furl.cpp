// FURL. Bui, Malik, Goetz, Liu, Moon, Kumar, Shin: Federated user representation learning, 2019, sections 3.3 and 3.5.
//
// The tensors of model.private are local to a user and never leave the client; all others are federated.
//
//   client k, from the model w and its own p_k:  SGD on w and p_k jointly, for all local epochs
//   client k keeps p_k as trained (eq. 7 with z_k = 1); only w_k - w is sent
//   server: as FedAvg, on the federated tensors (eq. 6)
//
// A client's first task starts from the initial values or, with private.cold_start = "reconstruct", from values that
// are first reconstructed from its examples with the federated tensors frozen.
#include "federated/algorithm.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/settings.hpp"

namespace furlong::federated {

namespace {

class furl final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override {
    task.start_cold();
    task.count(task.sgd(task.parts().all_tensors, task.client_loop()));
  }
};

}  // namespace

algorithm_entry furl_entry() {
  return {.kind = "furl",
          .doc =
              "Local SGD on shared and private tensors jointly; each client keeps its private ones from round to "
              "round, and sends the change of the shared ones (Bui et al. 2019).",
          .traits = {.private_tensors = private_use::required, .keeps_state = true},
          .build = build_as<furl>};
}

}  // namespace furlong::federated
