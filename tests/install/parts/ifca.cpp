// IFCA. Ghosh, Chung, Yin, Ramchandran: An efficient framework for clustered federated learning, NeurIPS 2020,
// algorithm 1 with model averaging.
//
//   server: K models
//   client k: takes the model with the least loss on its own examples, trains it, and sends the change with its number
//   server: model j <- model j + the mean change of those that took it
//   before the model predicts for a client: the model with the least loss on its own examples
#include <algorithm>
#include <limits>

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

  /// For each cluster its model, and how many took it.
  [[nodiscard]] std::vector<tensor_group> tensors(const furlong::models::model&,
                                                  const furlong::models::partition& parts) const override {
    std::vector<tensor_group> made;
    for (std::size_t j = 0; j < clusters_; ++j) {
      auto& model = made.emplace_back(tensor_group{"model" + std::to_string(j), place::shared, parts.shared_tensors});
      model.first = first_value::random;
      model.rule = sum_rule::sum;
      made.push_back({"taken" + std::to_string(j), place::report, {}, {{"count"}}});
      made.back().rule = sum_rule::sum;
    }
    return made;
  }
  [[nodiscard]] bool sends_model() const override { return false; }
  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto best = closest(task);
    assign(task.weights(), task.group(2 * best), all);
    task.count(task.sgd(all, task.client_loop()));
    const auto change = task.reported(2 * best);
    assign(change, task.weights(), all);
    add(change, -1.0F, task.group(2 * best), all);
    *task.reported(2 * best + 1, 0).data = 1.0F;
  }

  void step(server_view& server, const aggregate& of) const override {
    for (std::size_t j = 0; j < clusters_; ++j) {
      const float count = server.reported(of, 2 * j + 1)[0];
      for (std::size_t i = 0; count > 0 && i < server.e.groups[2 * j].count(); ++i) {
        const auto model = server.tensor(2 * j, i);
        std::ranges::transform(model, server.reported(of, 2 * j, i), model.begin(),
                               [&](float value, float change) { return value + change / count; });
      }
    }
  }

  [[nodiscard]] bool personalizes_from_examples(const experiment&, const client_kind&) const override { return true; }
  personal_source personalize(personal_task& task, const client_kind&) const override {
    assign(task.weights(), task.group(2 * closest(task)), task.parts().all_tensors);
    return personal_source::model;
  }

 private:
  /// The first model of the least loss.
  std::size_t closest(local_values& task) const {
    std::size_t best = 0;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < clusters_; ++j)
      if (const double loss = task.gradient(task.examples(), task.group(2 * j), {}, task.scratch(0)); loss < least) {
        least = loss;
        best = j;
      }
    return best;
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
