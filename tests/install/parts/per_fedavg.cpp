// Per-FedAvg. Fallah, Mokhtari, Ozdaglar: Personalized federated learning with theoretical guarantees: a model-agnostic
// meta-learning approach, NeurIPS 2020, algorithm 1.
//
//   client k, of each batch the first half D and the second D':
//     u = w - alpha grad f(w; D)
//     w <- w - beta (I - alpha H(w; D)) grad f(u; D')
//   server: the mean of the clients' models
//   predicts for a client: w - alpha grad f(w) over its examples, of the w that it received last, which it keeps
//
// hessian = false: without H (their FO); else H v is (grad f(w + delta v) - grad f(w - delta v)) / (2 delta) (HF).
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

class per_fedavg final : public algorithm {
 public:
  explicit per_fedavg(const furlong::option_values& options)
      : own_{.step = {.rate = static_cast<float>(options.number("alpha"))}}, hessian_(options.flag("hessian")) {}
  [[nodiscard]] std::vector<tensor_group> tensors(const furlong::models::model&,
                                                  const furlong::models::partition& parts) const override {
    return {{.name = "personal", .copies_of = parts.all_tensors, .first = first_value::received}};
  }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings)) + count;
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto loop = task.client_loop();
    const auto w = task.weights();
    assign(task.group(0), w, all);
    task.count_unweighted(task.sgd_at(task.group(0), all, own_, {}));
    const auto u = task.scratch(0);
    const auto slope = task.scratch(1);
    const auto other = task.scratch(2);
    const auto behind = task.scratch(3);
    const float alpha = own_.step.rate;
    task.count(task.each_batch(loop, [&](const furlong::models::examples_view& batch) {
      const auto half = batch.size() / 2;
      const auto before = batch.slice(0, half);
      double loss = half > 0 ? task.gradient(before, w, all, slope) : 0.0;
      assign(u, w, all);
      if (half > 0) add(u, -alpha, slope, all);
      loss += task.gradient(batch.slice(half, batch.size()), u, all, slope);
      if (hessian_ && half > 0) {
        constexpr float delta = 1e-3F;
        assign(u, w, all);
        add(u, delta, slope, all);
        static_cast<void>(task.gradient(before, u, all, other));
        add(u, -2 * delta, slope, all);
        static_cast<void>(task.gradient(before, u, all, behind));
        add(other, -1.0F, behind, all);
        add(slope, -alpha / (2 * delta), other, all);
      }
      add(w, -loop.step.rate, slope, all);
      return loss;
    }));
  }

  bool personalizes_from_examples(const experiment&, const client_kind& kind) const override { return !kind.has_state; }
  personal_source personalize(personal_task& task, const client_kind& kind) const override {
    const auto& all = task.parts().all_tensors;
    if (kind.has_state) return assign(task.weights(), task.group(0), all), personal_source::stored;
    static_cast<void>(task.sgd(all, own_));
    return task.has_examples() ? personal_source::tuned : personal_source::model;
  }

 private:
  local_loop own_;  ///< one step on a client's own examples
  bool hessian_;
};

}  // namespace

algorithm_entry per_fedavg_entry() {
  return {.kind = "per-fedavg",
          .doc = "A model from which one step on a client's own examples is best (Fallah et al. 2020).",
          .options = {number("alpha", 0.01, "Learning rate of the step on a client's own examples."),
                      furlong::flag_option("hessian", true, "False: the first-order variant.")},
          .traits = {.keeps_state = true, .own_loop = own_loop_use::unused},
          .build = build<per_fedavg>};
}

}  // namespace parts
