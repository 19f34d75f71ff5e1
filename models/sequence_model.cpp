#include "models/sequence_model.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"
#include "models/layers/softmax_output.hpp"

namespace furlong::models {

option_spec width_option(std::string name, std::int64_t fallback, std::string doc) {
  return integer_option(std::move(name), fallback, std::move(doc), {1, 16384});
}

std::uint32_t width_of(const option_values& options, std::string_view name) {
  return static_cast<std::uint32_t>(options.integer(name));
}

bool any_trained(const gradient_views& out, std::size_t first, std::size_t last) {
  return std::ranges::any_of(out.data.subspan(first, last - first), [](const float* to) { return to != nullptr; });
}

namespace {

/// What the calling thread keeps from batch to batch.
struct token_pass {
  next_tokens tokens;
  std::vector<std::uint32_t> likeliest;
};

token_pass& token_pass_of_thread() {
  thread_local token_pass of_thread;
  return of_thread;
}

/// Writes the gradient of a batch that predicts nothing.
void zero_gradients(std::span<const tensor_view> weights, const gradient_views& out) {
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
}

/// The row of each sequence's last step, in the order of places; zeros for an empty sequence. of: rows x cols, packed.
tensor_view last_rows(const packed_sequences& packed, const tensor_view& states, arena& memory) {
  const auto last = make_matrix(memory, packed.count(), states.cols);
  std::fill_n(last.data, last.size(), 0.0F);
  for (std::uint32_t step = 0; step < packed.steps(); ++step)  // the last step of a sequence remains
    std::copy_n(states.row(packed.begin[step]), std::size_t{packed.active[step]} * states.cols, last.data);
  return last;
}

}  // namespace

/// Begins a step. False if the batch has no predictions.
bool next_token_model::lay_out(const examples_view& batch, next_tokens& tokens) const {
  step_arena().clear();
  tokens.lay_out(arrange(sequences_of(batch)), words_);
  return !tokens.targets.empty();
}

/// Calls work(first sentence, the block's sentences) block by block.
template <class Work>
void next_token_model::each_block(const examples_view& batch, const Work& work) const {
  for (std::size_t first = 0; first < batch.size(); first += block_)
    work(first, batch.slice(first, std::min(first + block_, batch.size())));
}

/// Calls work(first sentence, the outputs after the last token of each, in the order of places) block by block.
template <class Work>
void next_token_model::after_last(std::span<const tensor_view> weights, const examples_view& batch,
                                  const Work& work) const {
  auto& tokens = token_pass_of_thread().tokens;
  each_block(batch, [&](std::size_t first, const examples_view& block) {
    step_arena().clear();
    tokens.lay_out_inputs(sequences_of(block));
    const auto outputs = forward(weights, tokens, nullptr);
    work(first, last_rows(tokens.packed, outputs, step_arena()), tokens);
  });
}

double next_token_model::gradient(std::span<const tensor_view> weights, const examples_view& batch,
                                  gradient_views& out) const {
  auto& tokens = token_pass_of_thread().tokens;
  if (!lay_out(batch, tokens)) {
    zero_gradients(weights, out);
    return 0.0;
  }
  const auto h = forward(weights, tokens, out.noise);
  tensor_view d_h;
  if (any_trained(out, 0, inner_)) d_h = make_matrix(step_arena(), h.rows, h.cols);
  const double mean = softmax_output_gradient(output_of(weights), h, tokens.targets,
                                              {out.data[output_], out.data[output_bias_]}, d_h, step_arena());
  if (d_h.data != nullptr) backward(weights, tokens, d_h, out);
  return mean * static_cast<double>(batch.size());
}

void next_token_model::predict(std::span<const tensor_view> weights, const examples_view& batch,
                               std::span<float> out) const {
  auto& likeliest = token_pass_of_thread().likeliest;
  after_last(weights, batch, [&](std::size_t first, const tensor_view& last, next_tokens& tokens) {
    tokens.targets.assign(last.rows, unknown_token);  // arbitrary: the losses are not used
    likeliest.resize(last.rows);
    softmax_output_score(output_of(weights), last, tokens.targets, likeliest, step_arena());
    for (std::size_t place = 0; place < last.rows; ++place)
      out[first + tokens.packed.order[place]] = static_cast<float>(likeliest[place]);
  });
}

void next_token_model::probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                                     std::span<float> out) const {
  after_last(weights, batch, [&](std::size_t first, const tensor_view& last, const next_tokens& tokens) {
    softmax_output_probabilities(output_of(weights), last, tokens.packed.order, out.subspan(first * words_),
                                 step_arena());
  });
}

void next_token_model::score(std::span<const tensor_view> weights, const examples_view& batch,
                             class_scores& scores) const {
  auto& tokens = token_pass_of_thread().tokens;
  auto& likeliest = token_pass_of_thread().likeliest;
  each_block(batch, [&](std::size_t, const examples_view& block) {
    if (!lay_out(block, tokens)) return;
    const auto h = forward(weights, tokens, nullptr);
    likeliest.resize(tokens.targets.size());
    add_scores(softmax_output_score(output_of(weights), h, tokens.targets, likeliest, step_arena()), tokens.targets,
               likeliest, scores);
  });
}

}  // namespace furlong::models
