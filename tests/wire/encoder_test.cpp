#include <boost/test/unit_test.hpp>
#include <string>

#include "tests/wire/samples.hpp"
#include "wire/encode.hpp"

BOOST_AUTO_TEST_SUITE(encoders)

using namespace furlong;
using namespace furlong::wire;

namespace {

void check_refused(const result<encoded>& outcome, const std::string& part) {
  BOOST_REQUIRE(!outcome.has_value());
  BOOST_TEST(outcome.error().text().find(part) != std::string::npos, outcome.error().text() << " lacks " << part);
}

void check_refused(const federated::client_update& update, const std::string& part) {
  const encoder make(samples::small_layout());
  for (const auto format : {update_format::dense, update_format::sparse})
    check_refused(make.encode(update, format), part);
}

}  // namespace

BOOST_AUTO_TEST_CASE(updates_that_do_not_fit_are_refused) {
  auto update = samples::small_update();
  update.change.shape = nullptr;
  check_refused(update, "update.layout: has no layout");
  update = samples::small_update();
  update.change.shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"items", 4, 2}});
  check_refused(update, "update.layout: is of another layout");
  update = samples::small_update();
  update.change.pieces.pop_back();
  check_refused(update, "update.tensors: has 1 pieces for 2 tensors");
  update = samples::small_update();
  update.change.rows = {3, 3};
  check_refused(update, "update.tensors[0].rows: row 3 is listed twice");
  update.change.rows = {1, 4};
  check_refused(update, "update.tensors[0].rows: row 4 of 4");
  update.change.pieces[0].row_count = 5;
  check_refused(update, "update.tensors[0].rows: lists 5 rows of 4");
  update.change.pieces[0].row_count = 3;
  check_refused(update, "update.tensors[0].rows: reaches past the 2 rows");
  update = samples::small_update();
  update.change.pieces[1].value_begin = 5;
  check_refused(update, "update.tensors[1].values: reaches past the 7 values");
  update.change.pieces[1].value_begin = SIZE_MAX;
  check_refused(update, "update.tensors[1].values: reaches past the 7 values");
}

BOOST_AUTO_TEST_CASE(broadcasts_of_another_layout_are_refused) {
  const encoder make(
      std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"items", 2, 4}, {"bias", 1, 3}}));
  check_refused(make.encode(samples::small_broadcast()), "broadcast.layout: is of another layout");
  check_refused(make.encode(federated::broadcast{}), "broadcast.layout: has no layout");
}

BOOST_AUTO_TEST_CASE(partial_aggregates_out_of_order_are_refused) {
  const encoder make(samples::small_layout());
  auto partial = samples::small_partial();
  partial.folded = {{1, 0}, {1, 1}};
  check_refused(make.encode(partial), "partial.folded: client 1");
  partial.folded = {{2, 0}, {1, 0}};
  check_refused(make.encode(partial), "partial.folded: client 2");
  partial = samples::small_partial();
  partial.refused[0].who.client = 7;
  check_refused(make.encode(partial), "partial.refused: is not sorted");
}

BOOST_AUTO_TEST_CASE(the_order_of_rows_in_memory_leaves_no_trace) {
  const encoder make(samples::small_layout());
  auto sorted = samples::small_update();
  sorted.change.rows = {1, 3};
  sorted.change.values = {1.0F, -1.0F, 3.0F, -3.0F, 0.5F, 0.25F, 0.125F};
  for (const auto format : {update_format::dense, update_format::sparse})
    BOOST_TEST((samples::copy_of(make.encode(sorted, format).value()) ==
                samples::copy_of(make.encode(samples::small_update(), format).value())));
}

BOOST_AUTO_TEST_CASE(copies_share_their_bytes) {
  const auto frame = encoder::encode(samples::small_task());
  const auto copy = frame;
  BOOST_TEST(copy.bytes().data() == frame.bytes().data());
}

BOOST_AUTO_TEST_SUITE_END()
