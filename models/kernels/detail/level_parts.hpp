// The functions of one level's units for its table (level.cpp).
#pragma once

#include "models/kernels/kernels.hpp"

namespace furlong::models::FURLONG_LEVEL {

double mf_gradient_step(const mf_batch& batch, mf_gradient& gradient);
void mf_predict(const mf_batch& batch, float* out);
double logistic_gradient(float* odds, const float* labels, std::size_t n, float scale);

void multiply(const matrix_product& product);
void multiply_in_panels(const matrix_product& product);  // m, n and k are above 0
void pack_right(const float* b, std::size_t b_stride, bool b_transposed, std::size_t k, std::size_t n, float* packed);
void multiply_packed(const packed_product& product);
void add_rows(float* target, const float* source, std::size_t rows, std::size_t cols);

void gru_forward(const gru_step& step);
void gru_backward(const gru_step& step, const gru_step_gradient& gradient);

void lstm_forward(const lstm_step& step);
void lstm_backward(const lstm_step& step, const float* d_after, float* d_cell);

double softmax_gradient(const softmax_rows& input, float scale, float* bias_gradient);
double softmax_score(const softmax_rows& input, std::uint32_t* likeliest);

}  // namespace furlong::models::FURLONG_LEVEL
