#include "federated/validation.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/updates.hpp"

using namespace furlong;
using federated::client_update;
using federated::rejection;

namespace {

const models::layout_ptr shape = tests::mixed_layout();

/// Rows 3 and 0 of both item tensors, a dense tensor, row 5 of the table, a dense scalar; all ones.
client_update good_update() {
  client_update update;
  update.weight = 3;
  update.change = {shape,
                   {{true, 0, 2, 0}, {true, 0, 2, 10}, {false, 0, 0, 12}, {true, 2, 1, 33}, {false, 0, 0, 35}},
                   {3, 0, 5},
                   std::vector<float>(36, 1.0F)};
  return update;
}

std::optional<rejection> verdict(const std::function<void(client_update&)>& spoil) {
  federated::aggregation_settings bounds;
  bounds.max_norm = 8.0;
  bounds.max_weight = 100;
  auto update = good_update();
  spoil(update);
  return federated::validate(update, *shape, bounds);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(validation)

BOOST_AUTO_TEST_CASE(a_sound_update_passes) {
  BOOST_TEST(!verdict([](auto&) {}));
  BOOST_TEST(!verdict([](auto& u) { u.change.shape = tests::mixed_layout(); }));  // an equal layout
  BOOST_TEST(!verdict([](auto& u) { u.weight = 100; }));
  for (const auto& update : tests::random_updates(1, 50, shape)) BOOST_TEST(!federated::validate(update, *shape, {}));
}

BOOST_AUTO_TEST_CASE(what_does_not_fit_the_layout_is_a_wrong_shape) {
  const std::vector<std::function<void(client_update&)>> spoilers = {
      [](auto& u) { u.change.shape = nullptr; },
      [](auto& u) {
        u.change.shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"item", 13, 5}});
      },
      [](auto& u) { u.change.pieces.pop_back(); },
      [](auto& u) { u.change.pieces.push_back({}); },
      [](auto& u) { u.change.values.pop_back(); },
      [](auto& u) { u.change.pieces[4].value_begin = 36; },
      [](auto& u) { u.change.pieces[4].value_begin = SIZE_MAX; },
      [](auto& u) { u.change.pieces[0].by_rows = false; },  // 65 values where 36 are
      [](auto& u) { u.change.pieces[0].row_count = 4; },
      [](auto& u) { u.change.pieces[0].row_count = UINT32_MAX; },
      [](auto& u) { u.change.pieces[3].row_begin = 3; },
      [](auto& u) { u.change.pieces[3].row_begin = UINT32_MAX; },
      [](auto& u) { u.change.rows[0] = 13; },
      [](auto& u) { u.change.rows[2] = 6; },  // the table has six rows, item has thirteen
      [](auto& u) { u.change.rows.clear(); },
  };
  for (std::size_t i = 0; i < spoilers.size(); ++i)
    BOOST_TEST((verdict(spoilers[i]) == rejection::wrong_shape), "spoiler " << i);
}

// A row's values would be added twice, past the norm bound.
BOOST_AUTO_TEST_CASE(a_row_is_listed_once) {
  const auto of_the_table = [](std::uint32_t row) {  // rows 0 and `row`
    return verdict([row](auto& u) {
      u.change.pieces[3] = {true, 1, 2, 32};
      u.change.rows[2] = row;
    });
  };
  BOOST_TEST((verdict([](auto& u) { u.change.rows[1] = 3; }) == rejection::wrong_shape));
  BOOST_TEST((of_the_table(0) == rejection::wrong_shape));
  BOOST_TEST(!of_the_table(5));
  BOOST_TEST(!verdict([](auto&) {}));  // what one update listed is no matter of the next
}

BOOST_AUTO_TEST_CASE(one_value_that_is_not_finite_is_enough) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
                          -std::numeric_limits<float>::infinity()})
    for (std::size_t i = 0; i < 36; ++i)
      BOOST_TEST((verdict([&](auto& u) { u.change.values[i] = bad; }) == rejection::not_finite));
  for (const double bad : {std::nan(""), HUGE_VAL})
    BOOST_TEST((verdict([&](auto& u) { u.loss_sum = bad; }) == rejection::not_finite));
}

BOOST_AUTO_TEST_CASE(bounds_hold_per_tensor_and_include_their_limit) {
  BOOST_TEST(!verdict([](auto& u) { u.change.values[35] = 8.0F; }));
  BOOST_TEST((verdict([](auto& u) { u.change.values[35] = std::nextafter(8.0F, 9.0F); }) == rejection::norm_bound));
  BOOST_TEST((verdict([](auto& u) { u.change.values[0] = -8.0F; }) == rejection::norm_bound));  // nine others of 1
  BOOST_TEST((verdict([](auto& u) { u.change.values[20] = 1e30F; }) == rejection::norm_bound));
  BOOST_TEST((verdict([](auto& u) { u.weight = 101; }) == rejection::weight_bound));
  BOOST_TEST(!verdict([](auto& u) { u.examples = federated::most_examples; }));
  BOOST_TEST((verdict([](auto& u) { u.examples = federated::most_examples + 1; }) == rejection::weight_bound));
}

BOOST_AUTO_TEST_CASE(weights_bound_only_the_rule_that_they_weigh_in) {
  auto update = good_update();
  update.weight = UINT32_MAX;
  for (const auto rule : {federated::rule_kind::uniform_mean, federated::rule_kind::fedatt}) {
    federated::aggregation_settings bounds;
    bounds.rule = rule;
    BOOST_TEST(!federated::validate(update, *shape, bounds));
  }
}

BOOST_AUTO_TEST_CASE(every_reason_has_a_word_of_its_own) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < federated::rejection_count; ++i) {
    const auto word = federated::to_string(static_cast<rejection>(i));
    BOOST_TEST((std::ranges::find(words, word) == words.end()));
    BOOST_TEST(word != "unknown");
    words.push_back(word);
  }
}

BOOST_AUTO_TEST_SUITE_END()
