// FedSGD (McMahan et al. 2017, section 2): one step on all of a client's examples, so that the update is its scaled
// gradient, and the server's step one of gradient descent.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class fedsgd final : public algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const run_settings&, std::uint64_t count) const override { return count; }
  [[nodiscard]] std::uint64_t most_weight(const run_settings&, std::uint64_t count) const override { return count; }
  void train(local_task& task) const override {
    auto loop = task.client_loop();
    loop.epochs = loop.max_steps = 1;
    loop.batch_size = 0;  // all
    loop.shuffle = false;
    task.count(task.sgd(task.parts().all_tensors, loop));
  }
};

void check(scenario_view& of) {
  const std::string why = "fedsgd takes one step on all examples";
  const auto asks = [&](const std::string& key) { return of.is_good(key) && of.given().integer(key) > 1; };
  if (const std::string epochs = "algorithm.client.epochs"; asks(epochs))
    of.report(epochs, "asks for several local passes, and " + why, "set it to 1, or choose fedavg");
  if (const std::string steps = "algorithm.client.max_steps"; asks(steps))
    of.report(steps, "allows several local steps, and " + why, "remove it, or choose fedavg");
  // The first step starts with zero momentum, at the centre of the proximal term.
  for (const std::string name : {"shuffle", "momentum", "proximal"})
    if (of.is_changed("algorithm.client." + name)) of.note("algorithm.client." + name + " has no effect: " + why);
  if (const std::string size = "algorithm.client.batch_size"; of.is_changed(size))
    of.note(size + " has no effect on training: " + why);
}

}  // namespace

algorithm_entry fedsgd_entry() {
  return {.kind = "fedsgd",
          .doc = "One step on all of a client's examples; the update is its gradient (McMahan et al. 2017).",
          .traits = {.own_loop = own_loop_use::refused},
          .check = check,
          .build = build_as<fedsgd>};
}

}  // namespace furlong::federated
