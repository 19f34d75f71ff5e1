// FedRAP. Li, Long, Zhou: Federated recommendation with additive personalization, ICLR 2024, algorithm 1.
//
// The embedding of an item is the sum of a shared row C_i and one of the client's own, D_i. Client k minimizes
//
//   the logistic loss  -  lambda_t mean (D - C)^2  +  mu_t mean |C|
//
// over its score function, C and D; the means are over the values of the rows that a batch names, each as often as it
// does, as in the paper's code. The second term keeps the two parts apart, the third makes the shared one sparse; both
// weights grow with the round t: lambda_t = lambda tanh(t / 10), mu_t = mu tanh(t / 10). A client keeps its score
// function and D, and sends the change of C;  server: as FedAvg.
#include <algorithm>
#include <optional>
#include <stdexcept>

#include "base/exact_math.hpp"
#include "federated/algorithms/entries.hpp"
#include "federated/client/local_task.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/settings.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

/// tanh(t / 10), for t >= 0.
float weight_of_round(std::uint64_t round) {
  return static_cast<float>(1.0 - 2.0 / (exact::exp(static_cast<double>(round) / 5.0) + 1.0));
}

/// The two parts of the items' embeddings: rows for items of the same length, a shared and a private tensor.
struct item_parts {
  std::size_t shared;
  std::size_t own;
};

std::optional<item_parts> item_parts_of(const models::partition& parts) {
  const auto with_rows = [&](std::size_t t) { return (*parts.model)[t].index == models::row_index::by_feature; };
  for (const auto own : parts.private_tensors)
    for (const auto shared : parts.shared_tensors)
      if (with_rows(own) && with_rows(shared) && (*parts.model)[own].cols == (*parts.model)[shared].cols)
        return item_parts{shared, own};
  return std::nullopt;
}

class fedrap final : public algorithm {
 public:
  explicit fedrap(const option_values& options)
      : item_rate_(options.has("item_lr") ? std::optional(static_cast<float>(options.number("item_lr")))
                                          : std::nullopt),
        apart_(static_cast<float>(options.number("lambda"))),
        sparse_(static_cast<float>(options.number("mu"))) {}

  [[nodiscard]] std::uint64_t plan(const run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, client_loop(settings));
  }

  void train(local_task& task) const override {
    const auto& parts = task.parts();
    const auto items = item_parts_of(parts);
    if (!items) throw std::logic_error("fedrap needs a shared and a private tensor with rows for items, of one length");
    const auto loop = task.client_loop();
    const float item_rate = item_rate_ ? task.rate_of_round(*item_rate_) : loop.step.rate;
    const float weight = weight_of_round(task.id().version);
    const auto slope = task.scratch(0);
    const auto w = task.weights();
    task.count(task.each_batch(loop, [&](const models::examples_view& batch) {
      const double loss = task.gradient(batch, w, parts.all_tensors, slope);
      add_regularizers(batch, weight, w, *items, slope);
      for (const auto t : parts.all_tensors)
        if (t == items->shared || t == items->own)
          move_rows(batch, w[t], slope[t], item_rate);
        else
          add(w, -loop.step.rate, slope, {&t, 1});
      return loss;
    }));
  }

 private:
  void add_regularizers(const models::examples_view& batch, float weight, models::tensor_values w, item_parts items,
                        models::tensor_values slope) const {
    const auto shared = w[items.shared];
    const auto own = w[items.own];
    const float count = static_cast<float>(batch.size() * shared.cols);
    const float apart = 2.0F * weight * apart_ / count;
    const float sparse = weight * sparse_ / count;
    for (const auto row : batch.features) {
      float* const d_shared = slope[items.shared].row(row);
      float* const d_own = slope[items.own].row(row);
      for (std::uint32_t k = 0; k < shared.cols; ++k) {
        const float c = shared.row(row)[k];
        const float difference = apart * (own.row(row)[k] - c);
        d_own[k] -= difference;
        d_shared[k] += difference + (c > 0.0F ? sparse : c < 0.0F ? -sparse : 0.0F);
      }
    }
  }

  /// Of the rows of a client's items a batch names few. Each moves once: its slope is zero afterwards.
  static void move_rows(const models::examples_view& batch, const models::tensor_view& rows,
                        const models::tensor_view& slopes, float rate) {
    for (const auto row : batch.features) {
      models::kernels().descend(rows.row(row), slopes.row(row), rows.cols, rate);
      std::fill_n(slopes.row(row), rows.cols, 0.0F);
    }
  }

  std::optional<float> item_rate_;  ///< none: that of the score function
  float apart_;
  float sparse_;
};

void check(scenario_view& scenario) {
  check_plain_steps(scenario, "fedrap");
  if (is_built_in_without(scenario, "own_items"))
    return scenario.report("model.kind",
                           "is \"" + scenario.given().text("model.kind") +
                               "\", whose items have no rows of the client's own, and fedrap needs them",
                           "write kind = \"score-function\" and own_items = true");
  const std::string rows = "model.own_items";
  if (scenario.is_good(rows) && !scenario.given().flag(rows))
    return scenario.report(rows, "is false, and fedrap needs rows of items of the client's own",
                           "write own_items = true, and add \"own_item\" to private");
  const std::string own = "model.private";
  if (!scenario.is_good(own)) return;
  const auto& names = scenario.given().list(own);
  const auto may_name_it = [](const auto& name) { return name == "own_item" || name.find('*') != std::string::npos; };
  if (scenario.given().has(rows) && std::ranges::none_of(names, may_name_it))
    scenario.report(own, "does not name own_item, the client's own part of the items' embeddings", "add \"own_item\"");
}

}  // namespace

algorithm_entry fedrap_entry() {
  return {.kind = "fedrap",
          .doc =
              "Implicit feedback: items are sums of shared and private rows, which a regularizer keeps apart; another "
              "makes the shared rows sparse (Li et al. 2024).",
          .options = {item_rate_option(),
                      {.name = "lambda",
                       .fallback = 0.1,
                       .doc = "Weight of the squared difference of shared and private rows, which is subtracted from "
                              "the loss; it grows with the round t as tanh(t / 10).",
                       .at_least = 0},
                      {.name = "mu",
                       .fallback = 0.01,
                       .doc = "Weight of the absolute values of shared rows in the loss; it grows likewise.",
                       .at_least = 0}},
          .traits = implicit_traits(),
          .check = check,
          .build = build_with_options<fedrap>};
}

}  // namespace furlong::federated
