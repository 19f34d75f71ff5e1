// FedDyn. Acar, Zhao, Matas Navarro, Mattina, Whatmough, Saligrama: Federated learning based on dynamic regularization,
// ICLR 2021 (arXiv 2111.04263), algorithm 1.
//
//   client i, from the model x, with its own g_i (zero at first):
//     y <- x;  SGD on F_i(y) - <g_i, y> + (alpha / 2) |y - x|^2
//     g_i' <- g_i - alpha (y - x)
//   client i keeps g_i' and sends y - x
//   server: h <- h - alpha (1/N) sum over S of (y - x), N all training clients;  x <- mean over S of y, minus h / alpha
//
// So h is the mean of all g_i: a client keeps g_i' only if the server aggregated its change. The paper minimises over y
// exactly; [algorithm.client] states the steps. Private tensors, which the paper does not have, are trained jointly and
// kept as under FURL, without the two terms.
#include <array>

#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

class feddyn final : public algorithm {
  enum : std::size_t { own_gradient, mean_gradient };  // groups

 public:
  explicit feddyn(double alpha) : alpha_(static_cast<float>(alpha)) {}

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model& /*model*/,
                                                  const models::partition& parts) const override {
    return {{.name = "g", .where = place::kept, .copies_of = parts.shared_tensors},
            {.name = "h", .where = place::server, .copies_of = parts.shared_tensors}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& tensors = task.parts().shared_tensors;
    const auto own = task.group(own_gradient);
    const auto x = task.received();
    const auto y = task.weights();
    const std::array<models::gradient_term, 3> terms{
        {{-1.0F, own, tensors}, {alpha_, y, tensors}, {-alpha_, x, tensors}}};
    task.count(task.sgd(task.parts().all_tensors, task.client_loop(), terms));
    add(own, -alpha_, y, tensors);
    add(own, alpha_, x, tensors);
  }

  void step(server_view& server, const aggregate& of) const override {
    const auto& descend = models::kernels().descend;
    const auto share = static_cast<float>(of.count) / static_cast<float>(server.training_clients());
    auto way = of.change;
    const auto& group = server.e.groups[mean_gradient];
    for (std::size_t i = 0; i < group.count(); ++i) {
      const auto t = server.e.parts.slots[group.copies_of[i]].tensor;
      const auto h = server.tensor(mean_gradient, i);
      descend(h.data(), of.change.tensor(t).data(), h.size(), alpha_ * share);
      descend(way.tensor(t).data(), h.data(), h.size(), 1.0F / alpha_);
    }
    server.optimize(way);
  }

 private:
  float alpha_;
};

void check(scenario_view& of) {
  check_plain_steps(of, "feddyn");
  for (const std::string name : {"optimizer", "lr", "momentum"})
    if (const auto key = "algorithm.server." + name; of.is_changed(key))
      of.report(key, "is set, and FedDyn's server has no step size: the model is the mean minus h / alpha",
                "remove it");
}

}  // namespace

algorithm_entry feddyn_entry() {
  return {
      .kind = "feddyn",
      .doc =
          "Local SGD on a loss with a linear and a quadratic term, so that clients' optima agree with that of all "
          "(Acar et al. 2021). Each client keeps a gradient; private tensors are kept too.",
      .options =
          {{.name = "alpha", .fallback = 0.1, .doc = "Weight of the quadratic term.", .at_least = 0.0, .above = true}},
      .traits = {.private_tensors = private_use::allowed,
                 .keeps_state = true,
                 .exact_state = true,
                 .mixes = false,
                 .own_loop = own_loop_use::plain,
                 .erase_note = "the server's h still has the erased client's share g_i / N, for the rest of the run; a "
                               "client that trains again starts from g_i = 0",
                 .rules = {"uniform-mean"},
                 .defaults = {{"private.commit", std::string("after-ack")},
                              {"algorithm.aggregation.rule", std::string("uniform-mean")}}},
      .check = check,
      .build = [](const option_values& options) -> result<std::shared_ptr<const algorithm>> {
        return std::make_shared<const feddyn>(options.number("alpha"));
      }};
}

}  // namespace furlong::federated
