#include "federated/experiment/validation.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/custom_model.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(validation)

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
  for (const auto rule : {"uniform-mean", "fedatt"}) {
    federated::aggregation_settings bounds;
    bounds.rule = federated::chosen_rule(rule);
    BOOST_TEST(!federated::validate(update, *shape, bounds));
  }
}

namespace {

/// What is said of a good update of this length, under limits.
std::optional<rejection> verdict_under(const federated::update_bounds& bounds, float length,
                                       federated::update_size* size = nullptr) {
  auto update = good_update();
  for (auto& value : update.change.values) value *= length / 6.0F;  // 36 ones
  return federated::validate(update, *shape, {}, bounds, size);
}

}  // namespace

BOOST_AUTO_TEST_CASE(adaptive_limits_judge_the_whole_update_and_include_their_level) {
  const auto level = federated::level_of_square(16.0);
  for (const auto length : {0.5F, 3.9F, 3.99F}) BOOST_TEST(!verdict_under({.limits = {.norm = level}}, length));
  BOOST_TEST((verdict_under({.limits = {.norm = level}}, 4.01F) == rejection::norm_bound));
  BOOST_TEST(!verdict_under({}, 4.01F));
  const auto row = federated::level_of_square(5.0 * 9.0 / 36);
  BOOST_TEST(!verdict_under({.limits = {.row = row}}, 2.99F));
  BOOST_TEST((verdict_under({.limits = {.row = row}}, 3.3F) == rejection::norm_bound));
  const auto three = federated::level_of_square(9.0);  // its weight
  BOOST_TEST(!verdict_under({.limits = {.weight = three}}, 1.0F));
  BOOST_TEST((verdict_under({.limits = {.weight = static_cast<federated::size_level>(three - 1)}}, 1.0F) ==
              rejection::weight_bound));
}

BOOST_AUTO_TEST_CASE(a_clipped_update_is_within_its_limits_and_points_where_it_did) {
  random_stream stream(2, purpose::test);
  federated::aggregation_settings wide;
  wide.max_norm = 1e9;
  for (auto update : tests::random_updates(3, 60, shape)) {
    if (update.weight == 0) continue;
    for (auto& value : update.change.values) value *= 100.0F;
    federated::update_size free;
    BOOST_TEST(!federated::validate(update, *shape, wide, {}, &free));
    const auto below = [&](federated::size_level level) {
      return static_cast<federated::size_level>(level - 1 - stream.below(12));
    };
    const federated::update_limits both{.norm = below(free.norm), .row = free.row > 20 ? below(free.row) : free.row};
    for (const auto& limits :
         {both, {.norm = both.norm}, {.row = both.row}, federated::update_limits{free.norm, free.row}}) {
      for (const bool rounded : {false, true}) {
        auto clipped = update;
        federated::clip_to(limits, rounded, clipped.change);
        federated::update_size size;
        BOOST_TEST(!federated::validate(clipped, *shape, wide, {.limits = limits}, &size));
        // No shorter than asked for: the norm or the longest row is at its limit, or nothing had to change.
        const int level = rounded ? 1 : 0;
        const bool at_limit = (limits.norm != 0 && size.norm == limits.norm - level) ||
                              (limits.row != 0 && size.row == limits.row - level);
        BOOST_TEST((at_limit || tests::same_bits(clipped.change.values, update.change.values)));
        for (std::size_t i = 0; i < update.change.values.size(); ++i)
          BOOST_TEST(clipped.change.values[i] * update.change.values[i] >= 0.0F);
      }
    }
    auto same = update;
    federated::clip_to({}, false, same.change);
    BOOST_TEST(tests::same_bits(same.change.values, update.change.values));
  }
}

BOOST_AUTO_TEST_CASE(the_size_is_told_of_updates_that_only_a_limit_refuses) {
  federated::update_size size;
  BOOST_TEST((verdict_under({.limits = {1, 1, 1}}, 3.99F, &size) == rejection::norm_bound));
  BOOST_TEST(size.norm == federated::level_of_square(16.0));
  BOOST_TEST(size.weight == federated::level_of_square(9.0));
  // Of the tensors with a row for each feature or client the rows of "item" are the longest: five values.
  BOOST_TEST(size.row == federated::level_of_square(5 * 3.99 * 3.99 / 36));
  size = {};
  BOOST_TEST((verdict_under({.longest = 3.0}, 3.99F, &size) == rejection::norm_bound));
  BOOST_TEST((size == federated::update_size{}));
  BOOST_TEST(!verdict_under({.limits = {1, 1, 0}}, 0.0F, &size));  // of no change
  BOOST_TEST((size == federated::update_size{.weight = federated::level_of_square(9.0)}));
  size = {};
  auto idle = good_update();
  idle.weight = 0;
  BOOST_TEST(!federated::validate(idle, *shape, {}, {.limits = {1, 1, 1}}, &size));
  BOOST_TEST((size == federated::update_size{}));
}

BOOST_AUTO_TEST_CASE(a_weight_is_bounded_by_the_examples_that_the_client_has) {
  BOOST_TEST(!verdict_under({.most_weight = 3}, 1.0F));
  BOOST_TEST((verdict_under({.most_weight = 2}, 1.0F) == rejection::weight_bound));
  federated::run_settings settings;
  settings.client->epochs = 3;
  settings.client->batch_size = 4;
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 30U);
  settings.client->max_steps = 2;
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 8U);
  settings.client->batch_size = 0;
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 20U);
  *settings.client = {.epochs = 3, .batch_size = 4};
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 12U);  // the second of three batches
  settings.reconstruction->split = false;
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 30U);
  *settings.algorithm = federated::chosen_algorithm("fedsgd");
  BOOST_TEST(settings.algorithm->does->most_weight(settings, 10) == 10U);
}

BOOST_AUTO_TEST_CASE(a_loss_that_no_training_has_is_refused) {
  BOOST_TEST(!verdict([](auto& u) { u.loss_sum = 3e12; }));
  BOOST_TEST((verdict([](auto& u) { u.loss_sum = 4e12; }) == rejection::not_finite));
  for (const double beyond : {1e308, -1e308})
    BOOST_TEST((verdict([&](auto& u) { u.loss_sum = beyond; }) == rejection::not_finite));
}

BOOST_AUTO_TEST_CASE(scores_of_a_diverged_model_are_believed_and_those_that_cannot_be_are_not) {
  using federated::implausible;
  federated::client_score score;
  score.examples = 5;
  score.loss = score.squared_error = std::nan("");
  BOOST_TEST(!implausible(score, *tests::model_with(models::objective::squared_error)));
  score.loss = HUGE_VAL;
  BOOST_TEST(!implausible(score, *tests::model_with(models::objective::squared_error)));
  score.loss = score.squared_error = -1.0;
  BOOST_TEST(implausible(score, *tests::model_with(models::objective::squared_error)).has_value());
}

BOOST_AUTO_TEST_CASE(labels_of_a_score_differ_by_what_so_many_can) {
  const auto refused = [](models::objective of, std::uint64_t examples, double spread, double loss = 1.0) {
    federated::client_score score;
    score.examples = examples;
    score.loss = loss;
    score.spread = spread;
    return federated::implausible(score, *tests::model_with(of)).value_or("");
  };
  constexpr auto ratings = models::objective::squared_error;
  BOOST_TEST(refused(ratings, 4, 8.0).empty());
  BOOST_TEST(refused(ratings, 1, 0.0).empty());
  BOOST_TEST(refused(ratings, 1, 0.5) == "labels that 1 examples cannot have");
  BOOST_TEST(refused(ratings, 4, -1.0) == "labels that 4 examples cannot have");
  BOOST_TEST(refused(ratings, 4, 1e300) == "labels that 4 examples cannot have");
  BOOST_TEST(refused(ratings, 4, std::nan("")).empty());  // it is in no figure
  BOOST_TEST(refused(models::objective::categorical, 4, 0.0).empty());
  BOOST_TEST(refused(models::objective::categorical, 4, 1.0) == "ratings, and the model predicts none");
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
