// IFCA. Ghosh, Chung, Yin, Ramchandran: An efficient framework for clustered federated learning, NeurIPS 2020,
// algorithm 1 with model averaging.
//
//   server: K models
//   client k: takes the model with the least loss on its own examples, trains it, and sends the change with its number
//   server: model j <- model j + the mean change of those that took it
//   before the model predicts for a client: the model with the least loss on its own examples
#include <algorithm>

#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/server_view.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

class ifca final : public algorithm {
 public:
  explicit ifca(const furlong::option_values& options)
      : clusters_(static_cast<std::size_t>(options.integer("clusters"))) {}
  /// The models, and how many took each.
  [[nodiscard]] std::vector<tensor_group> tensors(const furlong::models::model&,
                                                  const furlong::models::partition& parts) const override {
    std::vector<tensor_group> made;
    for (std::size_t j = 0; j < clusters_; ++j)
      made.push_back({"model" + std::to_string(j), place::shared, parts.shared_tensors, {}, first_value::random});
    made.push_back({"taken", place::report, {}, {{"counts", 1, static_cast<std::uint32_t>(clusters_)}}});
    for (auto& group : made) group.rule = sum_rule::sum;
    return made;
  }
  [[nodiscard]] bool sends_model() const override { return false; }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto best = closest(task);
    assign(task.weights(), task.group(best), all);
    task.count(task.sgd(all, task.client_loop()));
    const auto change = task.reported(best);
    assign(change, task.weights(), all);
    add(change, -1.0F, task.group(best), all);
    task.reported(clusters_, 0).data[best] = 1.0F;
  }

  void step(server_view& server, const aggregate& of) const override {
    for (std::size_t j = 0; j < clusters_; ++j) {
      const float count = server.reported(of, clusters_)[j];
      for (std::size_t i = 0; count > 0 && i < server.e.groups[j].count(); ++i) {
        const auto model = server.tensor(j, i);
        std::ranges::transform(model, server.reported(of, j, i), model.begin(),
                               [&](float value, float change) { return value + change / count; });
      }
    }
  }

  [[nodiscard]] bool personalizes_from_examples(const experiment&, const client_kind&) const override { return true; }
  personal_source personalize(personal_task& task, const client_kind&) const override {
    assign(task.weights(), task.group(closest(task)), task.parts().all_tensors);
    return personal_source::model;
  }

 private:
  /// The first model of the least loss.
  std::size_t closest(local_values& task) const {
    std::vector<double> losses;
    for (std::size_t j = 0; j < clusters_; ++j)
      losses.push_back(task.gradient(task.examples(), task.group(j), {}, task.scratch(0)));
    return static_cast<std::size_t>(std::ranges::min_element(losses) - losses.begin());
  }

  std::size_t clusters_;
};

}  // namespace

algorithm_entry ifca_entry() {
  return {.kind = "ifca",
          .doc = "A model for each of some clusters of clients, which find their own (Ghosh et al. 2020).",
          .options = {whole_number("clusters", 2, "Models.")},
          .traits = {.mixes = false, .own_loop = own_loop_use::unused},
          .build = build<ifca>};
}

}  // namespace parts
