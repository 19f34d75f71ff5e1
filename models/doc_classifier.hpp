// A classifier of short texts that knows whose they are (FURL: Bui, Malik, Goetz, Liu, Moon, Kumar, Shin: "Federated
// user representation learning", 2019): the tokens of a text (characters or words) are embedded and read by a
// bidirectional LSTM; what it makes of all steps is pooled into a text vector; an MLP with one hidden layer (ReLU) goes
// from the text vector and the user's own vector, side by side, to the classes.
//
// Tensors, in order: user (1 x user_embedding, or clients x user_embedding when `user_table`; absent when
// `user_embedding` is 0: FURL's "global" model), embedding (features x embedding), forward_input, forward_recurrent,
// forward_bias, backward_input, backward_recurrent, backward_bias (as layers/lstm.hpp has them),
// hidden (mlp x (2 hidden + user_embedding)), hidden_bias, output (classes x mlp; one row for two classes: the log-odds
// of 1), output_bias. FURL keeps `user` private; the paper says neither sizes nor first values.
//
// A text has at least one token; sources of texts refuse empty ones.
//
// First values are PyTorch's defaults (embedding: standard normal; LSTM: uniform in 1 / sqrt(hidden); dense layers:
// uniform in 1 / sqrt(inputs)) with two exceptions. PyTorch draws two biases of an LSTM, which add up; the one here is
// drawn once, so its variance is half of theirs. And `user` is zero unless `user_init` says otherwise, so that of a
// user who has never trained nothing is claimed.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

/// build() fails (kind usage) when the data is not of texts with a class each (objectives logistic and categorical),
/// and when `user_table` is set without a user embedding. Thread-safe, as all models (model.hpp).
[[nodiscard]] model_entry doc_classifier_entry();

}  // namespace furlong::models
