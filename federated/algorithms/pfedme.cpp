// pFedMe. Dinh, Tran, Nguyen: Personalized federated learning with Moreau envelopes, NeurIPS 2020, algorithm 1.
//
//   client i, from the model w and its own theta_i (w at first):
//     w_i <- w; for each batch b:
//       theta_i <- about argmin of h = l(theta; b) + lambda/2 |theta - w_i|^2, by `inner_steps` gradient steps from the
//                  last theta_i, each of lr / (1 + lr lambda)
//       w_i <- w_i - outer_lr lambda (w_i - theta_i)
//   client i keeps theta_i and sends w_i - w
//   server: w <- (1 - beta) w + beta mean of w_i: the server optimizer sgd, whose learning rate is beta
//
// The paper leaves the inner solver open. This step is 1/(1/lr + lambda): it converges on h for every lambda wherever
// steps of lr do on l, as h is more curved than l by lambda.
//
// Departures: in the paper all clients train in every round and a sample S reports; here only S trains, so that the
// theta of another client is of the last round that it was in. theta_i predicts for client i, and w for clients that
// never trained.
//
// With `reset` theta_i starts every task as w, as in the authors' code (github.com/CharlieDinh/pFedMe, userbase.py,
// set_parameters). That has further departures of its own: steps of a second learning rate, a decay of theta by 0.001,
// one batch in a local round, and means weighted by examples.
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

class pfedme final : public algorithm {
 public:
  explicit pfedme(const option_values& of)
      : lambda_(static_cast<float>(of.number("lambda"))),
        inner_steps_(static_cast<std::uint64_t>(of.integer("inner_steps"))),
        resets_(of.flag("reset")),
        pull_(static_cast<float>(of.number("outer_lr") * of.number("lambda"))) {}

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    auto copied = parts.all_tensors;
    copied.insert(copied.end(), parts.buffers.begin(), parts.buffers.end());
    return {{.name = "theta", .copies_of = std::move(copied), .first = first_value::received}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return inner_steps_ * examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto& buffers = task.parts().buffers;
    const auto w = task.weights();
    const auto theta = task.group(0);
    if (resets_) assign(theta, w, task.copied(0));
    const auto buffer = task.scratch(0);
    const auto loop = task.client_loop();
    const float rate = loop.step.rate / (1.0F + loop.step.rate * lambda_);
    const auto phase = task.each_batch(loop, [&](const models::examples_view& batch) {
      double loss = 0.0;
      for (std::uint64_t step = 0; step < inner_steps_; ++step) {
        const double found = task.gradient(batch, theta, all, buffer);
        assign(theta, buffer, buffers);
        if (step == 0) loss = found;
        add(buffer, lambda_, theta, all);
        add(buffer, -lambda_, w, all);
        add(theta, -rate, buffer, all);
      }
      assign(buffer, w, all);
      add(buffer, -1.0F, theta, all);
      add(w, -pull_, buffer, all);
      assign(w, theta, buffers);
      return loss;
    });
    task.count(phase);
    task.count_unweighted({.examples = (inner_steps_ - 1) * phase.examples});
  }

  personal_source personalize(personal_task& task, const client_kind& who) const override {
    if (who.has_state) assign(task.weights(), task.group(0), task.copied(0));
    const auto from = algorithm::personalize(task, who);
    return who.has_state && from == personal_source::model ? personal_source::stored : from;
  }

 private:
  float lambda_;
  std::uint64_t inner_steps_;
  bool resets_;
  float pull_;
};

result<std::shared_ptr<const algorithm>> build(const option_values& of) {
  if (of.number("outer_lr") * of.number("lambda") >= 2.0)
    return fail(error::kind::usage, "algorithm.pfedme.outer_lr",
                "times lambda is 2 or more, so that every step leads away from theta",
                "set it to at most 1 / lambda, where a step reaches theta");
  return std::make_shared<const pfedme>(of);
}

}  // namespace

algorithm_entry pfedme_entry() {
  return {.kind = "pfedme",
          .doc =
              "Each client keeps theta, which minimises its loss close to its copy of the model; the copy moves to "
              "theta and is averaged (Dinh et al. 2020). algorithm.server.lr is the paper's beta.",
          .options = {{.name = "lambda",
                       .fallback = 15.0,
                       .doc = "Weight of lambda/2 ||theta - w||^2 in the loss of theta.",
                       .at_least = 0.0,
                       .above = true},
                      {.name = "inner_steps",
                       .type = option_type::integer,
                       .fallback = std::int64_t{5},
                       .doc = "Gradient steps of theta on each batch, each of lr / (1 + lr lambda) with "
                              "algorithm.client.lr.",
                       .at_least = 1,
                       .at_most = 1000},
                      {.name = "outer_lr",
                       .fallback = 0.005,
                       .doc = "The paper's eta: after each batch w moves to theta by outer_lr * lambda of the "
                              "difference.",
                       .at_least = 0.0,
                       .above = true},
                      flag_option("reset", false,
                                  "theta starts each task as the received model, as in the authors' code.")},
          .traits = {.keeps_state = true,
                     .own_loop = own_loop_use::unused,
                     .rules = {"uniform-mean"},
                     .defaults = {{"algorithm.aggregation.rule", std::string("uniform-mean")}}},
          .check = [](scenario_view& of) { check_plain_steps(of, "pfedme"); },
          .build = build};
}

}  // namespace furlong::federated
