// A recurrent language model: embedding, gated recurrent units, softmax over the vocabulary (FedAtt: Ji, Pan, Long,
// Li, Jiang, Huang: "Learning private neural language modeling with attentive aggregation", IJCNN 2019).
//
// Tensors, in order: embedding (features x embedding); for each layer l from 0: gru<l>_input (3 hidden x in),
// gru<l>_recurrent (3 hidden x hidden), gru<l>_bias_input and gru<l>_bias_recurrent (1 x 3 hidden), as layers/gru.hpp
// has them; output (words x hidden), absent when `tied`: the embedding serves in its place; output_bias (1 x words).
// Dropout acts on what enters each layer and on what leaves the last (Zaremba, Sutskever, Vinyals 2014).
//
// First values: embedding and output uniform in (-init, init), output_bias zero, the layers' uniform in
// 1 / sqrt(hidden).
//
// Protocol "fedatt-2018" reproduces how the published code cut its batches, and is for comparisons with the published
// numbers only. There, a batch of B sentences, start tokens included, loses everything beyond the length of its
// shortest sentence and is transposed: for each position t, the sequence is token t of sentence 0, 1, ..., B - 1. The
// model learns, and is scored on, token t of sentence b + 1 given token t of the sentences up to b. That is no language
// model: no word is predicted from words of its own sentence, what is longer than the shortest sentence is never
// scored, and at t = 0 all tokens are the start token, which is predicted for free. So its perplexities are far lower
// than those of language models and must not be set beside them. score() depends on the batches: it cuts its examples
// into `score_batch` sentences in their order. A batch of one sentence predicts nothing, and its gradient is zero.
// predict() goes along each sentence as a language model does, which is not what was trained: it means nothing here.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

/// build() fails (kind usage) when the data is not of sentences, and when `tied` meets an embedding that is not as wide
/// as the layers or data with buckets. Thread-safe, as all models (model.hpp).
[[nodiscard]] model_entry gru_lm_entry();

}  // namespace furlong::models
