// The loss of models that rank pairs of items.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/model_cases.hpp"

BOOST_AUTO_TEST_SUITE(ranked_pairs)

using namespace furlong;

namespace {

/// Of all pairs of a case together.
double whole_loss(tests::model_case& of_pairs) {
  const std::vector<bool> nothing_frozen(of_pairs.model->tensors()->count(), false);
  return tests::gradient_of(of_pairs, of_pairs.weights, nothing_frozen).loss;
}

}  // namespace

// Of pairs the differences between the scores of their two items (Rendle et al. 2009, section 4.1).
BOOST_AUTO_TEST_CASE(the_loss_of_pairs_is_that_of_the_differences_of_scores) {
  std::size_t checked = 0;
  for (auto& one : tests::model_cases()) {
    if (!one.model->ranks_pairs()) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const auto pairs = one.data.view();
      std::vector<float> scores[2];
      for (std::size_t side = 0; side < 2; ++side) {
        models::examples items;
        for (std::size_t i = 0; i < pairs.size(); ++i) items.features.push_back(pairs.features[2 * i + side]);
        items.labels = one.data.labels;
        items.owners = one.data.owners;
        scores[side].resize(pairs.size());
        one.model->predict(one.views(one.weights), items.view(), scores[side]);
      }
      double sum = 0.0;
      for (std::size_t i = 0; i < pairs.size(); ++i)
        sum += std::log1p(std::exp(static_cast<double>(scores[1][i]) - static_cast<double>(scores[0][i])));
      const double loss = whole_loss(one);
      BOOST_TEST(std::abs(loss - sum) < 1e-5 * sum);
      ++checked;
    }
  }
  BOOST_TEST(checked > 0U);
}

// Batches are slices: their offsets are positions in the whole table.
BOOST_AUTO_TEST_CASE(the_losses_of_batches_of_pairs_add_up) {
  for (auto& one : tests::model_cases()) {
    if (!one.model->ranks_pairs()) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const std::vector<float*> frozen(one.model->tensors()->count(), nullptr);
      std::vector<std::uint32_t> marks[4];
      for (auto& buffer : marks) buffer.resize(2 * tests::vocabulary);
      double sum = 0.0;
      for (std::uint32_t first = 0; first < one.data.labels.size(); first += 4) {
        models::gradient_views out{
            frozen, {marks[0].data(), marks[1].data(), first + 1, 0}, {marks[2].data(), marks[3].data(), first + 1, 0}};
        sum += one.model->gradient(one.views(one.weights), one.data.view().slice(first, first + 4), out);
      }
      const double loss = whole_loss(one);
      BOOST_TEST(std::abs(sum - loss) < 1e-6 * loss);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
