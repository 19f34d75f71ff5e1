// FedAlt. Pillutla, Malik, Mohamed, Rabbat, Sanjabi, Xiao: Federated learning with partial model personalization, ICML
// 2022, algorithm 3 (with algorithm 2's local steps).
//
//   client k, from the shared parameters u and its own v_k:
//     v_k <- SGD on v_k with u frozen, private_epochs passes at private_lr
//     u_k <- SGD on u with v_k frozen, [algorithm] client
//   client k keeps v_k; the server averages u_k - u
#include "fedalt.hpp"

#include "federated/client/local_task.hpp"

namespace fedalt {

namespace {

using namespace furlong::federated;

class fedalt final : public algorithm {
 public:
  explicit fedalt(const furlong::option_values& options)
      : epochs_(static_cast<std::uint32_t>(options.integer("private_epochs"))),
        rate_(static_cast<float>(options.number("private_lr"))) {}

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, private_loop(client_loop(settings))) + examples_in(count, client_loop(settings));
  }
  void train(local_task& task) const override {
    task.count_unweighted(task.sgd(task.parts().private_tensors, private_loop(task.client_loop())));
    task.count(task.sgd(task.parts().shared_tensors, task.client_loop()));
  }

 private:
  [[nodiscard]] local_loop private_loop(local_loop loop) const {
    loop.epochs = epochs_;
    loop.step.rate = rate_;
    return loop;
  }

  std::uint32_t epochs_;
  float rate_;
};

}  // namespace

algorithm_entry entry() {
  return {.kind = "fedalt",
          .doc = "Private tensors first, then the shared ones, in turn (Pillutla et al. 2022).",
          .options = {{.name = "private_epochs",
                       .type = furlong::option_type::integer,
                       .fallback = std::int64_t{1},
                       .doc = "Passes over the client's examples that train the private tensors.",
                       .at_least = 0,
                       .at_most = 1000},
                      {.name = "private_lr",
                       .type = furlong::option_type::number,
                       .fallback = 0.1,
                       .doc = "Their learning rate.",
                       .at_least = 0,
                       .above = true}},
          .traits = {.private_tensors = private_use::required, .keeps_state = true},
          .build = [](const furlong::option_values& options) -> furlong::result<std::shared_ptr<const algorithm>> {
            return std::make_shared<const fedalt>(options);
          }};
}

}  // namespace fedalt
