// The most popular items for everybody, the baseline of recommendation by ranking: clients report which items they have
// interactions with, and the server counts. The model is a bias of each item, its count; whatever else the model has
// keeps its values and must not score: choose rank 1 and initial values of 0.
//
//   client k reports 1 of each interaction;  server: count_i <- gamma count_i + the sum of the round,
//   gamma = 1 - the share of clients that reported;  bias_i <- count_i
#include <algorithm>
#include <optional>

#include "federated/aggregation/server_view.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"

namespace furlong::federated {

namespace {

enum : std::size_t { round_counts, all_counts };  // groups

/// By its name: the vectors of items have one value too if the rank is 1.
std::optional<std::size_t> bias_of(const models::partition& parts) {
  const auto bias = parts.model->find("item_bias");
  return bias && std::ranges::find(parts.shared_tensors, *bias) != parts.shared_tensors.end() ? bias : std::nullopt;
}

class popularity final : public algorithm {
 public:
  [[nodiscard]] std::vector<tensor_group> tensors(const models::model&, const models::partition& parts) const override {
    const auto bias = bias_of(parts);
    if (!bias) return {};
    const std::vector<models::tensor_spec> counts = {
        {"items", (*parts.model)[*bias].rows, 1, models::row_index::by_feature}};
    return {{.name = "round", .where = place::report, .specs = counts, .rule = sum_rule::sum, .max_norm = 65536.0},
            {.name = "counts", .where = place::server, .specs = counts}};
  }
  [[nodiscard]] bool sends_model() const override { return false; }
  [[nodiscard]] std::uint64_t plan(const run_settings&, std::uint64_t count) const override { return count; }
  [[nodiscard]] std::uint64_t most_weight(const run_settings&, std::uint64_t count) const override { return count; }

  void train(local_task& task) const override {
    const auto counts = task.reported(round_counts, 0);
    for (const auto row : task.examples().features) counts.row(row)[0] += 1.0F;
    task.count({.examples = task.examples().size()});
  }

  void step(server_view& server, const aggregate& round) const override {
    const auto counts = server.tensor(all_counts);
    const auto reported = server.reported(round, round_counts);
    const double absent = 1.0 - static_cast<double>(round.count) / static_cast<double>(server.training_clients());
    const auto gamma = static_cast<float>(std::max(absent, 0.0));
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = gamma * counts[i] + reported[i];
    const auto& parts = server.e.parts;
    if (const auto bias = bias_of(parts))
      std::ranges::copy(counts, server.model.tensor(parts.slots[*bias].tensor).begin());
  }
};

void check(scenario_view& scenario) {
  const std::string key = "model.item_bias";
  if (is_built_in_without(scenario, "item_bias"))
    return scenario.report(
        "model.kind",
        "is \"" + scenario.given().text("model.kind") + "\", which has no bias of each item, and popularity is one",
        "write kind = \"matrix-factorization\" and item_bias = true");
  if (scenario.is_good(key) && !scenario.given().flag(key))
    scenario.report(key, "is false, and popularity is a bias of each item", "write item_bias = true");
  if (scenario.is_good("model.init") && scenario.given().number("model.init") != 0.0)
    scenario.report("model.init", "is above 0: random vectors would change the order of items", "write init = 0.0");
  scenario.note("an update of popularity lists the client's interactions: only privacy.secure_aggregation hides them");
}

}  // namespace

algorithm_entry popularity_entry() {
  return {.kind = "popularity",
          .doc = "Implicit feedback: the number of interactions of each item, counted by the server, for everybody.",
          .traits = {.implicit = true,
                     .negatives = false,
                     .steps = false,
                     .mixes = false,
                     .own_loop = own_loop_use::refused,
                     .defaults = {{"network.upload", std::string("sparse")}}},
          .fixed = {{"algorithm.aggregation.rule", "uniform-mean", "counts have a rule of their own"}},
          .check = check,
          .build = build_as<popularity>};
}

}  // namespace furlong::federated
