// Next-word prediction: embedding, LSTM, a dense projection, logits over the vocabulary (FedRecon: Singhal, Sidahmed,
// Garrett, Wu, Rush, Prakash: "Federated reconstruction: partially local federated learning", NeurIPS 2021; 96-670-96).
// Tensors, in order: embedding (words x embedding); oov_embedding (features - words rows: the hash buckets of unknown
// words, a separate tensor so that it can be private; absent if the data has no buckets); lstm_input, lstm_recurrent,
// lstm_bias (as layers/lstm.hpp has them); projection (projection x hidden) and projection_bias, without activation;
// output (words x projection), output_bias. Buckets are inputs only: as a target, a word outside the vocabulary counts
// as the unknown word. Initial values: embeddings uniform in (-init, init), output_bias zero, all others uniform in 1 /
// sqrt(inputs), the LSTM's in 1 / sqrt(hidden).
#include <algorithm>
#include <cmath>

#include "models/class_model.hpp"
#include "models/entries.hpp"
#include "models/layers/lstm.hpp"
#include "models/layers/matrices.hpp"
#include "models/layers/next_tokens.hpp"
#include "models/layers/softmax_output.hpp"
#include "models/sequence_model.hpp"

namespace furlong::models {

namespace {

/// Number of sentences that are predicted or scored at once.
constexpr std::size_t block_sentences = 32;

/// The activations of a batch; reused for the next batch.
struct batch_pass {
  next_tokens tokens;
  tensor_view x;
  lstm_states states;
  tensor_view projected;
  std::vector<std::uint32_t> likeliest;
};

/// The calling thread's pass.
batch_pass& thread_pass() {
  thread_local batch_pass of_thread;
  return of_thread;
}

class lstm_nwp final : public class_model {
 public:
  lstm_nwp(const option_values& options, const data_facts& facts)
      : hidden_(width_of(options, "hidden")), words_(facts.words), init_(static_cast<float>(options.number("init"))) {
    const auto embedding = width_of(options, "embedding");
    const auto projection = width_of(options, "projection");
    std::vector<tensor_spec> specs = {{"embedding", words_, embedding}};
    if (facts.features > facts.words) specs.push_back({"oov_embedding", facts.features - words_, embedding});
    lstm_ = specs.size();
    specs.push_back({"lstm_input", 4 * hidden_, embedding});
    specs.push_back({"lstm_recurrent", 4 * hidden_, hidden_});
    specs.push_back({"lstm_bias", 1, 4 * hidden_});
    projection_ = specs.size();
    specs.push_back({"projection", projection, hidden_});
    specs.push_back({"projection_bias", 1, projection});
    output_ = specs.size();
    specs.push_back({"output", words_, projection});
    specs.push_back({"output_bias", 1, words_});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "lstm-nwp"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::next_token; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    const auto inputs = tensor < output_ ? hidden_ : (*tensors_)[output_].cols;
    float range = 1.0F / std::sqrt(static_cast<float>(inputs));
    if (tensor < lstm_) range = init_;
    if (tensor == output_ + 1) range = 0.0F;
    for (auto& value : values) value = stream.uniform(-range, range);
  }

  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    auto& memory = step_arena();
    auto& pass = thread_pass();
    memory.clear();
    pass.tokens.lay_out(sequences_of(batch), words_);
    if (pass.tokens.targets.empty()) {
      zero_gradients(weights, out);
      return 0.0;
    }
    forward(weights, pass);
    tensor_view d_projected;
    if (any_trained(out, 0, output_)) d_projected = make_matrix(memory, pass.projected.rows, pass.projected.cols);
    const double mean = softmax_output_gradient(dense_at(weights, output_), pass.projected, pass.tokens.targets,
                                                {out.data[output_], out.data[output_ + 1]}, d_projected, memory);
    if (d_projected.data != nullptr) backward(weights, pass, d_projected, out);
    return mean * static_cast<double>(batch.size());
  }

  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    after_last(weights, batch, [&](std::size_t first, const tensor_view& last, batch_pass& pass) {
      pass.tokens.targets.assign(last.rows, unknown_token);  // arbitrary: the losses are not used
      rank_words(weights, last, pass);
      for (std::size_t place = 0; place < last.rows; ++place)
        out[first + pass.tokens.packed.order[place]] = static_cast<float>(pass.likeliest[place]);
    });
  }

  std::uint32_t classes() const override { return words_; }
  void probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<float> out) const override {
    after_last(weights, batch, [&](std::size_t first, const tensor_view& last, const batch_pass& pass) {
      softmax_output_probabilities(dense_at(weights, output_), last, pass.tokens.packed.order,
                                   out.subspan(first * words_), step_arena());
    });
  }

  void score(std::span<const tensor_view> weights, const examples_view& batch, class_scores& to) const override {
    auto& pass = thread_pass();
    each_block(batch, [&](std::size_t, const examples_view& block) {
      pass.tokens.lay_out(sequences_of(block), words_);
      if (pass.tokens.targets.empty()) return;
      forward(weights, pass);
      const double loss = rank_words(weights, pass.projected, pass);
      add_scores(loss, pass.tokens.targets, pass.likeliest, to);
    });
  }

 private:
  /// Calls work(first sentence, the block's sentences) block by block; the arena is cleared before each.
  template <class Work>
  static void each_block(const examples_view& batch, const Work& work) {
    for (std::size_t first = 0; first < batch.size(); first += block_sentences) {
      step_arena().clear();
      work(first, batch.slice(first, std::min(first + block_sentences, batch.size())));
    }
  }

  lstm_weights layer_of(std::span<const tensor_view> weights) const {
    return {weights[lstm_], weights[lstm_ + 1], weights[lstm_ + 2].data};
  }
  static dense_weights dense_at(std::span<const tensor_view> weights, std::size_t tensor) {
    return {weights[tensor], weights[tensor + 1].data};
  }

  /// The projection of every state.
  void forward(std::span<const tensor_view> weights, batch_pass& pass) const {
    auto& memory = step_arena();
    pass.x = make_matrix(memory, pass.tokens.inputs.size(), weights[0].cols);
    for (std::size_t i = 0; i < pass.x.rows; ++i) {
      const auto token = pass.tokens.inputs[i];
      const float* from = token < words_ ? weights[0].row(token) : weights[1].row(token - words_);
      std::copy_n(from, pass.x.cols, pass.x.row(i));
    }
    pass.states = lstm_forward(layer_of(weights), pass.tokens.packed, pass.x, memory);
    pass.projected = make_matrix(memory, pass.x.rows, weights[projection_].rows);
    dense_forward(dense_at(weights, projection_), pass.states.after, pass.projected);
  }

  /// From d_projected = dL/d(projected): the gradients of all but the output layer.
  void backward(std::span<const tensor_view> weights, const batch_pass& pass, const tensor_view& d_projected,
                const gradient_views& out) const {
    auto& memory = step_arena();
    tensor_view d_after;
    if (any_trained(out, 0, projection_)) d_after = make_matrix(memory, pass.x.rows, hidden_);
    dense_backward(dense_at(weights, projection_), pass.states.after, d_projected,
                   {out.data[projection_], out.data[projection_ + 1]}, d_after);
    if (d_after.data == nullptr) return;
    tensor_view d_x;
    if (any_trained(out, 0, lstm_)) d_x = make_matrix(memory, pass.x.rows, pass.x.cols);
    lstm_backward(layer_of(weights), pass.tokens.packed, pass.x, pass.states, d_after,
                  {out.data[lstm_], out.data[lstm_ + 1], out.data[lstm_ + 2]}, d_x, memory);
    if (d_x.data == nullptr) return;
    for (std::size_t t = 0; t < lstm_; ++t)
      if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
    for (std::size_t i = 0; i < d_x.rows; ++i) {
      const auto token = pass.tokens.inputs[i];
      const bool known = token < words_;
      float* table = out.data[known ? 0 : 1];
      if (table != nullptr)
        kernels().add_rows(table + std::size_t{known ? token : token - words_} * d_x.cols, d_x.row(i), 1, d_x.cols);
    }
  }

  /// Finds the most likely words; returns the sum of the losses of the targets.
  double rank_words(std::span<const tensor_view> weights, const tensor_view& projected, batch_pass& pass) const {
    pass.likeliest.resize(projected.rows);
    return softmax_output_score(dense_at(weights, output_), projected, pass.tokens.targets, pass.likeliest,
                                step_arena());
  }

  /// Calls work(first sentence, the projection after the last token of each, in the order of places) block by block.
  template <class Work>
  void after_last(std::span<const tensor_view> weights, const examples_view& batch, const Work& work) const {
    auto& pass = thread_pass();
    each_block(batch, [&](std::size_t first, const examples_view& block) {
      pass.tokens.lay_out_inputs(sequences_of(block));
      forward(weights, pass);
      work(first, last_rows(pass.tokens.packed, pass.projected, step_arena()), pass);
    });
  }

  std::uint32_t hidden_;
  std::uint32_t words_;
  float init_;
  std::size_t lstm_ = 0;  ///< the first of its tensors, as the next two
  std::size_t projection_ = 0;
  std::size_t output_ = 0;
  layout_ptr tensors_;
};

result<std::shared_ptr<const model>> build(const option_values& options, const data_facts& facts) {
  if (facts.labels != objective::next_token)
    return fail(error::kind::usage, "model.kind", "lstm-nwp needs sentences, the data has labels to predict",
                "choose a dataset of text, or another model");
  return std::make_shared<lstm_nwp>(options, facts);
}

}  // namespace

model_entry lstm_nwp_entry() {
  model_entry entry;
  entry.kind = "lstm-nwp";
  entry.doc = "Next-word prediction: embedding, LSTM, projection, softmax; unknown words in a separate tensor.";
  entry.options = {
      width_option("embedding", 96, "Width of the embeddings."),
      width_option("hidden", 670, "Units of the LSTM."),
      width_option("projection", 96, "Width of the layer between the LSTM and the logits."),
      number_option("init", 0.05, "Embeddings start uniform in (-init, init).", {0}),
  };
  entry.build = build;
  return entry;
}

}  // namespace furlong::models
