// SCAFFOLD. Karimireddy, Kale, Mohri, Reddi, Stich, Suresh: SCAFFOLD: Stochastic controlled averaging for federated
// learning, ICML 2020, algorithm 1 with option II.
//
//   client i, from the model x and the control variate c, with its own c_i (zero at first):
//     y <- x;  K steps  y <- y - eta (grad f_i(y) - c_i + c)
//     c_i' <- c_i - c + (x - y) / (K eta)
//   client i keeps c_i' and sends y - x and c_i' - c_i
//   server: x <- x + lr mean (y - x);  c <- c + (1/N) sum (c_i' - c_i), N all training clients
//
// So c is the mean of all c_i: a client keeps c_i' only if the server aggregated its change. K counts the steps really
// taken, and K eta is the sum of their rates. Every row of a table moves by -K eta c, so uploads are dense, of twice
// the bytes of FedAvg. Private tensors, which the paper does not have, are trained jointly and kept as under FURL,
// without corrections. The server optimizer takes the place of the global step size.
#include <array>

#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

class scaffold final : public algorithm {
  enum : std::size_t { control, own_control };  // groups

 public:
  [[nodiscard]] std::vector<tensor_group> tensors(const models::model& /*model*/,
                                                  const models::partition& parts) const override {
    return {{.name = "c", .where = place::shared, .copies_of = parts.shared_tensors, .rule = sum_rule::sum},
            {.name = "own", .where = place::kept, .copies_of = parts.shared_tensors}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& tensors = task.parts().shared_tensors;
    const auto c = task.group(control);
    const auto own = task.group(own_control);
    const std::array<models::gradient_term, 2> correction{{{-1.0F, own, tensors}, {1.0F, c, tensors}}};
    const auto phase = task.sgd(task.parts().all_tensors, task.client_loop(), correction);
    task.count(phase);
    const auto change = task.reported(control);
    const float per_step = 1.0F / static_cast<float>(phase.rates);
    add(change, per_step, task.received(), tensors);
    add(change, -per_step, task.weights(), tensors);
    add(change, -1.0F, c, tensors);
    add(own, 1.0F, change, tensors);
  }

  void step(server_view& server, const aggregate& of) const override {
    server.optimize(of.change);
    const auto share = 1.0F / static_cast<float>(server.training_clients());
    for (std::size_t i = 0; i < server.e.groups[control].count(); ++i) {
      const auto sum = server.reported(of, control, i);
      models::kernels().descend(server.tensor(control, i).data(), sum.data(), sum.size(), -share);
    }
  }
};

}  // namespace

algorithm_entry scaffold_entry() {
  return {.kind = "scaffold",
          .doc =
              "Local SGD whose steps are corrected by how a client's gradient differs from the others' (Karimireddy et "
              "al. 2020). Each client keeps a control variate; private tensors are kept too.",
          .traits = {.private_tensors = private_use::allowed,
                     .keeps_state = true,
                     .exact_state = true,
                     .mixes = false,
                     .needs_all_rows = true,
                     .own_loop = own_loop_use::plain,
                     .erase_note =
                         "the control variate c of the server still has the erased client's share c_i / N, for the "
                         "rest of the run; a client that trains again starts from c_i = 0",
                     .rules = {"uniform-mean"},
                     .defaults = {{"private.commit", std::string("after-ack")},
                                  {"algorithm.aggregation.rule", std::string("uniform-mean")}}},
          .check = [](scenario_view& of) { check_plain_steps(of, "scaffold"); },
          .build = build_as<scaffold>};
}

}  // namespace furlong::federated
