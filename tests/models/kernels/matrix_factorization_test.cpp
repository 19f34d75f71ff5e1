#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/kernels/levels.hpp"
#include "models/model.hpp"
#include "tests/models/drawn.hpp"

BOOST_AUTO_TEST_SUITE(matrix_factorization_kernel)

using namespace furlong;
using tests::drawn;

// Where the user alone is trained, ratings are taken 64 at a time.
BOOST_AUTO_TEST_CASE(a_users_gradient_over_many_blocks) {
  constexpr std::uint32_t items = 40;
  for (const std::uint32_t rank : {3U, 16U, 20U})
    for (const std::size_t count : {64U, 65U, 128U, 150U}) {
      const auto user = drawn(rank, 1);
      const auto item = drawn(std::size_t{items} * rank, 2);
      const auto rated = tests::drawn_below(count, 3, items);
      const auto labels = drawn(count, 4, 1.0F, 5.0F);
      models::mf_batch batch{};
      batch.user = user.data();
      batch.item = item.data();
      batch.rank = rank;
      batch.features = rated.data();
      batch.labels = labels.data();
      batch.count = count;
      double loss = 0.0;
      std::vector<double> expected(rank, 0.0);
      for (std::size_t i = 0; i < count; ++i) {
        const float* q = item.data() + std::size_t{rated[i]} * rank;
        double residual = labels[i];
        for (std::uint32_t k = 0; k < rank; ++k) residual -= static_cast<double>(user[k]) * q[k];
        loss += residual * residual;
        for (std::uint32_t k = 0; k < rank; ++k) expected[k] -= 2.0 / static_cast<double>(count) * residual * q[k];
      }
      for (const auto* level : models::supported_kernels())
        BOOST_TEST_CONTEXT(level->level << ", rank " << rank << ", " << count << " ratings") {
          std::vector<float> written(rank, std::nanf(""));
          models::mf_gradient to{};
          to.user = written.data();
          const double sum = level->mf_gradient_step(batch, to);
          BOOST_TEST(sum == loss, boost::test_tools::tolerance(1e-6));
          for (std::uint32_t k = 0; k < rank; ++k) BOOST_TEST(std::abs(written[k] - expected[k]) < 1e-5);
        }
    }
}

// Losses come from one logarithm of a product for each 64 examples.
BOOST_AUTO_TEST_CASE(the_logistic_loss_and_its_gradient_over_many_blocks) {
  constexpr std::uint32_t items = 40;
  constexpr std::uint32_t rank = 20;
  for (const std::size_t count : {1U, 64U, 65U, 150U}) {
    const auto user = drawn(rank, 1);
    const auto item = drawn(std::size_t{items} * rank, 2);
    const auto named = tests::drawn_below(count, 3, items);
    std::vector<float> labels;
    for (const auto label : tests::drawn_below(count, 4, 2)) labels.push_back(static_cast<float>(label));
    models::mf_batch batch{};
    batch.user = user.data();
    batch.item = item.data();
    batch.rank = rank;
    batch.features = named.data();
    batch.labels = labels.data();
    batch.count = count;
    batch.loss = models::mf_loss::logistic;
    double loss = 0.0;
    std::vector<double> d_user(rank, 0.0);
    std::vector<double> d_item(item.size(), 0.0);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t row = std::size_t{named[i]} * rank;
      double odds = 0.0;
      for (std::uint32_t k = 0; k < rank; ++k) odds += static_cast<double>(user[k]) * item[row + k];
      loss += std::log1p(std::exp(odds)) - labels[i] * odds;
      const double slope = (1.0 / (1.0 + std::exp(-odds)) - labels[i]) / static_cast<double>(count);
      for (std::uint32_t k = 0; k < rank; ++k) d_user[k] += slope * item[row + k];
      for (std::uint32_t k = 0; k < rank; ++k) d_item[row + k] += slope * user[k];
    }
    for (const auto* level : models::supported_kernels())
      BOOST_TEST_CONTEXT(level->level << ", " << count << " examples") {
        std::vector<float> user_slopes(rank, std::nanf(""));
        std::vector<float> item_slopes(item.size(), 0.0F);
        std::vector<std::uint32_t> stamp(items, 0);
        std::vector<std::uint32_t> touched(items);
        models::row_marks marks{stamp.data(), touched.data(), 1, 0};
        models::mf_gradient written{};
        written.user = user_slopes.data();
        written.item = item_slopes.data();
        written.items = &marks;
        BOOST_TEST(level->mf_gradient_step(batch, written) == loss, boost::test_tools::tolerance(1e-5));
        for (std::uint32_t k = 0; k < rank; ++k) BOOST_TEST(std::abs(user_slopes[k] - d_user[k]) < 1e-5);
        for (std::size_t i = 0; i < item.size(); ++i) BOOST_TEST(std::abs(item_slopes[i] - d_item[i]) < 1e-5);
      }
  }
}

BOOST_AUTO_TEST_CASE(log_odds_of_any_size_have_a_finite_loss) {
  const std::vector<float> labels = {0.0F, 1.0F, 0.0F, 1.0F, 0.0F, 1.0F};
  for (const auto* level : models::supported_kernels()) BOOST_TEST_CONTEXT(level->level) {
      std::vector<float> odds = {300.0F, -300.0F, -300.0F, 300.0F, 0.0F, 0.0F};
      const double loss = level->logistic_gradient(odds.data(), labels.data(), odds.size(), 0.5F);
      BOOST_TEST(loss == 600.0 + 2.0 * std::log(2.0), boost::test_tools::tolerance(1e-6));
      const std::vector<float> expected = {0.5F, -0.5F, 0.0F, 0.0F, 0.25F, -0.25F};
      for (std::size_t i = 0; i < odds.size(); ++i) BOOST_TEST(std::abs(odds[i] - expected[i]) < 1e-6F);
      float missing = std::nanf("");
      BOOST_TEST(std::isnan(level->logistic_gradient(&missing, labels.data(), 1, 1.0F)));
      BOOST_TEST(std::isnan(missing));
    }
}

BOOST_AUTO_TEST_SUITE_END()
