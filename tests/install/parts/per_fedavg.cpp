// Per-FedAvg. Fallah, Mokhtari, Ozdaglar: Personalized federated learning with theoretical guarantees: a model-agnostic
// meta-learning approach, NeurIPS 2020, algorithm 1.
//
//   client k, of each batch the first half D and the second D':
//     u = w - alpha grad f(w; D)
//     w <- w - beta (I - alpha H(w; D)) grad f(u; D')
//   server: the mean of the clients' models
//   before the model predicts for a client: w - alpha grad f(w), once over its examples
//
// hessian = false leaves H out (their FO); else H v is (grad f(w + delta v) - grad f(w - delta v)) / (2 delta) (their
// HF).
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

class per_fedavg final : public algorithm {
 public:
  explicit per_fedavg(const furlong::option_values& options)
      : alpha_(static_cast<float>(options.number("alpha"))), hessian_(options.flag("hessian")) {}

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto loop = task.client_loop();
    const auto w = task.weights();
    const auto u = task.scratch(0);
    const auto slope = task.scratch(1);
    const auto other = task.scratch(2);
    const auto behind = task.scratch(3);
    const auto done = task.each_batch(loop, [&](const furlong::models::examples_view& batch) {
      const auto half = static_cast<std::uint32_t>(batch.size() / 2);
      const auto rest = static_cast<std::uint32_t>(batch.size());
      const auto before = batch.slice(0, half);
      double loss = half > 0 ? task.gradient(before, w, all, slope) : 0.0;
      assign(u, w, all);
      if (half > 0) add(u, -alpha_, slope, all);
      loss += task.gradient(batch.slice(half, rest), u, all, slope);
      if (hessian_ && half > 0) {
        constexpr float delta = 1e-3F;
        assign(u, w, all);
        add(u, delta, slope, all);
        static_cast<void>(task.gradient(before, u, all, other));
        add(u, -2 * delta, slope, all);
        static_cast<void>(task.gradient(before, u, all, behind));
        add(other, -1.0F, behind, all);
        add(slope, -alpha_ / (2 * delta), other, all);
      }
      add(w, -loop.step.rate, slope, all);
      return loss;
    });
    task.count(done);
  }

  [[nodiscard]] bool personalizes_from_examples(const experiment&, const client_kind&) const override { return true; }
  personal_source personalize(personal_task& task, const client_kind&) const override {
    static_cast<void>(task.sgd(task.parts().all_tensors, {.step = {.rate = alpha_}}));
    return task.has_examples() ? personal_source::tuned : personal_source::model;
  }

 private:
  float alpha_;
  bool hessian_;
};

}  // namespace

algorithm_entry per_fedavg_entry() {
  return {.kind = "per-fedavg",
          .doc = "A model from which one step on a client's own examples is best (Fallah et al. 2020).",
          .options = {number("alpha", 0.01, "Learning rate of the step on a client's own examples."),
                      {.name = "hessian",
                       .type = furlong::option_type::boolean,
                       .fallback = true,
                       .doc = "False: the first-order variant."}},
          .traits = {.own_loop = own_loop_use::unused},
          .build = build<per_fedavg>};
}

}  // namespace parts
