// A classifier of short texts with user embeddings (FURL: Bui, Malik, Goetz, Liu, Moon, Kumar, Shin: "Federated user
// representation learning", 2019): the tokens of a text (characters or words) are embedded and read by a bidirectional
// LSTM; its outputs are pooled over all steps into a text vector; an MLP with one hidden layer (ReLU) maps the
// concatenated vectors of text and user to the classes.
//
// Tensors, in order: user (1 x user_embedding, or clients x user_embedding when `user_table`; absent when
// `user_embedding` is 0: FURL's "global" model), embedding (features x embedding), forward_input, forward_recurrent,
// forward_bias, backward_input, backward_recurrent, backward_bias (as layers/lstm.hpp has them), hidden (mlp x (2
// hidden + user_embedding)), hidden_bias, output (classes x mlp; one row for two classes: the log-odds of 1),
// output_bias. FURL keeps `user` private; the paper states neither sizes nor initial values.
//
// A text has at least one token; sources of texts refuse empty ones. Initial values are PyTorch's defaults (embedding:
// standard normal; LSTM: uniform in 1 / sqrt(hidden); dense layers: uniform in 1 / sqrt(inputs)) with two exceptions.
// PyTorch draws two biases of an LSTM, which are added; the one here is drawn once, so its variance is half. And `user`
// is zero unless `user_init` is set, so that a user who has never trained does not affect predictions.
#include <algorithm>
#include <cmath>

#include "models/entries.hpp"
#include "models/feature_model.hpp"
#include "models/layers/bidirectional.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/dropout.hpp"
#include "models/layers/embedding.hpp"
#include "models/layers/feature_term.hpp"
#include "models/layers/matrices.hpp"
#include "models/layers/pooling.hpp"
#include "models/layers/relu.hpp"
#include "models/layers/softmax_output.hpp"
#include "models/logistic.hpp"
#include "models/sequence_model.hpp"

namespace furlong::models {

namespace {

/// Number of texts that are predicted or scored at once.
constexpr std::size_t block_texts = 64;

/// The activations of a batch, one text per place of the packing; reused for the next batch.
struct text_pass {
  std::vector<std::uint32_t> lengths;
  packed_sequences packed;
  std::vector<std::uint32_t> tokens;  ///< packed
  tensor_view x;                      ///< their embeddings
  blstm_states states;
  std::vector<std::uint32_t> pooled_from;
  std::span<const float> text_mask;
  tensor_view joint;  ///< count x (2 hidden + user_embedding): the input of the MLP
  tensor_view hidden;
  std::span<const float> hidden_mask;
  std::vector<std::uint32_t> targets;
  std::vector<std::uint32_t> likeliest;
};

/// The calling thread's pass.
text_pass& thread_pass() {
  thread_local text_pass of_thread;
  return of_thread;
}

class doc_classifier final : public feature_model {
 public:
  doc_classifier(const option_values& options, const data_facts& facts)
      : objective_(facts.labels),
        units_(width_of(options, "hidden")),
        user_width_(width_of(options, "user_embedding")),
        max_length_(width_of(options, "max_length")),
        max_pooling_(options.text("pooling") == "max"),
        user_table_(options.flag("user_table")),
        dropout_(static_cast<float>(options.number("dropout"))),
        user_init_(static_cast<float>(options.number("user_init"))) {
    const auto embedding = width_of(options, "embedding");
    const auto mlp = width_of(options, "mlp");
    const std::uint32_t outputs = objective_ == objective::logistic ? 1 : facts.classes;
    std::vector<tensor_spec> specs;
    if (user_width_ > 0)
      specs.push_back(
          {"user", user_table_ ? facts.clients : 1, user_width_, user_table_ ? row_index::by_client : row_index::none});
    embedding_ = specs.size();
    specs.push_back({"embedding", facts.features, embedding});
    for (const std::string direction : {"forward", "backward"}) {
      specs.push_back({direction + "_input", 4 * units_, embedding});
      specs.push_back({direction + "_recurrent", 4 * units_, units_});
      specs.push_back({direction + "_bias", 1, 4 * units_});
    }
    hidden_ = specs.size();
    specs.push_back({"hidden", mlp, 2 * units_ + user_width_});
    specs.push_back({"hidden_bias", 1, mlp});
    output_ = specs.size();
    specs.push_back({"output", outputs, mlp});
    specs.push_back({"output_bias", 1, outputs});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "doc-classifier"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective_; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    const auto inputs = tensor < hidden_ ? units_ : (*tensors_)[tensor < output_ ? hidden_ : output_].cols;
    const float range = tensor < embedding_ ? user_init_ : 1.0F / std::sqrt(static_cast<float>(inputs));
    for (auto& value : values) value = tensor == embedding_ ? stream.normal() : stream.uniform(-range, range);
  }

  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    return step_gradient(weights, batch, nullptr, out);
  }
  double gradient_with(std::span<const tensor_view> weights, const examples_view& batch, const feature_loss& added,
                       gradient_views& out) const override {
    return step_gradient(weights, batch, &added, out);
  }

  std::uint32_t width() const override { return (*tensors_)[output_].cols; }
  linear_head head() const override { return {output_, output_ + 1}; }
  void features(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    each_block(weights, batch, [&](std::size_t first, const examples_view&, const text_pass& pass) {
      copy_in_order(pass.hidden, pass.packed.order, out.data() + first * width());
    });
  }

  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    each_block(weights, batch, [&](std::size_t first, const examples_view& block, text_pass& pass) {
      const auto put = [&](std::size_t place, float value) { out[first + pass.packed.order[place]] = value; };
      if (objective_ == objective::logistic) {
        const auto odds = log_odds(weights, pass);
        for (std::size_t place = 0; place < block.size(); ++place) put(place, odds.data[place]);
        return;
      }
      pass.targets.assign(block.size(), 0);  // arbitrary: the losses are not used
      rank_classes(weights, pass);
      for (std::size_t place = 0; place < block.size(); ++place) put(place, static_cast<float>(pass.likeliest[place]));
    });
  }

  std::uint32_t classes() const override { return objective_ == objective::logistic ? 2 : (*tensors_)[output_].rows; }
  void probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<float> out) const override {
    each_block(weights, batch, [&](std::size_t first, const examples_view& block, text_pass& pass) {
      const auto scores = out.subspan(first * classes(), block.size() * classes());
      if (objective_ == objective::categorical)
        return softmax_output_probabilities(output_of(weights), pass.hidden, pass.packed.order, scores, step_arena());
      const auto odds = log_odds(weights, pass);
      for (std::size_t place = 0; place < block.size(); ++place) {
        const float probability = sigmoid(odds.data[place]);
        scores[2 * pass.packed.order[place]] = 1.0F - probability;
        scores[2 * pass.packed.order[place] + 1] = probability;
      }
    });
  }

  void score(std::span<const tensor_view> weights, const examples_view& batch, class_scores& scores) const override {
    if (objective_ != objective::categorical) return;
    each_block(weights, batch, [&](std::size_t, const examples_view& block, text_pass& pass) {
      targets_of(block, pass);
      scores.loss += rank_classes(weights, pass);
      scores.predictions += block.size();
      for (std::size_t place = 0; place < block.size(); ++place)
        scores.correct += pass.likeliest[place] == pass.targets[place] ? 1 : 0;
    });
  }

 private:
  static lstm_weights direction_of(std::span<const tensor_view> weights, std::size_t first) {
    return {weights[first], weights[first + 1], weights[first + 2].data};
  }
  blstm_weights layer_of(std::span<const tensor_view> weights) const {
    return {direction_of(weights, embedding_ + 1), direction_of(weights, embedding_ + 4)};
  }
  dense_weights hidden_of(std::span<const tensor_view> weights) const {
    return {weights[hidden_], weights[hidden_ + 1].data};
  }
  dense_weights output_of(std::span<const tensor_view> weights) const {
    return {weights[output_], weights[output_ + 1].data};
  }

  /// The row of `user` that belongs to an example.
  std::uint32_t user_row(const examples_view& batch, std::size_t example) const {
    return user_table_ && !batch.owners.empty() ? batch.owners[example] : 0;
  }

  static std::span<const std::uint32_t> targets_of(const examples_view& batch, text_pass& pass) {
    pass.targets.resize(batch.size());
    for (std::size_t place = 0; place < batch.size(); ++place)
      pass.targets[place] = static_cast<std::uint32_t>(batch.labels[pass.packed.order[place]]);
    return pass.targets;
  }

  /// Calls work(first example, the block's examples, its pass) for blocks of a few texts.
  template <class Work>
  void each_block(std::span<const tensor_view> weights, const examples_view& batch, const Work& work) const {
    auto& pass = thread_pass();
    for (std::size_t first = 0; first < batch.size(); first += block_texts) {
      const auto block = batch.slice(first, std::min(first + block_texts, batch.size()));
      forward(weights, block, pass, nullptr);
      work(first, block, pass);
    }
  }

  /// @param added a term in the features; null: none
  double step_gradient(std::span<const tensor_view> weights, const examples_view& batch, const feature_loss* added,
                       gradient_views& out) const {
    auto& pass = thread_pass();
    forward(weights, batch, pass, out.noise);
    tensor_view d_hidden;
    if (any_trained(out, 0, output_)) d_hidden = make_matrix(step_arena(), pass.hidden.rows, pass.hidden.cols);
    const dense_gradient gradient{out.data[output_], out.data[output_ + 1]};
    const double mean = objective_ == objective::logistic
                            ? logistic_gradient(weights, batch, pass, gradient, d_hidden)
                            : softmax_output_gradient(output_of(weights), pass.hidden, targets_of(batch, pass),
                                                      gradient, d_hidden, step_arena());
    double sum = mean * static_cast<double>(batch.size());
    if (added != nullptr) sum += add_feature_term(pass.hidden, pass.packed.order, *added, d_hidden, step_arena());
    if (d_hidden.data != nullptr) backward(weights, batch, pass, d_hidden, out);
    return sum;
  }

  /// Packs the texts, truncated to max_length.
  void lay_out(const examples_view& batch, text_pass& pass) const {
    pass.lengths.clear();
    for (std::size_t i = 0; i < batch.size(); ++i)
      pass.lengths.push_back(std::min(batch.offsets[i + 1] - batch.offsets[i], max_length_));
    pack(pass.lengths, pass.packed);
    pass.tokens.resize(pass.packed.rows());
    for (std::uint32_t place = 0; place < pass.packed.count(); ++place) {
      const auto text = pass.packed.order[place];
      for (std::uint32_t step = 0; step < pass.lengths[text]; ++step)
        pass.tokens[pass.packed.row(place, step)] = batch.features[batch.offsets[text] + step];
    }
  }

  void forward(std::span<const tensor_view> weights, const examples_view& batch, text_pass& pass,
               random_stream* noise) const {
    auto& memory = step_arena();
    memory.clear();
    lay_out(batch, pass);
    pass.x = make_matrix(memory, pass.packed.rows(), weights[embedding_].cols);
    embed(weights[embedding_], pass.tokens, pass.x);
    pass.states = blstm_forward(layer_of(weights), pass.packed, pass.x, memory);
    const auto text = make_matrix(memory, batch.size(), 2 * units_);
    pool(pass, text);
    pass.text_mask = drop_by(noise, dropout_, text, memory);
    pass.joint = make_matrix(memory, batch.size(), 2 * units_ + user_width_);
    for (std::size_t place = 0; place < batch.size(); ++place) {
      float* user_part = std::copy_n(text.row(place), text.cols, pass.joint.row(place));
      if (user_width_ > 0)
        std::copy_n(weights[0].row(user_row(batch, pass.packed.order[place])), user_width_, user_part);
    }
    pass.hidden = make_matrix(memory, batch.size(), weights[hidden_].rows);
    dense_forward(hidden_of(weights), pass.joint, pass.hidden);
    relu(pass.hidden);
    pass.hidden_mask = drop_by(noise, dropout_, pass.hidden, memory);
  }

  void pool(text_pass& pass, const tensor_view& text) const {
    if (!max_pooling_) return last_states(pass.packed, pass.states.after, text);
    pass.pooled_from.resize(text.size());
    max_over_steps(pass.packed, pass.states.after, text, pass.pooled_from);
  }

  /// One log-odds per place.
  tensor_view log_odds(std::span<const tensor_view> weights, const text_pass& pass) const {
    const auto odds = make_matrix(step_arena(), pass.hidden.rows, 1);
    dense_forward(output_of(weights), pass.hidden, odds);
    return odds;
  }

  /// Finds the most likely classes; returns the sum of the losses of the targets.
  double rank_classes(std::span<const tensor_view> weights, text_pass& pass) const {
    pass.likeliest.resize(pass.targets.size());
    return softmax_output_score(output_of(weights), pass.hidden, pass.targets, pass.likeliest, step_arena());
  }

  /// As softmax_output_gradient() for labels 0 and 1.
  double logistic_gradient(std::span<const tensor_view> weights, const examples_view& batch, const text_pass& pass,
                           const dense_gradient& gradient, const tensor_view& d_hidden) const {
    const auto odds = log_odds(weights, pass);
    const float per_example = 1.0F / static_cast<float>(batch.size());
    double loss = 0.0;
    for (std::size_t place = 0; place < batch.size(); ++place) {
      float& value = odds.data[place];
      const float y = batch.labels[pass.packed.order[place]];
      loss += logistic_loss(value, y);
      value = (sigmoid(value) - y) * per_example;
    }
    dense_backward(output_of(weights), pass.hidden, odds, gradient, d_hidden);
    return loss / static_cast<double>(batch.size());
  }

  /// From d_hidden = dL/d(hidden), which is overwritten: the gradients of all but the output layer.
  void backward(std::span<const tensor_view> weights, const examples_view& batch, const text_pass& pass,
                const tensor_view& d_hidden, gradient_views& out) const {
    drop(pass.hidden_mask, d_hidden.data);
    relu_backward(pass.hidden, d_hidden);
    tensor_view d_joint;
    if (any_trained(out, 0, hidden_)) d_joint = make_matrix(step_arena(), pass.joint.rows, pass.joint.cols);
    dense_backward(hidden_of(weights), pass.joint, d_hidden, {out.data[hidden_], out.data[hidden_ + 1]}, d_joint);
    if (d_joint.data == nullptr) return;
    if (any_trained(out, 0, embedding_)) user_gradient(batch, pass, d_joint, out);
    if (any_trained(out, embedding_, hidden_)) text_gradient(weights, pass, d_joint, out);
  }

  void user_gradient(const examples_view& batch, const text_pass& pass, const tensor_view& d_joint,
                     gradient_views& out) const {
    auto& marks = out.by_client;
    if (!user_table_) std::fill_n(out.data[0], user_width_, 0.0F);
    for (std::size_t place = 0; place < batch.size(); ++place) {
      const auto row = user_row(batch, pass.packed.order[place]);
      float* target = out.data[0] + std::size_t{row} * user_width_;
      if (user_table_ && marks.stamp[row] != marks.now) {
        marks.stamp[row] = marks.now;
        marks.touched[marks.count++] = row;
        std::fill_n(target, user_width_, 0.0F);
      }
      kernels().add_rows(target, d_joint.row(place) + 2 * units_, 1, user_width_);
    }
  }

  void text_gradient(std::span<const tensor_view> weights, const text_pass& pass, const tensor_view& d_joint,
                     const gradient_views& out) const {
    auto& memory = step_arena();
    const auto d_text = make_matrix(memory, d_joint.rows, 2 * units_);
    for (std::size_t place = 0; place < d_text.rows; ++place)
      std::copy_n(d_joint.row(place), d_text.cols, d_text.row(place));
    drop(pass.text_mask, d_text.data);
    const auto d_after = make_matrix(memory, pass.x.rows, 2 * units_);
    if (max_pooling_)
      max_over_steps_backward(d_text, pass.pooled_from, d_after);
    else
      last_states_backward(pass.packed, d_text, d_after);
    tensor_view d_x;
    if (out.data[embedding_] != nullptr) d_x = make_matrix(memory, pass.x.rows, pass.x.cols);
    const auto target = [&](std::size_t t) { return out.data[embedding_ + t]; };
    blstm_backward(layer_of(weights), pass.packed, pass.x, pass.states, d_after,
                   {{target(1), target(2), target(3)}, {target(4), target(5), target(6)}}, d_x, memory);
    if (d_x.data == nullptr) return;
    std::fill_n(out.data[embedding_], weights[embedding_].size(), 0.0F);
    embed_backward(pass.tokens, d_x, out.data[embedding_]);
  }

  models::objective objective_;
  std::uint32_t units_;
  std::uint32_t user_width_;
  std::uint32_t max_length_;
  bool max_pooling_;
  bool user_table_;
  float dropout_;
  float user_init_;
  std::size_t embedding_ = 0;  ///< tensors; `user`, if present, is the first
  std::size_t hidden_ = 0;
  std::size_t output_ = 0;
  layout_ptr tensors_;
};

result<std::shared_ptr<const model>> build(const option_values& options, const data_facts& facts) {
  const bool classes = facts.labels == objective::logistic || facts.labels == objective::categorical;
  if (!classes || facts.words == 0)
    return fail(error::kind::usage, "model.kind", "doc-classifier needs texts with a class each, the data has others",
                "choose a dataset of labelled texts, or another model");
  if (options.integer("user_embedding") == 0 && options.flag("user_table"))
    return fail(error::kind::usage, "model.user_table", "there is no user embedding to keep a table of",
                "set model.user_embedding, or leave the table out");
  return std::make_shared<doc_classifier>(options, facts);
}

std::vector<option_spec> options() {
  return {
      width_option("embedding", 32, "Width of the embedding of characters or words."),
      width_option("hidden", 64, "Units of the LSTM, in each of its two directions."),
      choice_option("pooling", "max",
                    "Pooling into the text vector: the largest value of each unit over the text, or its last states.",
                    {"max", "last"}),
      width_option("mlp", 128, "Units of the hidden layer between the vectors of text and user and the classes."),
      integer_option("user_embedding", 4, "Width of the user's vector (tensor user); 0: none, one model for all users.",
                     {0, 4096}),
      flag_option("user_table", false,
                  "Keep all user vectors in one shared table (clients x user_embedding) instead of one per client."),
      number_option("user_init", 0.0, "User vectors start uniform in (-user_init, user_init).", {0}),
      integer_option("max_length", 256, "Texts are cut to this many tokens.", {1, 1'000'000}),
      number_option("dropout", 0.0, "Share of the text vector and of the hidden layer dropped in training.", {0, 0.99}),
  };
}

}  // namespace

model_entry doc_classifier_entry() {
  model_entry entry;
  entry.kind = "doc-classifier";
  entry.doc = "Text classifier: embedding, bidirectional LSTM, MLP on the vectors of text and user.";
  entry.options = options();
  entry.build = build;
  return entry;
}

}  // namespace furlong::models
