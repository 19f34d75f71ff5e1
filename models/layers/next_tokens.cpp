#include "models/layers/next_tokens.hpp"

#include <algorithm>

namespace furlong::models {

void next_tokens::pack_inputs(const token_sequences& sequences, std::uint32_t withheld) {
  lengths_.clear();
  for (std::size_t i = 0; i < sequences.count(); ++i) {
    const auto tokens = static_cast<std::uint32_t>(sequences[i].size());
    lengths_.push_back(tokens - std::min(tokens, withheld));
  }
  pack(lengths_, packed);
  inputs.resize(packed.rows());
  for (std::uint32_t place = 0; place < packed.count(); ++place) {
    const auto source = packed.order[place];
    for (std::uint32_t t = 0; t < lengths_[source]; ++t) inputs[packed.row(place, t)] = sequences[source][t];
  }
}

void next_tokens::lay_out(const token_sequences& sequences, std::uint32_t words) {
  pack_inputs(sequences, 1);
  targets.resize(packed.rows());
  for (std::uint32_t place = 0; place < packed.count(); ++place) {
    const auto source = packed.order[place];
    for (std::uint32_t t = 0; t < lengths_[source]; ++t) {
      const auto next = sequences[source][t + 1];
      targets[packed.row(place, t)] = next < words ? next : unknown_token;
    }
  }
}

void next_tokens::lay_out_inputs(const token_sequences& sequences) {
  pack_inputs(sequences, 0);
  targets.clear();
}

void add_scores(double loss, std::span<const std::uint32_t> targets, std::span<const std::uint32_t> likeliest,
                class_scores& scores) {
  scores.loss += loss;
  scores.predictions += targets.size();
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const bool correct = likeliest[i] == targets[i];
    const bool word = targets[i] >= first_word;
    const bool inside = targets[i] != end_token;
    scores.correct += correct ? 1 : 0;
    scores.words += word ? 1 : 0;
    scores.words_correct += word && correct ? 1 : 0;
    scores.inside += inside ? 1 : 0;
    scores.inside_correct += inside && correct ? 1 : 0;
  }
}

}  // namespace furlong::models
