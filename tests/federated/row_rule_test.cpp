// Rows that few clients own.
#include "federated/aggregation/robust/row_rule.hpp"

#include "tests/federated/robust_cases.hpp"

BOOST_AUTO_TEST_SUITE(rows_of_few_clients)

using namespace furlong;
using namespace furlong::federated;
using tests::check_near;
using tests::option_changes;
using tests::settings_of;

namespace {

models::layout_ptr items(std::uint32_t rows) {
  return std::make_shared<models::layout>(
      std::vector<models::tensor_spec>{{"item", rows, 1, models::row_index::by_feature}, {"bias"}});
}

/// An update of some rows, and of the bias by 0.
client_update rows_update(std::uint32_t client, const models::layout_ptr& shape,
                          const std::vector<std::pair<std::uint32_t, float>>& rows) {
  client_update update{{4711, 0, client, 0}, 1, 1, 0.5, {shape, {}, {}, {}}};
  update.change.pieces.push_back({true, 0, static_cast<std::uint32_t>(rows.size()), 0});
  for (const auto& [row, value] : rows) {
    update.change.rows.push_back(row);
    update.change.values.push_back(value);
  }
  update.change.pieces.push_back({false, 0, 0, update.change.values.size()});
  update.change.values.push_back(0.0F);
  return update;
}

/// Row 0 is named by all of five clients, row 1 by three, row 2 by the last one, which is bad.
std::vector<client_update> five_clients(const models::layout_ptr& shape) {
  return {rows_update(0, shape, {{1, 2.0F}, {0, 1.0F}}), rows_update(1, shape, {{0, 1.25F}}),
          rows_update(2, shape, {{0, 0.75F}, {1, 2.5F}}), rows_update(3, shape, {{0, 1.0F}}),
          rows_update(4, shape, {{2, 50.0F}, {1, -9.0F}, {0, 9.0F}})};
}

std::vector<double> rows_of(const std::string& kind, const std::vector<client_update>& updates,
                            option_changes changes) {
  changes.insert(changes.begin(), {{"tolerate", 1.0}, {"rows", std::string("per-row")}});
  const auto sum = make_accumulator(settings_of(kind, changes), updates.front().change.shape, {});
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  const auto made = sum->report();
  BOOST_REQUIRE(made.usable);
  const auto values = made.change.tensor(0);
  return {values.begin(), values.end()};
}

}  // namespace

// Each client's median row is 1, 1.25, 0.75, 1 and 9 long, of an even number the lower: c = 1, and kappa = 3.
BOOST_AUTO_TEST_CASE(a_row_of_few_is_clipped_and_divided_and_one_of_enough_is_robust_among_them) {
  const auto updates = five_clients(items(4));
  check_near(rows_of("trimmed-mean", updates, {}), {13.0 / 12.0, 2.0, 1.0 / 3.0, 0.0}, 1e-6);
  check_near(rows_of("median", updates, {}), {1.0, 2.0, 1.0 / 3.0, 0.0}, 1e-6);
  // The longest rows are 2, 1.25, 2.5, 1 and 50 long: c = 2.
  check_near(rows_of("median", updates, {{"row_quantile", 1.0}}), {1.0, 2.0, 2.0 / 3.0, 0.0}, 1e-6);
  check_near(rows_of("median", updates, {{"kappa", std::int64_t{10}}}), {1.0, 2.0, 0.1, 0.0}, 1e-6);
}

BOOST_AUTO_TEST_CASE(whole_updates_leave_rows_of_fewer_than_half_as_they_are) {
  const auto updates = five_clients(items(4));
  check_near(rows_of("median", updates, {{"rows", std::string("whole")}}), {1.0, 0.0, 0.0, 0.0}, 0.0);
}

// f clients move a row that nobody else has by at most f c / max(n_r, kappa), whatever they send and however many rows
// they name.
BOOST_AUTO_TEST_CASE(bad_clients_cannot_move_a_row_of_few_further_than_the_bound) {
  const auto shape = items(200);
  std::vector<client_update> updates;
  for (std::uint32_t client = 0; client < 7; ++client)
    updates.push_back(rows_update(client, shape, {{client % 3, 1.0F}, {3 + client, -0.5F}}));
  for (std::uint32_t client = 7; client < 9; ++client) {
    std::vector<std::pair<std::uint32_t, float>> rows;
    for (std::uint32_t row = 100; row < 200; ++row) rows.emplace_back(row, 1e6F);
    updates.push_back(rows_update(client, shape, rows));
  }
  const auto made = rows_of("median", updates, {{"tolerate", 2.0}, {"row_quantile", 1.0}});
  const double bound = 2.0 * 1.0 / 5.0;  // c = 1 is the honest clients' longest row
  for (std::size_t row = 100; row < 200; ++row) BOOST_TEST(made[row] <= bound + 1e-6);
  BOOST_TEST(made[100] > 0.0);
  BOOST_TEST(std::abs(made[3] + 0.1) <= 1e-6);  // an honest client's own row moves too
}

// A client with many rows counts in each of them as any other does.
BOOST_AUTO_TEST_CASE(honest_clients_of_many_rows_are_not_left_out) {
  const auto shape = items(100);
  std::vector<client_update> updates;
  for (std::uint32_t client = 0; client < 5; ++client) {
    std::vector<std::pair<std::uint32_t, float>> rows;
    for (std::uint32_t row = 0; row < (client == 4 ? 100U : 3U); ++row) rows.emplace_back(row, 1.0F);
    updates.push_back(rows_update(client, shape, rows));
  }
  const auto made = rows_of("krum", updates, {});
  for (std::size_t row = 0; row < 3; ++row) BOOST_TEST(made[row] == 1.0);
  for (std::size_t row = 3; row < 100; ++row) BOOST_TEST(std::abs(made[row] - 1.0 / 3.0) <= 1e-6);
}

BOOST_AUTO_TEST_CASE(rows_of_zeros_name_nothing) {
  const auto shape = items(4);
  auto updates = five_clients(shape);
  const auto expected = rows_of("trimmed-mean", updates, {});
  for (auto& update : updates) update.change = models::to_dense(update.change);
  BOOST_TEST(rows_of("trimmed-mean", updates, {}) == expected, boost::test_tools::per_element());
}

// Tensors without rows of features are one vector, as without rows = "per-row".
BOOST_AUTO_TEST_CASE(other_tensors_are_aggregated_as_a_whole) {
  const auto shape = items(4);
  auto updates = five_clients(shape);
  for (std::size_t i = 0; i < updates.size(); ++i) updates[i].change.values.back() = static_cast<float>(i * i);
  const auto sum =
      make_accumulator(settings_of("median", {{"tolerate", 1.0}, {"rows", std::string("per-row")}}), shape, {});
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  BOOST_TEST(sum->report().change.tensor(1)[0] == 4.0F);
}

BOOST_AUTO_TEST_SUITE_END()
