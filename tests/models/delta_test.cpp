#include "models/delta.hpp"

#include <boost/test/unit_test.hpp>
#include <numeric>

BOOST_AUTO_TEST_SUITE(deltas)

using namespace furlong;

namespace {

models::layout_ptr shape() {
  return std::make_shared<models::layout>(
      std::vector<models::tensor_spec>{{"item", 5, 2, models::row_index::by_feature},
                                       {"mean"},
                                       {"bias", 5, 1, models::row_index::by_feature},
                                       {"table", 3, 2, models::row_index::by_client}});
}

/// Rows 4 and 1 of item and bias (which share the list of rows), row 2 of table, and a dense mean; values 1, 2, ...
models::delta mixed() {
  models::delta change{shape(), {{true, 0, 2, 0}, {false, 0, 0, 4}, {true, 0, 2, 5}, {true, 2, 1, 7}}, {4, 1, 2}, {}};
  change.values.resize(9);
  std::iota(change.values.begin(), change.values.end(), 1.0F);
  return change;
}

}  // namespace

BOOST_AUTO_TEST_CASE(pieces_are_found_where_they_lie) {
  const auto change = mixed();
  BOOST_TEST((std::vector<std::uint32_t>(change.rows_of(2).begin(), change.rows_of(2).end()) ==
              std::vector<std::uint32_t>{4, 1}));
  BOOST_TEST(change.rows_of(3).front() == 2U);
  BOOST_TEST(change.values_of(1).size() == 1U);
  BOOST_TEST(change.values_of(1).front() == 5.0F);
  BOOST_TEST(change.values_of(3).back() == 9.0F);
}

BOOST_AUTO_TEST_CASE(a_dense_copy_has_the_same_change_at_every_element) {
  const auto dense = models::to_dense(mixed());
  const std::vector<float> expected = {0,           0, 3, 4, 0, 0, 0, 0, 1, 2, /*mean*/ 5, /*bias*/ 0, 7, 0, 0, 6,
                                       /*table*/ 0, 0, 0, 0, 8, 9};
  BOOST_TEST(dense.values == expected, boost::test_tools::per_element());
  for (std::size_t t = 0; t < dense.shape->count(); ++t) {
    BOOST_TEST(!dense.pieces[t].by_rows);
    BOOST_TEST(dense.values_of(t).size() == (*dense.shape)[t].size());
  }
  BOOST_TEST(models::to_dense(dense).values == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
