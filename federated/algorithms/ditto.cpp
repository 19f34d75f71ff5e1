// Ditto. Li, Hu, Beirami, Smith: Ditto: Fair and robust federated learning through personalization, ICML 2021,
// algorithm 1.
//
//   client i, from the model w and its own p_i (at first w, or with start = "initial" the model before the first
//   round):
//     w_i <- FedAvg's local SGD, from w
//     p_i <- p_i - personal_lr (grad l(p_i; b) + lambda (p_i - w)) for each batch b of `personal_epochs`
//   client i keeps p_i and sends w_i - w;  server: as FedAvg
//
// The regulariser pulls to w as received, as in the paper and its code; so it does not matter which of the two is
// trained first. (Others pull to the new w_i, or train p_i in all clients.) p_i predicts for client i, and w for
// clients that never trained. With `personal`, p_i is a copy of these tensors alone; its gradient is taken at the
// received values of the others. Momentum, the proximal term, decay, clipping and other optimizers act on w_i, not on
// p_i. The paper has one rate for both; what averaging damps in w diverges in p, which nothing averages, so the default
// of `personal_lr` is lower.
#include <algorithm>
#include <array>
#include <iterator>

#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"

namespace furlong::federated {

namespace {

class ditto final : public algorithm {
 public:
  explicit ditto(const option_values& of)
      : lambda_(static_cast<float>(of.number("lambda"))),
        rate_(static_cast<float>(of.number("personal_lr"))),
        personal_(of.list("personal")),
        starts_initial_(starts_initial(of)) {
    if (of.has("personal_epochs")) epochs_ = static_cast<std::uint32_t>(of.integer("personal_epochs"));
  }

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    auto copied = personal_.empty() ? parts.all_tensors : std::vector<std::size_t>();
    if (personal_.empty()) copied.insert(copied.end(), parts.buffers.begin(), parts.buffers.end());
    for (const auto& name : personal_) copied.push_back(parts.model->find(name).value_or(parts.model->count()));
    return {{.name = "personal", .copies_of = std::move(copied), .first = first_value::received}};
  }

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    const auto loop = client_loop(settings);
    return examples_in(count, loop) + examples_in(count, personal(loop));
  }

  void train(local_task& task) const override {
    const auto loop = task.client_loop();
    task.count(task.sgd(task.parts().all_tensors, loop));

    std::vector<std::size_t> tensors;
    std::ranges::copy_if(task.copied(0), std::back_inserter(tensors),
                         [&](std::size_t t) { return !(*task.parts().model)[t].buffer; });
    const auto w = task.received();
    const auto p = task.group(0);
    if (starts_initial_ && !task.has_state()) task.assign_initial(p, task.copied(0));
    auto own = personal(loop);
    own.step.rate = rate_ * (loop.step.rate / task.settings().client->lr);  // follows client.schedule
    const std::array<models::gradient_term, 2> pull{{{lambda_, p, tensors}, {-lambda_, w, tensors}}};
    task.count_unweighted(task.sgd_at(p, tensors, own, pull));
  }

  personal_source personalize(personal_task& task, const client_kind& who) const override {
    if (who.has_state) assign(task.weights(), task.group(0), task.copied(0));
    const auto from = algorithm::personalize(task, who);
    return who.has_state && from == personal_source::model ? personal_source::stored : from;
  }

 private:
  [[nodiscard]] local_loop personal(local_loop loop) const {
    loop.epochs = epochs_.value_or(loop.epochs);
    return loop;
  }

  float lambda_;
  float rate_;
  std::optional<std::uint32_t> epochs_;  ///< none: as many as of w
  std::vector<std::string> personal_;    ///< names of tensors; empty: all
  bool starts_initial_;
};

void check(scenario_view& of) {
  for (const std::string name : {"momentum", "proximal", "optimizer", "weight_decay", "clip"})
    if (const auto key = "algorithm.client." + name; of.is_changed(key))
      of.note(key + " has no effect on the personal values: their steps are plain ones, with the term of " +
              "algorithm.ditto.lambda");
}

}  // namespace

algorithm_entry ditto_entry() {
  return {.kind = "ditto",
          .doc =
              "FedAvg, and each client keeps a personal copy of the model, trained on its examples and pulled to "
              "the received one (Li et al. 2021).",
          .options = {{.name = "lambda",
                       .fallback = 1.0,
                       .doc = "Weight of lambda/2 ||p - w||^2 in the loss of the personal values; 0: local training.",
                       .at_least = 0.0},
                      {.name = "personal_lr",
                       .fallback = 0.02,
                       .doc = "Learning rate of the personal values; it follows algorithm.client.schedule.",
                       .at_least = 0.0,
                       .above = true},
                      {.name = "personal_epochs",
                       .type = option_type::integer,
                       .doc = "Passes over a client's examples that train its personal values.",
                       .at_least = 1,
                       .at_most = UINT32_MAX,
                       .same_as = "algorithm.client.epochs"},
                      {.name = "personal",
                       .type = option_type::text_list,
                       .fallback = std::vector<std::string>{},
                       .doc = "Tensors that clients keep a personal copy of; empty: all."},
                      start_option()},
          .traits = {.keeps_state = true},
          .check = check,
          .build = build_with_options<ditto>,
          .tensor_options = {"personal"}};
}

}  // namespace furlong::federated
