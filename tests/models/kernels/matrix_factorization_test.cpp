#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/kernels/levels.hpp"
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

BOOST_AUTO_TEST_SUITE_END()
