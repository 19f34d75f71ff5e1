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

#include "models/entries.hpp"
#include "models/layers/lstm.hpp"
#include "models/layers/matrices.hpp"
#include "models/sequence_model.hpp"

namespace furlong::models {

namespace {

/// Number of sentences that are predicted or scored at once.
constexpr std::size_t block_sentences = 32;

/// The activations of a batch.
struct nwp_pass {
  tensor_view x;
  lstm_states states;
};

/// The calling thread's pass.
nwp_pass& thread_nwp_pass() {
  thread_local nwp_pass of_thread;
  return of_thread;
}

class lstm_nwp final : public next_token_model {
 public:
  lstm_nwp(const option_values& options, const data_facts& facts)
      : next_token_model(facts.words, block_sentences),
        hidden_(width_of(options, "hidden")),
        init_(static_cast<float>(options.number("init"))) {
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
    inner_ = output_ = specs.size();
    output_bias_ = output_ + 1;
    specs.push_back({"output", words_, projection});
    specs.push_back({"output_bias", 1, words_});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "lstm-nwp"; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    const auto inputs = tensor < output_ ? hidden_ : (*tensors_)[output_].cols;
    float range = 1.0F / std::sqrt(static_cast<float>(inputs));
    if (tensor < lstm_) range = init_;
    if (tensor == output_bias_) range = 0.0F;
    for (auto& value : values) value = stream.uniform(-range, range);
  }

 private:
  lstm_weights layer_of(std::span<const tensor_view> weights) const {
    return {weights[lstm_], weights[lstm_ + 1], weights[lstm_ + 2].data};
  }
  dense_weights projection_of(std::span<const tensor_view> weights) const {
    return {weights[projection_], weights[projection_ + 1].data};
  }

  /// The projection of every state.
  tensor_view forward(std::span<const tensor_view> weights, const next_tokens& tokens,
                      random_stream* /*noise*/) const override {
    auto& memory = step_arena();
    auto& pass = thread_nwp_pass();
    pass.x = make_matrix(memory, tokens.inputs.size(), weights[0].cols);
    for (std::size_t i = 0; i < pass.x.rows; ++i) {
      const auto token = tokens.inputs[i];
      const float* source = token < words_ ? weights[0].row(token) : weights[1].row(token - words_);
      std::copy_n(source, pass.x.cols, pass.x.row(i));
    }
    pass.states = lstm_forward(layer_of(weights), tokens.packed, pass.x, memory);
    const auto projected = make_matrix(memory, pass.x.rows, weights[projection_].rows);
    dense_forward(projection_of(weights), pass.states.after, projected);
    return projected;
  }

  void backward(std::span<const tensor_view> weights, const next_tokens& tokens, const tensor_view& d_projected,
                const gradient_views& out) const override {
    auto& memory = step_arena();
    const auto& pass = thread_nwp_pass();
    tensor_view d_after;
    if (any_trained(out, 0, projection_)) d_after = make_matrix(memory, pass.x.rows, hidden_);
    dense_backward(projection_of(weights), pass.states.after, d_projected,
                   {out.data[projection_], out.data[projection_ + 1]}, d_after);
    if (d_after.data == nullptr) return;
    tensor_view d_x;
    if (any_trained(out, 0, lstm_)) d_x = make_matrix(memory, pass.x.rows, pass.x.cols);
    lstm_backward(layer_of(weights), tokens.packed, pass.x, pass.states, d_after,
                  {out.data[lstm_], out.data[lstm_ + 1], out.data[lstm_ + 2]}, d_x, memory);
    if (d_x.data == nullptr) return;
    for (std::size_t t = 0; t < lstm_; ++t)
      if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
    for (std::size_t i = 0; i < d_x.rows; ++i) {
      const auto token = tokens.inputs[i];
      const bool known = token < words_;
      float* table = out.data[known ? 0 : 1];
      if (table != nullptr)
        kernels().add_rows(table + std::size_t{known ? token : token - words_} * d_x.cols, d_x.row(i), 1, d_x.cols);
    }
  }

  std::uint32_t hidden_;
  float init_;
  std::size_t lstm_ = 0;  ///< the first of its tensors, as the next
  std::size_t projection_ = 0;
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
