#include "models/normal_equations.hpp"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <algorithm>

namespace furlong::models {

void add_example(std::span<float> sums, std::span<const float> x, float y) {
  float* target = sums.data();
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j <= k; ++j) *target++ += x[k] * x[j];
  for (const float value : x) *target++ += y * value;
  *target += 1.0F;
}

namespace {

/// sum x x' and sum y x, in memory of the scratch.
struct equations {
  Eigen::Map<Eigen::MatrixXd> left;
  Eigen::Map<Eigen::VectorXd> right;  ///< becomes the solution

  equations(std::span<const float> sums, std::size_t p, normal_equations_scratch& scratch)
      : left((scratch.left.resize(p * p), scratch.left.data()), static_cast<Eigen::Index>(p),
             static_cast<Eigen::Index>(p)),
        right((scratch.solution.resize(p), scratch.solution.data()), static_cast<Eigen::Index>(p)) {
    const float* source = sums.data();
    for (Eigen::Index k = 0; k < left.rows(); ++k)
      for (Eigen::Index j = 0; j <= k; ++j) left(k, j) = *source++;
    right = Eigen::Map<const Eigen::VectorXf>(source, right.size()).cast<double>();
  }
};

}  // namespace

std::span<const double> solve(std::span<const float> sums, std::size_t p, double ridge, double ridge_per_example,
                              normal_equations_scratch& scratch) {
  equations system(sums, p, scratch);
  system.left.diagonal().array() += ridge + ridge_per_example * sums.back();
  const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(system.left);
  if (factor.info() != Eigen::Success) return {};
  factor.solveInPlace(system.right);
  return scratch.solution;
}

std::span<const double> solve_noisy(std::span<const float> sums, std::size_t p, double ridge, double ridge_per_example,
                                    normal_equations_scratch& scratch) {
  equations system(sums, p, scratch);
  const double weight = ridge + ridge_per_example * std::max(sums.back(), 0.0F);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> parts(system.left);
  if (parts.info() != Eigen::Success) return {};
  const auto& basis = parts.eigenvectors();
  system.right =
      basis * ((basis.transpose() * system.right).array() / (parts.eigenvalues().array().max(0.0) + weight)).matrix();
  return scratch.solution;
}

}  // namespace furlong::models
