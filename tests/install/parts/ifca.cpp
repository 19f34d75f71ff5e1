// IFCA. Ghosh, Chung, Yin, Ramchandran: An efficient framework for clustered federated learning, NeurIPS 2020,
// algorithm 1 with model averaging.
//
//   client k: takes that of the server's models with the least loss on its examples, keeps its number, sends the change
//   server: model j <- model j + the mean change of those that took it
//   predicts for a client: the model that it took last, or that of the least loss on its own examples
#include <algorithm>

#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::federated;

class ifca final : public algorithm {
 public:
  explicit ifca(const furlong::option_values& options)
      : clusters_(static_cast<std::size_t>(options.integer("clusters"))) {}
  /// The models, how many took each, and which one the client took.
  [[nodiscard]] std::vector<tensor_group> tensors(const furlong::models::model&,
                                                  const furlong::models::partition& parts) const override {
    std::vector<tensor_group> made;
    for (std::size_t j = 0; j < clusters_; ++j)
      made.push_back({"model" + std::to_string(j), place::shared, parts.shared_tensors, {}, first_value::random});
    made.push_back({"taken", place::report, {}, {{"counts", 1, static_cast<std::uint32_t>(clusters_)}}});
    made.push_back({"cluster", place::kept, {}, {{"number"}}});
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
    *task.tensor(clusters_ + 1).data = static_cast<float>(best);
    assign(task.weights(), task.group(best), all);
    task.count(task.sgd(all, task.client_loop()));
    const auto change = task.reported(best);
    assign(change, task.weights(), all);
    add(change, -1.0F, task.group(best), all);
    task.reported(clusters_, 0).data[best] = 1.0F;
  }

  void step(server_view& server, const aggregate& of) const override {
    for (std::size_t j = 0; j < clusters_; ++j) {
      const float count = std::max(1.0F, server.reported(of, clusters_)[j]);
      for (std::size_t i = 0; i < server.e.groups[j].count(); ++i)
        std::ranges::transform(server.tensor(j, i), server.reported(of, j, i), server.tensor(j, i).begin(),
                               [&](float value, float change) { return value + change / count; });
    }
  }

  bool personalizes_from_examples(const experiment&, const client_kind& kind) const override { return !kind.has_state; }
  personal_source personalize(personal_task& task, const client_kind& kind) const override {
    const auto number = kind.has_state ? static_cast<std::size_t>(*task.tensor(clusters_ + 1).data) : closest(task);
    assign(task.weights(), task.group(number), task.parts().all_tensors);
    return kind.has_state ? personal_source::stored : personal_source::model;
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
          .traits = {.keeps_state = true, .mixes = false, .own_loop = own_loop_use::unused},
          .build = build<ifca>};
}

}  // namespace parts
