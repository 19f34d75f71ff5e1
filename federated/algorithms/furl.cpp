// FURL. Bui, Malik, Goetz, Liu, Moon, Kumar, Shin: Federated user representation learning, 2019, sections 3.3 and 3.5.
//
// The tensors of model.private are local to a user and never leave the client; all others are federated.
//
//   client k, from the model w and its own p_k:  SGD on w and p_k jointly, for all local epochs
//   client k keeps p_k as trained (eq. 7 with z_k = 1); only w_k - w is sent
//   server: as FedAvg, on the federated tensors (eq. 6)
//
// FedPer (Arivazhagan, Aggarwal, Singh, Choudhary: Federated learning with personalization layers, 2019) is the same
// algorithm. With a step size of their own for the private tensors (private_lr) it is FedSim (Pillutla et al. 2022,
// algorithm 2).
#include <optional>

#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class furl final : public algorithm {
 public:
  explicit furl(const option_values& options) {
    if (options.has("private_lr")) private_lr_ = static_cast<float>(options.number("private_lr"));
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override {
    auto loop = task.client_loop();
    if (private_lr_) loop.step.private_rate = task.rate_of_round(*private_lr_);
    task.count(task.sgd(task.parts().all_tensors, loop));
  }

 private:
  std::optional<float> private_lr_;  ///< none: that of the shared tensors
};

}  // namespace

algorithm_entry furl_entry() {
  return {.kind = "furl",
          .doc =
              "Local SGD on shared and private tensors jointly; each client keeps its private ones from round to "
              "round, and sends the change of the shared ones (Bui et al. 2019).",
          .options = {{.name = "private_lr",
                       .type = option_type::number,
                       .doc = "Learning rate of the private tensors; another one than that of the shared tensors is "
                              "FedSim (Pillutla et al. 2022).",
                       .at_least = 0,
                       .above = true,
                       .same_as = "algorithm.client.lr"}},
          .traits = {.private_tensors = private_use::required, .keeps_state = true},
          .build = build_with_options<furl>};
}

algorithm_entry fedper_entry() {
  return {
      .kind = "fedper",
      .doc = "Another name of `furl`: the personalization layers of Arivazhagan et al. 2019 are its private tensors.",
      .alias_of = "furl"};
}

}  // namespace furlong::federated
