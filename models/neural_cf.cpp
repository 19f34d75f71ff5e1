// Neural collaborative filtering for implicit feedback: the log-odds of an item are those of an MLP with ReLU on the
// concatenated embeddings of user and item, with the logistic loss (He, Liao, Zhang, Nie, Hu, Chua: "Neural
// collaborative filtering", WWW 2017, section 3.3; federated: Perifanis, Efraimidis: "Federated neural collaborative
// filtering", 2022: FedNCF, where `user` is private).
//
// Tensors, in order: user (1 x rank, or clients x rank when `user_table`), item (features x rank), then for each layer
// l from 1 hidden<l> (width x inputs) and hidden<l>_bias (1 x width); output (1 x the last width), output_bias (1 x 1).
//
//   h_0 = [user; item_i]    h_l = max(0, hidden<l> h_(l-1) + hidden<l>_bias)    log-odds = output h_last + output_bias
#include <algorithm>
#include <cmath>

#include "models/entries.hpp"
#include "models/kernels/kernels.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/matrices.hpp"
#include "models/layers/relu.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t user = 0;
constexpr std::size_t item = 1;
constexpr std::size_t first_layer = 2;

/// Examples that are predicted at once.
constexpr std::size_t block_examples = 256;

class neural_cf final : public model {
 public:
  neural_cf(const option_values& options, const data_facts& facts)
      : init_(static_cast<float>(options.number("init"))), user_table_(options.flag("user_table")) {
    const auto rank = static_cast<std::uint32_t>(options.integer("rank"));
    const auto user_index = user_table_ ? row_index::by_client : row_index::none;
    std::vector<tensor_spec> specs = {{"user", user_table_ ? facts.clients : 1, rank, user_index},
                                      {"item", facts.features, rank, row_index::by_feature}};
    std::uint32_t inputs = 2 * rank;
    const auto add_layer = [&](const std::string& name, std::uint32_t width) {
      specs.push_back({name, width, inputs});
      specs.push_back({name + "_bias", 1, width});
      inputs = width;
    };
    for (const double width : options.numbers("widths"))
      add_layer("hidden" + std::to_string(++hidden_layers_), static_cast<std::uint32_t>(width));
    add_layer("output", 1);
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "neural-cf"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::ranking; }

  /// Layers as PyTorch's: uniform in 1 / sqrt(inputs).
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    const auto weight = first_layer + (std::max(tensor, first_layer) - first_layer) / 2 * 2;
    const float range = 1.0F / std::sqrt(static_cast<float>((*tensors_)[weight].cols));
    for (auto& value : values) value = tensor < first_layer ? init_ * stream.normal() : stream.uniform(-range, range);
  }

  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    auto& memory = step_arena();
    memory.clear();
    const auto states = forward(weights, batch, memory);
    const auto per_example = 1.0F / static_cast<float>(batch.size());
    tensor_view d = states.back();  // the log-odds become their gradient, which goes down the layers
    const double loss = kernels().logistic_gradient(d.data, batch.labels.data(), batch.size(), per_example);
    for (std::size_t l = states.size() - 1; l > 0; --l) {
      const auto tensor = tensor_of(l);
      if (l + 1 < states.size()) relu_backward(states[l], d);
      const auto below = states[l - 1];
      const tensor_view d_below =
          any_trained_below(out, tensor) ? make_matrix(memory, below.rows, below.cols) : tensor_view{};
      dense_backward(layer(weights, l), below, d, {out.data[tensor], out.data[tensor + 1]}, d_below);
      if (d_below.data == nullptr) return loss;
      d = d_below;
    }
    add_embeddings(batch, d, out);
    return loss;
  }

  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    auto& memory = step_arena();
    for (std::size_t first = 0; first < batch.size(); first += block_examples) {
      const auto block = batch.slice(first, std::min(first + block_examples, batch.size()));
      memory.clear();
      std::ranges::copy_n(forward(weights, block, memory).back().data, static_cast<std::ptrdiff_t>(block.size()),
                          out.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

 private:
  /// The number of the weight of layer l = 1, 2, ..., the output being the last.
  static std::size_t tensor_of(std::size_t l) { return first_layer + 2 * (l - 1); }
  static dense_weights layer(std::span<const tensor_view> weights, std::size_t l) {
    return {weights[tensor_of(l)], weights[tensor_of(l) + 1].data};
  }
  static bool any_trained_below(const gradient_views& out, std::size_t tensor) {
    return std::ranges::any_of(out.data.first(tensor), [](const float* target) { return target != nullptr; });
  }
  std::uint32_t user_row(const examples_view& batch, std::size_t i) const {
    return user_table_ && !batch.owners.empty() ? batch.owners[i] : 0;
  }

  /// h_0, h_1, ..., and last the log-odds: matrices with a row for each example. Valid until this thread's next call.
  std::span<const tensor_view> forward(std::span<const tensor_view> weights, const examples_view& batch,
                                       arena& memory) const {
    thread_local std::vector<tensor_view> states;
    const std::size_t rank = weights[item].cols;
    states.assign(1, make_matrix(memory, batch.size(), 2 * rank));
    for (std::size_t i = 0; i < batch.size(); ++i) {
      float* joint = std::copy_n(weights[user].row(user_row(batch, i)), rank, states[0].row(i));
      std::copy_n(weights[item].row(batch.features[i]), rank, joint);
    }
    for (std::size_t l = 1; l <= hidden_layers_ + 1; ++l) {
      states.push_back(make_matrix(memory, batch.size(), weights[tensor_of(l)].rows));
      dense_forward(layer(weights, l), states[l - 1], states[l]);
      if (l <= hidden_layers_) relu(states[l]);
    }
    return states;
  }

  /// d: the gradient of h_0.
  void add_embeddings(const examples_view& batch, const tensor_view& d, gradient_views& out) const {
    const std::size_t rank = (*tensors_)[item].cols;
    const auto add = [rank](bool first, const float* slopes, float* row) {
      if (first) std::fill_n(row, rank, 0.0F);
      for (std::size_t k = 0; k < rank; ++k) row[k] += slopes[k];
    };
    const auto mark = [](row_marks& marks, std::uint32_t row) {
      if (marks.stamp[row] == marks.now) return false;
      marks.stamp[row] = marks.now;
      marks.touched[marks.count++] = row;
      return true;
    };
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (out.data[user] != nullptr) {
        const auto row = user_row(batch, i);
        add(user_table_ ? mark(out.by_client, row) : i == 0, d.row(i), out.data[user] + row * rank);
      }
      if (out.data[item] == nullptr) continue;
      const auto row = batch.features[i];
      add(mark(out.by_feature, row), d.row(i) + rank, out.data[item] + row * rank);
    }
  }

  float init_;
  bool user_table_;
  std::size_t hidden_layers_ = 0;
  layout_ptr tensors_;
};

}  // namespace

model_entry neural_cf_entry() {
  model_entry entry;
  entry.kind = "neural-cf";
  entry.doc = "Implicit feedback: scores of items by an MLP on the embeddings of user and item, logistic loss.";
  entry.options = {
      integer_option("rank", 32, "Length of the embeddings of user and item.", {1, 4096}),
      {.name = "widths",
       .type = option_type::number_list,
       .fallback = std::vector<double>{32, 16, 8},
       .doc = "Units of the hidden layers, from the embeddings to the output.",
       .at_least = 1,
       .at_most = 4096},
      number_option("init", 0.1, "Embeddings start normal with this standard deviation.", {0}),
      flag_option("user_table", false,
                  "Keep all user embeddings in one shared table (clients x rank) instead of one per client."),
  };
  entry.build = [](const option_values& options, const data_facts& facts) -> result<std::shared_ptr<const model>> {
    if (facts.labels != objective::ranking)
      return fail(error::kind::usage, "model.kind", "neural-cf needs interactions, and the data has none",
                  "take ratings as interactions (feedback = \"implicit\"), or choose another model");
    if (std::ranges::any_of(options.numbers("widths"), [](double width) { return width != std::floor(width); }))
      return fail(error::kind::usage, "model.widths", "has a number of units that is not whole", "write whole numbers");
    return std::make_shared<neural_cf>(options, facts);
  };
  return entry;
}

}  // namespace furlong::models
