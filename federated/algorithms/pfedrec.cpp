// PFedRec. Zhang, Long, Zhou, Yan, Zhang, Zhang, Yang: Dual personalization on federated recommendation, IJCAI 2023,
// algorithm 1, as in its public code.
//
//   client k, from the shared tensors g (the items) and its own score function l_k, for each batch b of
//   client.epochs:
//     l_k <- l_k - lr grad l(l_k, g; b)
//     g_k <- g_k - item_lr grad l(l_k, g_k; b), at the new l_k
//   client k keeps l_k and sends g_k - g;  server: as FedAvg. All clients begin with the same l.
//
// Personalization: the paper predicts with g_k as the last local training of client k left it, whatever the server has
// made of it since (evaluate = "own"). A client that keeps g_k keeps all that it trained, and of these rows only their
// scores predict: it keeps these, one number an item. Items that its last task did not train have the server's rows.
// evaluate = "shared" predicts with the server's rows for all items. Training is the same.
#include <array>
#include <limits>
#include <optional>

#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"

namespace furlong::federated {

namespace {

enum : std::size_t { own_scores };  // groups

class pfedrec final : public algorithm {
 public:
  explicit pfedrec(const option_values& options)
      : item_rate_(options.has("item_lr") ? std::optional(static_cast<float>(options.number("item_lr")))
                                          : std::nullopt),
        keeps_scores_(options.text("evaluate") == "own") {}

  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    for (const auto t : parts.shared_tensors)
      if (const auto& spec = (*parts.model)[t]; keeps_scores_ && spec.index == models::row_index::by_feature)
        return {{.name = "own",
                 .where = place::kept,
                 .specs = {{"scores", spec.rows, 1, models::row_index::by_feature}},
                 .forgets = true}};
    return {};
  }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto loop = task.client_loop();
    const auto& parts = task.parts();
    const std::array<local_task::tensor_step, 2> steps{
        {{parts.private_tensors, loop.step.rate},
         {parts.shared_tensors, item_rate_ ? task.rate_of_round(*item_rate_) : loop.step.rate}}};
    task.count(task.sgd_in_turn(loop, steps));
    if (!keeps_scores_) return;
    const auto kept = task.tensor(own_scores);
    const std::span scores(kept.data, kept.size());
    task.predict_rows(scores);
    for (auto& score : scores)
      if (score == 0.0F) score = std::numeric_limits<float>::min();  // 0: the item was not trained
  }

  void rescore(personal_task& task, std::span<const std::uint32_t> items, std::span<float> scores) const override {
    if (!keeps_scores_ || !task.has_state()) return;
    const auto kept = task.kept(own_scores);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (kept[items[i]] != 0.0F) scores[i] = kept[items[i]];
  }

 private:
  std::optional<float> item_rate_;  ///< none: that of the score function
  bool keeps_scores_;
};

}  // namespace

algorithm_entry pfedrec_entry() {
  return {.kind = "pfedrec",
          .doc =
              "Implicit feedback: in each batch a step on the private score function, then one on the shared items; "
              "clients keep the score function (Zhang et al. 2023).",
          .options = {item_rate_option(),
                      choice_option("evaluate", "own",
                                    "Rows of items that predict for a client: own, as its last local training left "
                                    "those that it trained; shared, the server's.",
                                    {"own", "shared"})},
          .traits = implicit_traits(),
          .check = [](scenario_view& scenario) { check_plain_steps(scenario, "pfedrec"); },
          .build = build_with_options<pfedrec>};
}

}  // namespace furlong::federated
