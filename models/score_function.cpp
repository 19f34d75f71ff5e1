// A linear score function on item embeddings, for implicit feedback: log-odds = score_bias + <score, item[i]> (Zhang,
// Long, Zhou, Yan, Zhang, Zhang, Yang: "Dual personalization on federated recommendation", IJCAI 2023: PFedRec), with
// the logistic loss. With `own_items` every client adds rows of its own to the items: score_bias + <score, item[i] +
// own_item[i]> (Li, Long, Zhou: "Federated recommendation with additive personalization", ICLR 2024: FedRAP).
//
// Tensors, in order: item (features x rank), score (1 x rank), score_bias (1 x 1), own_item (features x rank,
// optional). Both papers keep all but `item` private. Initial values are those of PFedRec's code: items normal, the
// score function uniform in 1 / sqrt(rank), as PyTorch's linear layers; own rows are zero.
#include <algorithm>
#include <cmath>
#include <functional>

#include "models/entries.hpp"
#include "models/kernels/kernels.hpp"
#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t item = 0;
constexpr std::size_t weight = 1;
constexpr std::size_t bias = 2;
constexpr std::size_t own_item = 3;

class score_function final : public model {
 public:
  score_function(const option_values& options, const data_facts& facts)
      : init_(static_cast<float>(options.number("init"))), l2_(static_cast<float>(options.number("l2"))) {
    const auto rank = static_cast<std::uint32_t>(options.integer("rank"));
    std::vector<tensor_spec> specs = {
        {"item", facts.features, rank, row_index::by_feature}, {"score", 1, rank}, {"score_bias", 1, 1}};
    if (options.flag("own_items")) specs.push_back({"own_item", facts.features, rank, row_index::by_feature});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "score-function"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::ranking; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    const float range = 1.0F / std::sqrt(static_cast<float>((*tensors_)[item].cols));
    for (auto& value : values)
      value = tensor == item ? init_ * stream.normal() : tensor == own_item ? 0.0F : stream.uniform(-range, range);
  }

  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    const auto input = bind(weights, batch);
    const bool has_own = weights.size() > own_item;
    float* const own_rows = has_own ? out.data[own_item] : nullptr;
    float* const rows = out.data[item] != nullptr ? out.data[item] : own_rows;
    mf_gradient g{out.data[weight], out.data[bias], rows, nullptr, nullptr, &out.by_feature, nullptr, false};
    const double loss = kernels().mf_gradient_step(input, g);
    // The two rows of an item only occur as their sum, so they have the same gradient.
    if (own_rows == nullptr || rows == own_rows) return loss;
    const std::size_t cols = weights[item].cols;
    for (std::uint32_t k = 0; k < out.by_feature.count; ++k)
      std::copy_n(rows + out.by_feature.touched[k] * cols, cols, own_rows + out.by_feature.touched[k] * cols);
    return loss;
  }

  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    kernels().mf_predict(bind(weights, batch), out.data());
  }

 private:
  /// The score function is what a user's vector and bias are in matrix factorization.
  mf_batch bind(std::span<const tensor_view> weights, const examples_view& batch) const {
    const float* items = weights[item].data;
    if (weights.size() > own_item) {
      auto& memory = step_arena();
      memory.clear();
      const auto sums = make_matrix(memory, weights[item].rows, weights[item].cols);
      for (const auto row : batch.features)  // of others nothing is read
        std::transform(weights[item].row(row), weights[item].row(row) + sums.cols, weights[own_item].row(row),
                       sums.row(row), std::plus<>());
      items = sums.data;
    }
    mf_batch bound{};
    bound.user = weights[weight].data;
    bound.user_bias = weights[bias].data;
    bound.item = items;
    bound.rank = weights[item].cols;
    bound.features = batch.features.data();
    bound.labels = batch.labels.data();
    bound.count = batch.size();
    bound.l2 = l2_;
    bound.loss = mf_loss::logistic;
    return bound;
  }

  float init_;
  float l2_;
  layout_ptr tensors_;
};

}  // namespace

model_entry score_function_entry() {
  model_entry entry;
  entry.kind = "score-function";
  entry.doc = "Implicit feedback: scores of items by a linear function of their embeddings, logistic loss.";
  entry.options = {
      integer_option("rank", 32, "Length of the item embeddings.", {1, 4096}),
      number_option("init", 1.0, "Item embeddings start normal with this standard deviation.", {0}),
      flag_option("own_items", false,
                  "Add an embedding of each item that belongs to the client (tensor own_item), zero at first."),
      number_option("l2", 0.0,
                    "Weight of the squared norms of the score function and of the item's embedding (with own_items of "
                    "the sum of both) in the loss of each example.",
                    {0}),
  };
  entry.build = [](const option_values& options, const data_facts& facts) -> result<std::shared_ptr<const model>> {
    if (facts.labels != objective::ranking)
      return fail(error::kind::usage, "model.kind", "score-function needs interactions, and the data has none",
                  "take ratings as interactions (feedback = \"implicit\"), or choose another model");
    return std::make_shared<score_function>(options, facts);
  };
  return entry;
}

}  // namespace furlong::models
