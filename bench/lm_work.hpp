// The work of bench_lm: FedAtt's client, gru-lm small with tied weights on Penn Treebank.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "bench/trainee.hpp"

namespace furlong::bench {

/// Sentences as token numbers, start and end tokens included.
struct text {
  std::string source;  ///< "ptb" or "synthetic"
  std::uint32_t words = 0;
  models::examples sentences;
};

/// ptb/ptb.train.txt from $FURLONG_DATA, ./data or ../shared/data; otherwise a text of its lengths with 10,000 words by
/// Zipf's law.
[[nodiscard]] text load_text();

/// The model, ready to train on all of a text: SGD with rate .01 and momentum .5 on sentences, whose mean loss is per
/// token.
[[nodiscard]] std::unique_ptr<trainee> make_trainee(const text& from);
/// Floating-point operations of a step for each token: products alone, forward and twice that backward.
[[nodiscard]] double operations_per_token(const models::layout& of);

/// Writes tokens.u32, offsets.u32 and weights.f32 (tensors one after the other), little-endian, and facts.json with
/// their shapes and the losses of the first steps in batches of each of `batch_sizes`.
void dump_work(const text& from, const std::vector<std::size_t>& batch_sizes, const std::filesystem::path& folder);

}  // namespace furlong::bench
