// FedAlt. Pillutla, Malik, Mohamed, Rabbat, Sanjabi, Xiao: Federated learning with partial model personalization, ICML
// 2022, algorithm 3.
//
//   client k, from the shared tensors u and its own v_k:
//     v_k <- SGD on v_k with u frozen, private_epochs passes at private_lr
//     u_k <- SGD on u with the new v_k frozen, as [algorithm] client says
//   client k keeps v_k and sends u_k - u; server: as FedAvg
//
// Its algorithm 2, FedSim, takes both steps at once: furl with private_lr.
#include <optional>

#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class fedalt final : public algorithm {
 public:
  explicit fedalt(const option_values& options)
      : private_epochs_(static_cast<std::uint32_t>(options.integer("private_epochs"))) {
    if (options.has("private_lr")) private_lr_ = static_cast<float>(options.number("private_lr"));
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    auto loop = client_loop(settings);
    const auto shared = examples_in(count, loop);
    loop.epochs = private_epochs_;
    return examples_in(count, loop) + shared;
  }
  void train(local_task& task) const override {
    auto loop = task.client_loop();
    loop.epochs = private_epochs_;
    if (private_lr_) loop.step.rate = task.rate_of_round(*private_lr_);
    task.count_unweighted(task.sgd(task.parts().private_tensors, loop));
    task.count(task.sgd(task.parts().shared_tensors, task.client_loop()));
  }

 private:
  std::uint32_t private_epochs_;
  std::optional<float> private_lr_;  ///< none: that of the shared tensors
};

}  // namespace

algorithm_entry fedalt_entry() {
  return {.kind = "fedalt",
          .doc =
              "The private tensors are trained first, then with these frozen the shared ones, as [algorithm.client] "
              "says; client.max_steps limits each of the two. Clients keep their private tensors (Pillutla et al. "
              "2022).",
          .options = {{.name = "private_epochs",
                       .type = option_type::integer,
                       .fallback = std::int64_t{1},
                       .doc = "Passes over the client's examples that train the private tensors.",
                       .at_least = 0,
                       .at_most = 1000},
                      {.name = "private_lr",
                       .type = option_type::number,
                       .doc = "Learning rate of the private tensors.",
                       .at_least = 0,
                       .above = true,
                       .same_as = "algorithm.client.lr"}},
          .traits = {.private_tensors = private_use::required, .keeps_state = true},
          .build = build_with_options<fedalt>};
}

}  // namespace furlong::federated
