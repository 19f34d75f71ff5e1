// FedRep. Collins, Hassani, Mokhtari, Shakkottai: Exploiting shared representations for personalized federated
// learning, ICML 2021, algorithm 1.
//
//   client k, from the shared tensors u (the representation) and its own v_k (the head):
//     v_k <- SGD on v_k with u frozen, head_epochs passes
//     u_k <- SGD on u with the new v_k frozen, client.epochs passes
//   client k keeps v_k and sends u_k - u; server: as FedAvg
//
// Both phases have the optimizer and the learning rate of [algorithm] client. The paper takes 10 epochs for the head
// and 1 for the representation, and weighs clients equally; here the aggregation rule decides.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class fedrep final : public algorithm {
 public:
  explicit fedrep(const option_values& options)
      : head_epochs_(static_cast<std::uint32_t>(options.integer("head_epochs"))) {}

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    const auto body = client_loop(settings);
    return examples_in(count, head_loop(body)) + examples_in(count, body);
  }
  void train(local_task& task) const override {
    const auto body = task.client_loop();
    task.count_unweighted(task.sgd(task.parts().private_tensors, head_loop(body)));
    task.count(task.sgd(task.parts().shared_tensors, body));
  }

 private:
  [[nodiscard]] local_loop head_loop(local_loop loop) const {
    loop.epochs = head_epochs_;
    return loop;
  }

  std::uint32_t head_epochs_;
};

}  // namespace

algorithm_entry fedrep_entry() {
  return {.kind = "fedrep",
          .doc =
              "The private tensors (the head) are trained first, then with these frozen the shared ones, for "
              "client.epochs passes; client.max_steps limits each of the two. Clients keep their private tensors "
              "(Collins et al. 2021).",
          .options = {{.name = "head_epochs",
                       .type = option_type::integer,
                       .fallback = std::int64_t{10},
                       .doc = "Passes over the client's examples that train the private tensors.",
                       .at_least = 1,
                       .at_most = 1000}},
          .traits = {.private_tensors = private_use::required, .keeps_state = true},
          .build = build_with_options<fedrep>};
}

}  // namespace furlong::federated
