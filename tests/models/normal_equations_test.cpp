#include "models/normal_equations.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "base/random.hpp"

BOOST_AUTO_TEST_SUITE(normal_equations)

using namespace furlong;

// The gradient at the solution is zero: sum x (<x, w> - y) + (ridge + ridge_per_example n) w = 0.
BOOST_AUTO_TEST_CASE(the_solution_satisfies_its_equation) {
  constexpr std::size_t p = 7;
  constexpr std::size_t n = 12;
  random_stream stream(3, purpose::test);
  std::vector<float> sums(models::normal_equations_size(p), 0.0F);
  std::vector<std::vector<float>> x(n, std::vector<float>(p));
  std::vector<float> y(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (auto& value : x[i]) value = stream.uniform(-1.0F, 1.0F);
    y[i] = stream.uniform(-2.0F, 2.0F);
    models::add_example(sums, x[i], y[i]);
  }
  BOOST_TEST(sums.back() == float{n});
  models::normal_equations_scratch scratch;
  const auto w = models::solve(sums, p, 0.3, 0.02, scratch);
  BOOST_REQUIRE(w.size() == p);
  for (std::size_t k = 0; k < p; ++k) {
    double gradient = (0.3 + 0.02 * n) * w[k];
    for (std::size_t i = 0; i < n; ++i) {
      double error = -y[i];
      for (std::size_t j = 0; j < p; ++j) error += x[i][j] * w[j];
      gradient += x[i][k] * error;
    }
    BOOST_TEST(std::abs(gradient) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(equations_without_a_unique_solution_have_none) {
  std::vector<float> sums(models::normal_equations_size(3), 0.0F);
  models::add_example(sums, std::vector<float>{1.0F, 2.0F, 3.0F}, 1.0F);
  models::normal_equations_scratch scratch;
  BOOST_TEST(models::solve(sums, 3, 0.0, 0.0, scratch).empty());
  BOOST_TEST(models::solve(sums, 3, 0.5, 0.0, scratch).size() == 3U);
}

// Where nothing has to be projected it is the same solution; else that of the projected matrix, here a diagonal one.
BOOST_AUTO_TEST_CASE(noise_is_projected_away) {
  std::vector<float> sums(models::normal_equations_size(3), 0.0F);
  models::add_example(sums, std::vector<float>{1.0F, 2.0F, -1.0F}, 1.5F);
  models::add_example(sums, std::vector<float>{0.5F, -1.0F, 2.0F}, -0.5F);
  models::normal_equations_scratch scratch;
  models::normal_equations_scratch other;
  const auto plain = models::solve(sums, 3, 0.5, 0.1, scratch);
  const auto noisy = models::solve_noisy(sums, 3, 0.5, 0.1, other);
  for (std::size_t k = 0; k < 3; ++k) BOOST_TEST(std::abs(plain[k] - noisy[k]) < 1e-12);

  const std::vector<float> indefinite{-7.0F, 0.0F, 4.0F, 0.0F, 0.0F, -0.5F, 3.0F, 6.0F, 2.0F, -20.0F};
  BOOST_TEST(models::solve(indefinite, 3, 1.0, 0.1, scratch).empty());
  const auto w = models::solve_noisy(indefinite, 3, 1.0, 0.1, other);
  BOOST_REQUIRE(w.size() == 3U);
  BOOST_TEST(w[0] == 3.0, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(w[1] == 6.0 / 5, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(w[2] == 2.0, boost::test_tools::tolerance(1e-12));
}

BOOST_AUTO_TEST_SUITE_END()
