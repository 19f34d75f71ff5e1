// Sentences laid out for a model that predicts each token from those before it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/layers/packed_sequences.hpp"
#include "models/model.hpp"

namespace furlong::models {

/// Sequence i is tokens[offsets[i]] to tokens[offsets[i + 1] - 1].
struct token_sequences {
  std::span<const std::uint32_t> tokens;
  std::span<const std::uint32_t> offsets;  ///< one more than sequences

  [[nodiscard]] std::size_t count() const { return offsets.size() - 1; }
  [[nodiscard]] std::span<const std::uint32_t> operator[](std::size_t i) const {
    return tokens.subspan(offsets[i], offsets[i + 1] - offsets[i]);
  }
};

/// The features of examples, in order.
[[nodiscard]] inline token_sequences sequences_of(const examples_view& batch) {
  return {batch.features, batch.offsets};
}

/// Inputs and targets of recurrent layers, in rows of the packing. Keeps its memory between batches. One thread at a
/// time.
struct next_tokens {
  packed_sequences packed;
  std::vector<std::uint32_t> inputs;
  std::vector<std::uint32_t> targets;

  /// Inputs are all tokens of a sequence except the last, targets all except the first; a target from `words` on
  /// becomes unknown_token. Sequences of fewer than two tokens have no rows.
  void lay_out(const token_sequences& sequences, std::uint32_t words);
  /// All tokens are inputs, and there are no targets.
  void lay_out_inputs(const token_sequences& sequences);

 private:
  void pack_inputs(const token_sequences& sequences, std::uint32_t withheld);
  std::vector<std::uint32_t> lengths_;
};

/// Adds the scores of predictions: the sum of the losses, and the most likely tokens in `likeliest` (as long as
/// `targets`).
void add_scores(double loss, std::span<const std::uint32_t> targets, std::span<const std::uint32_t> likeliest,
                class_scores& scores);

}  // namespace furlong::models
