// Next-word prediction: embedding, LSTM, a dense projection, logits over the vocabulary (FedRecon: Singhal, Sidahmed,
// Garrett, Wu, Rush, Prakash: "Federated reconstruction: partially local federated learning", NeurIPS 2021; 96-670-96).
//
// Tensors, in order: embedding (words x embedding); oov_embedding (features - words rows: the buckets that unknown
// words are hashed into, a tensor of its own so that it can be private; absent when the data has no buckets);
// lstm_input, lstm_recurrent, lstm_bias (as layers/lstm.hpp has them); projection (projection x hidden) and
// projection_bias, without activation; output (words x projection), output_bias. Buckets are inputs only: as a target,
// a word outside the vocabulary counts as the unknown word.
//
// First values: embeddings uniform in (-init, init), output_bias zero, all others uniform in 1 / sqrt(inputs), the
// LSTM's in 1 / sqrt(hidden).
#pragma once

#include "models/model.hpp"

namespace furlong::models {

/// build() fails (kind usage) when the data is not of sentences. Thread-safe, as all models (model.hpp).
[[nodiscard]] model_entry lstm_nwp_entry();

}  // namespace furlong::models
