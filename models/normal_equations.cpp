#include "models/normal_equations.hpp"

#include <Eigen/Cholesky>

namespace furlong::models {

void add_example(std::span<float> sums, std::span<const float> x, float y) {
  float* to = sums.data();
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j <= k; ++j) *to++ += x[k] * x[j];
  for (const float value : x) *to++ += y * value;
  *to += 1.0F;
}

std::span<const double> solve(std::span<const float> sums, std::size_t p, double ridge, double ridge_per_example,
                              normal_equations_scratch& scratch) {
  const auto size = static_cast<Eigen::Index>(p);
  scratch.left.resize(p * p);
  scratch.solution.resize(p);
  Eigen::Map<Eigen::MatrixXd> matrix(scratch.left.data(), size, size);
  Eigen::Map<Eigen::VectorXd> w(scratch.solution.data(), size);
  const float* from = sums.data();
  for (Eigen::Index k = 0; k < size; ++k)
    for (Eigen::Index j = 0; j <= k; ++j) matrix(k, j) = *from++;
  w = Eigen::Map<const Eigen::VectorXf>(from, size).cast<double>();
  matrix.diagonal().array() += ridge + ridge_per_example * sums.back();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(matrix);
  if (factor.info() != Eigen::Success) return {};
  factor.solveInPlace(w);
  return scratch.solution;
}

}  // namespace furlong::models
