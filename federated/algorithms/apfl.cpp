// APFL. Deng, Kamani, Mahdavi: Adaptive personalized federated learning, 2020, arXiv 2003.13461, algorithm 1.
//
//   client i, from the model w, its own p_i (at first w, or with start = "initial" the model before the first round)
//   and its a_i (`alpha` at first):
//     w_i <- w; for each batch b, with all gradients at the values before the step:
//       m <- a_i p_i + (1 - a_i) w_i
//       w_i <- w_i - eta grad l(w_i; b)
//       p_i <- p_i - eta a_i grad l(m; b)
//       a_i <- a_i - alpha_lr <p_i - w_i, grad l(m; b)>, clipped to [0, 1], where `adaptive`
//   client i keeps p_i and a_i, and sends w_i - w;  server: as FedAvg
//
// The mixture of p_i and the received w predicts for client i, and w for clients that never trained. The paper's code
// moves a_i once a round. Without `adaptive`, alpha = 0 is FedAvg, and alpha = 1 is FedAvg beside local training.
#include <algorithm>

#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

enum : std::size_t { personal, mixture };  // groups

class apfl final : public algorithm {
 public:
  explicit apfl(const option_values& of)
      : alpha_(static_cast<float>(of.number("alpha"))),
        adaptive_(of.flag("adaptive")),
        starts_initial_(starts_initial(of)) {
    if (of.has("alpha_lr")) alpha_lr_ = of.number("alpha_lr");
  }

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    auto copied = parts.all_tensors;
    copied.insert(copied.end(), parts.buffers.begin(), parts.buffers.end());
    return {{.name = "personal", .copies_of = std::move(copied), .first = first_value::received},
            {.name = "mixture", .specs = {{"alpha"}}, .first = first_value::constant, .constant = alpha_}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return 2 * examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto& buffers = task.parts().buffers;
    const auto w = task.weights();
    const auto p = task.group(personal);
    if (starts_initial_ && !task.has_state()) task.assign_initial(p, task.copied(personal));
    auto& a = *task.tensor(mixture).data;
    const auto m = task.scratch(0);
    const auto at_w = task.scratch(1);
    const auto at_m = task.scratch(2);
    const auto loop = task.client_loop();
    const float rate = loop.step.rate;
    const auto phase = task.each_batch(loop, [&](const models::examples_view& batch) {
      const double loss = task.gradient(batch, w, all, at_w);
      assign(w, at_w, buffers);
      assign(m, w, all);
      scale(m, 1.0F - a, all);
      add(m, a, p, all);
      assign(m, p, buffers);
      static_cast<void>(task.gradient(batch, m, all, at_m));
      assign(p, at_m, buffers);
      assign(m, p, all);
      add(m, -1.0F, w, all);
      const double slope = dot(m, at_m, all);
      add(w, -rate, at_w, all);
      add(p, -rate * a, at_m, all);
      if (adaptive_) a = static_cast<float>(std::clamp(a - alpha_lr_.value_or(rate) * slope, 0.0, 1.0));
      return loss;
    });
    task.count(phase);
    task.count_unweighted({.examples = phase.examples});
  }

  personal_source personalize(personal_task& task, const client_kind& who) const override {
    if (who.has_state) {
      const auto& all = task.parts().all_tensors;
      const float a = *task.tensor(mixture).data;
      scale(task.weights(), 1.0F - a, all);
      add(task.weights(), a, task.group(personal), all);
      assign(task.weights(), task.group(personal), task.parts().buffers);
    }
    const auto from = algorithm::personalize(task, who);
    return who.has_state && from == personal_source::model ? personal_source::stored : from;
  }

 private:
  float alpha_;
  bool adaptive_;
  bool starts_initial_;
  std::optional<double> alpha_lr_;  ///< none: that of w
};

}  // namespace

algorithm_entry apfl_entry() {
  return {.kind = "apfl",
          .doc =
              "FedAvg, and each client keeps personal values and the share with which they are mixed with the "
              "model's (Deng et al. 2020).",
          .options = {{.name = "alpha",
                       .fallback = 0.5,
                       .doc = "Share of the personal values in a client's mixture; with `adaptive`, its initial value.",
                       .at_least = 0.0,
                       .at_most = 1.0},
                      {.name = "adaptive",
                       .type = option_type::boolean,
                       .fallback = true,
                       .doc = "Every client learns its own share."},
                      {.name = "alpha_lr",
                       .doc = "Learning rate of the share.",
                       .at_least = 0.0,
                       .above = true,
                       .same_as = "algorithm.client.lr"},
                      start_option()},
          .traits = {.keeps_state = true, .own_loop = own_loop_use::unused},
          .check = [](scenario_view& of) { check_plain_steps(of, "apfl"); },
          .build = build_with_options<apfl>};
}

}  // namespace furlong::federated
