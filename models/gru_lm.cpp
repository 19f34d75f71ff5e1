// A recurrent language model: embedding, gated recurrent units, softmax over the vocabulary (FedAtt: Ji, Pan, Long,
// Li, Jiang, Huang: "Learning private neural language modeling with attentive aggregation", IJCNN 2019).
//
// Tensors, in order: embedding (features x embedding); for each layer l from 0: gru<l>_input (3 hidden x in),
// gru<l>_recurrent (3 hidden x hidden), gru<l>_bias_input and gru<l>_bias_recurrent (1 x 3 hidden), as layers/gru.hpp
// has them; output (words x hidden), absent if `tied`: the embedding is used instead; output_bias (1 x words). Dropout
// applies to the input of each layer and to the output of the last (Zaremba, Sutskever, Vinyals 2014). Initial values:
// embedding and output uniform in (-init, init), output_bias zero, the layers' uniform in 1 / sqrt(hidden). Protocol
// "fedatt-2018" reproduces the batching of the published code, for comparison with the published numbers only. A batch
// of B sentences, start tokens included, is truncated to the length of its shortest sentence and transposed: for each
// position t, the sequence is token t of sentence 0, 1, ..., B - 1. The model is trained and scored on token t of
// sentence b + 1 given token t of the sentences up to b. This is not a language model: no word is predicted from words
// of its own sentence, tokens beyond the shortest sentence are never scored, and at t = 0 all tokens are the start
// token, a trivial prediction. Its perplexities are far lower than those of language models and not comparable with
// them. score() depends on the batches: it takes `score_batch` sentences at a time, in order. A batch of one sentence
// has no predictions, and its gradient is zero. predict() reads each sentence like a language model, which is
// meaningless here.
#include <algorithm>
#include <cmath>

#include "models/entries.hpp"
#include "models/layers/arena.hpp"
#include "models/layers/dropout.hpp"
#include "models/layers/embedding.hpp"
#include "models/layers/gru.hpp"
#include "models/layers/matrices.hpp"
#include "models/sequence_model.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t embedding = 0;
constexpr std::size_t tensors_per_layer = 4;

/// The first of the tensors of layer l: input, recurrent, bias_input, bias_recurrent.
constexpr std::size_t first_of(std::size_t l) { return 1 + l * tensors_per_layer; }

/// A layer's input, states and dropout mask of the input.
struct layer_pass {
  tensor_view x;
  std::span<const float> mask;
  gru_states states;
};

/// The activations of a batch; reused for the next batch.
struct gru_pass {
  std::vector<std::uint32_t> transposed;
  std::vector<std::uint32_t> transposed_offsets;
  std::vector<layer_pass> layers;
  std::span<const float> mask;  ///< of the input of the output layer
};

/// The calling thread's pass.
gru_pass& thread_pass() {
  thread_local gru_pass of_thread;
  return of_thread;
}

/// Position t of each sentence in turn, for each t below the length of the shortest: see gru_lm.cpp.
token_sequences transpose(const token_sequences& sentences, gru_pass& pass) {
  std::size_t shortest = sentences[0].size();
  for (std::size_t i = 1; i < sentences.count(); ++i) shortest = std::min(shortest, sentences[i].size());
  pass.transposed.clear();
  pass.transposed_offsets.assign(1, 0);
  for (std::size_t t = 0; t < shortest; ++t) {
    for (std::size_t i = 0; i < sentences.count(); ++i) pass.transposed.push_back(sentences[i][t]);
    pass.transposed_offsets.push_back(static_cast<std::uint32_t>(pass.transposed.size()));
  }
  return {pass.transposed, pass.transposed_offsets};
}

struct lm_sizes {
  std::uint32_t embedding;
  std::uint32_t hidden;
};

lm_sizes sizes_of(const option_values& options) {
  const auto& size = options.text("size");
  const std::int64_t both = size == "small" ? 300 : size == "medium" ? 650 : 1500;
  const auto given = [&](const char* name) {
    const auto own = options.integer(name);
    return static_cast<std::uint32_t>(own > 0 ? own : both);
  };
  return {given("embedding"), given("hidden")};
}

class gru_lm final : public next_token_model {
 public:
  gru_lm(const option_values& options, const data_facts& facts)
      : next_token_model(facts.words, static_cast<std::size_t>(options.integer("score_batch"))),
        layers_(static_cast<std::size_t>(options.integer("layers"))),
        hidden_(sizes_of(options).hidden),
        tied_(options.flag("tied")),
        dropout_(static_cast<float>(options.number("dropout"))),
        init_(static_cast<float>(options.number("init"))),
        transposed_(options.text("protocol") == "fedatt-2018") {
    const auto inputs = sizes_of(options).embedding;
    std::vector<tensor_spec> specs = {{"embedding", facts.features, inputs}};
    for (std::size_t l = 0; l < layers_; ++l) {
      const auto name = "gru" + std::to_string(l);
      specs.push_back({name + "_input", 3 * hidden_, l == 0 ? inputs : hidden_});
      specs.push_back({name + "_recurrent", 3 * hidden_, hidden_});
      specs.push_back({name + "_bias_input", 1, 3 * hidden_});
      specs.push_back({name + "_bias_recurrent", 1, 3 * hidden_});
    }
    inner_ = specs.size();
    output_ = tied_ ? embedding : inner_;
    if (!tied_) specs.push_back({"output", words_, hidden_});
    output_bias_ = specs.size();
    specs.push_back({"output_bias", 1, words_});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "gru-lm"; }

  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    float range = 1.0F / std::sqrt(static_cast<float>(hidden_));
    if (tensor == embedding || tensor == output_) range = init_;
    if (tensor == output_bias_) range = 0.0F;
    for (auto& value : values) value = stream.uniform(-range, range);
  }

 private:
  token_sequences arrange(const token_sequences& sentences) const override {
    return transposed_ ? transpose(sentences, thread_pass()) : sentences;
  }

  static gru_weights layer_of(std::span<const tensor_view> weights, std::size_t l) {
    const auto t = first_of(l);
    return {weights[t], weights[t + 1], weights[t + 2].data, weights[t + 3].data};
  }

  tensor_view forward(std::span<const tensor_view> weights, const next_tokens& tokens,
                      random_stream* noise) const override {
    auto& memory = step_arena();
    auto& pass = thread_pass();
    pass.layers.resize(layers_);
    auto x = make_matrix(memory, tokens.inputs.size(), weights[embedding].cols);
    embed(weights[embedding], tokens.inputs, x);
    for (std::size_t l = 0; l < layers_; ++l) {
      auto& layer = pass.layers[l];
      layer.x = x;
      layer.mask = drop_by(noise, dropout_, x, memory);
      layer.states = gru_forward(layer_of(weights, l), tokens.packed, x, memory);
      x = layer.states.after;
    }
    pass.mask = drop_by(noise, dropout_, x, memory);
    return x;
  }

  void backward(std::span<const tensor_view> weights, const next_tokens& tokens, const tensor_view& d_output,
                const gradient_views& out) const override {
    auto& memory = step_arena();
    const auto& pass = thread_pass();
    auto d_h = d_output;
    drop(pass.mask, d_h.data);
    for (std::size_t l = layers_; l-- > 0;) {
      const auto& layer = pass.layers[l];
      const auto t = first_of(l);
      const auto d_x = any_trained(out, 0, t) ? make_matrix(memory, layer.x.rows, layer.x.cols) : tensor_view{};
      gru_backward(layer_of(weights, l), tokens.packed, layer.x, layer.states, d_h,
                   {out.data[t], out.data[t + 1], out.data[t + 2], out.data[t + 3]}, d_x, memory);
      if (d_x.data == nullptr) return;
      drop(layer.mask, d_x.data);
      d_h = d_x;
    }
    // A tied embedding's gradient already holds the output layer's part.
    if (!tied_) std::fill_n(out.data[embedding], weights[embedding].size(), 0.0F);
    embed_backward(tokens.inputs, d_h, out.data[embedding]);
  }

  std::size_t layers_;
  std::uint32_t hidden_;
  bool tied_;
  float dropout_;
  float init_;
  bool transposed_;
};

result<std::shared_ptr<const model>> build(const option_values& options, const data_facts& facts) {
  if (facts.labels != objective::next_token)
    return fail(error::kind::usage, "model.kind", "gru-lm needs sentences, the data has labels to predict",
                "choose a dataset of text, or another model");
  if (options.flag("tied")) {
    const auto sizes = sizes_of(options);
    if (sizes.embedding != sizes.hidden)
      return fail(error::kind::usage, "model.tied",
                  "a tied output needs an embedding as wide as the last layer, not " + std::to_string(sizes.embedding) +
                      " and " + std::to_string(sizes.hidden),
                  "set model.embedding and model.hidden to the same number");
    if (facts.features != facts.words)
      return fail(error::kind::usage, "model.tied",
                  "a tied output has no classes for the buckets of unknown words, and the data has " +
                      std::to_string(facts.features - facts.words),
                  "set model.tied to false, or read the data without buckets");
  }
  return std::make_shared<gru_lm>(options, facts);
}

std::vector<option_spec> options() {
  return {
      choice_option("size", "small", "Width of embedding and layers: 300, 650 or 1500.", {"small", "medium", "large"}),
      integer_option("embedding", 0, "Width of the embedding; 0: as set by `size`.", {0, 16384}),
      integer_option("hidden", 0, "Units of each layer; 0: as set by `size`.", {0, 16384}),
      integer_option("layers", 1, "Recurrent layers.", {1, 16}),
      flag_option(
          "tied", false,
          "The embedding is also the output layer's weight; needs `embedding` equal to `hidden`, and data without "
          "buckets."),
      number_option("dropout", 0.0, "Share of the values dropped before each layer and before the output.", {0, 0.99}),
      number_option(
          "init", 0.1,
          "Embedding and output start uniform in (-init, init); layers in 1 / sqrt(hidden), the output's bias at 0.",
          {0}),
      choice_option(
          "protocol", "language-model",
          "language-model: each token is predicted from those before it. fedatt-2018: the batching of FedAtt's "
          "published code, no language model, for comparing with its published perplexities only.",
          {"language-model", "fedatt-2018"}),
      integer_option("score_batch", 10, "Sentences scored at once. Under fedatt-2018 the scores depend on it.", {1}),
  };
}

}  // namespace

model_entry gru_lm_entry() {
  model_entry entry;
  entry.kind = "gru-lm";
  entry.doc = "Language model: embedding, gated recurrent units, softmax over the vocabulary.";
  entry.options = options();
  entry.build = build;
  return entry;
}

}  // namespace furlong::models
