// Figures of rankings against their definition: the mean over all orders of tied items.
#include <algorithm>
#include <array>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "federated/ranking/metrics.hpp"

BOOST_AUTO_TEST_SUITE(ranking_metrics)

using namespace furlong;
using namespace furlong::federated::ranking;

namespace {

std::vector<tied_items> levels_of(std::vector<float> held_out, const std::vector<float>& candidates) {
  std::vector<tied_items> levels;
  find_levels(held_out, candidates, levels);
  return levels;
}

/// Held out or not, best place first.
using order = std::vector<bool>;

struct all_figures {
  figures_at first;
  double reciprocal = 0.0;
};

/// The figures of one order, as papers define them.
all_figures defined(const order& places, std::uint32_t most) {
  all_figures made;
  const auto held_out = static_cast<double>(std::ranges::count(places, true));
  double ideal = 0.0;
  double hits = 0.0;
  for (std::uint32_t place = 1; place <= places.size(); ++place) {
    if (place <= std::min<double>(held_out, most)) ideal += 1.0 / std::log2(place + 1.0);
    if (!places[place - 1]) continue;
    if (made.reciprocal == 0.0) made.reciprocal = 1.0 / place;
    if (place > most) continue;
    hits += 1.0;
    made.first.hit = 1.0;
    made.first.ndcg += 1.0 / std::log2(place + 1.0);
    made.first.map += hits / place;
  }
  made.first.ndcg /= ideal;
  made.first.recall = hits / held_out;
  made.first.precision = hits / most;
  made.first.map /= std::min<double>(held_out, most);
  return made;
}

/// Their mean over all orders in which the scores fall and tied items have any order.
all_figures expected(const std::vector<float>& held_out, const std::vector<float>& candidates, std::uint32_t most) {
  std::vector<std::pair<float, bool>> items;
  for (const float score : held_out) items.emplace_back(score, true);
  for (const float score : candidates) items.emplace_back(score, false);
  std::vector<std::size_t> permutation(items.size());
  std::iota(permutation.begin(), permutation.end(), std::size_t{0});
  all_figures mean;
  double count = 0.0;
  do {
    order places;
    bool falls = true;
    for (std::size_t i = 0; i < permutation.size(); ++i) {
      falls = falls && (i == 0 || items[permutation[i - 1]].first >= items[permutation[i]].first);
      places.push_back(items[permutation[i]].second);
    }
    if (!falls) continue;
    const auto one = defined(places, most);
    count += 1.0;
    mean.first.hit += one.first.hit;
    mean.first.ndcg += one.first.ndcg;
    mean.first.recall += one.first.recall;
    mean.first.precision += one.first.precision;
    mean.first.map += one.first.map;
    mean.reciprocal += one.reciprocal;
  } while (std::ranges::next_permutation(permutation).found);
  for (auto* sum : {&mean.first.hit, &mean.first.ndcg, &mean.first.recall, &mean.first.precision, &mean.first.map,
                    &mean.reciprocal})
    *sum /= count;
  return mean;
}

void check_close(double value, double wanted) { BOOST_TEST(std::abs(value - wanted) < 1e-12, value << ", " << wanted); }

}  // namespace

BOOST_AUTO_TEST_CASE(the_vectors_of_the_specification_hold) {
  const auto best = first_places(levels_of({0.9F}, {0.8F, 0.7F}), 10);
  BOOST_TEST(best.hit == 1.0);
  BOOST_TEST(best.ndcg == 1.0);
  const auto tied = levels_of({0.5F}, {0.9F, 0.5F, 0.1F});  // rank 2 or 3
  BOOST_TEST(first_places(tied, 2).hit == 0.5);
  check_close(first_places(tied, 10).ndcg, (1.0 / std::log2(3.0) + 1.0 / std::log2(4.0)) / 2.0);
  BOOST_TEST(std::abs(first_places(tied, 10).ndcg - 0.56546) < 1e-5);
  check_close(reciprocal_rank(tied), (1.0 / 2.0 + 1.0 / 3.0) / 2.0);
}

BOOST_AUTO_TEST_CASE(figures_are_means_over_the_orders_of_tied_items) {
  random_stream stream(11, purpose::test);
  for (int trial = 0; trial < 150; ++trial) {
    std::vector<float> held_out;
    std::vector<float> candidates;
    const auto own = 1 + stream.below(3);
    const auto others = stream.below(5);
    for (std::uint32_t i = 0; i < own; ++i) held_out.push_back(static_cast<float>(stream.below(3)));
    for (std::uint32_t i = 0; i < others; ++i) candidates.push_back(static_cast<float>(stream.below(3)));
    const auto levels = levels_of(held_out, candidates);
    for (const std::uint32_t places : {1U, 2U, 3U, 5U, 20U}) {
      const auto wanted = expected(held_out, candidates, places);
      const auto found = first_places(levels, places);
      check_close(found.hit, wanted.first.hit);
      check_close(found.ndcg, wanted.first.ndcg);
      check_close(found.recall, wanted.first.recall);
      check_close(found.precision, wanted.first.precision);
      check_close(found.map, wanted.first.map);
      check_close(reciprocal_rank(levels), wanted.reciprocal);
    }
  }
}

BOOST_AUTO_TEST_CASE(one_held_out_item_has_a_recall_that_is_its_hit_ratio) {
  const auto found = first_places(levels_of({2.0F}, {3.0F, 2.0F, 2.0F, 1.0F}), 2);
  check_close(found.recall, found.hit);
  check_close(found.precision, found.hit / 2);
}

BOOST_AUTO_TEST_CASE(many_tied_items_share_all_places) {
  const std::vector<float> others(3705, 0.25F);
  const auto levels = levels_of({0.25F}, others);
  check_close(first_places(levels, 10).hit, 10.0 / 3706.0);
  double sum = 0.0;
  for (int rank = 1; rank <= 3706; ++rank) sum += 1.0 / rank;
  BOOST_TEST(std::abs(reciprocal_rank(levels) - sum / 3706.0) < 1e-12);
}

BOOST_AUTO_TEST_CASE(an_items_chance_of_a_place_falls_with_those_before_it) {
  BOOST_TEST(chance_of_place(0, 0, 1) == 1.0);
  BOOST_TEST(chance_of_place(5, 0, 5) == 0.0);
  BOOST_TEST(chance_of_place(4, 0, 5) == 1.0);
  BOOST_TEST(chance_of_place(4, 3, 5) == 0.25);
  BOOST_TEST(chance_of_place(0, 3, 9) == 1.0);
}

BOOST_AUTO_TEST_CASE(the_best_items_come_first_and_ties_by_number) {
  const std::vector<float> scores = {1.0F, 3.0F, 2.0F, 3.0F, 5.0F, 2.0F};
  std::vector<std::uint8_t> left_out(6);
  left_out[4] = 1;
  std::vector<std::uint32_t> best;
  const auto first = [&](std::size_t count) {
    find_best(scores, left_out, count, best);
    return best;
  };
  using items = std::vector<std::uint32_t>;
  BOOST_TEST((first(0) == items{}));
  BOOST_TEST((first(1) == items{1}));
  BOOST_TEST((first(3) == items{1, 3, 2}));
  BOOST_TEST((first(4) == items{1, 3, 2, 5}));
  BOOST_TEST((first(100) == items{1, 3, 2, 5, 0}));
}

BOOST_AUTO_TEST_CASE(the_best_of_many_items_are_those_of_a_sort) {
  random_stream draws(1, purpose::ranking_candidates, 0, 0);
  for (const bool ascending : {false, true}) {
    std::vector<float> scores(2000);
    std::vector<std::uint8_t> left_out(scores.size());
    std::vector<std::uint32_t> expected;
    for (std::uint32_t item = 0; item < scores.size(); ++item) {
      scores[item] = static_cast<float>(ascending ? item / 3 : draws.below(300));  // some are equal
      left_out[item] = draws.below(5) == 0 ? 1 : 0;
      if (left_out[item] == 0) expected.push_back(item);
    }
    std::ranges::stable_sort(expected, [&](auto a, auto b) { return scores[a] > scores[b]; });
    for (const auto count : {1U, 20U, 500U}) {
      std::vector<std::uint32_t> best;
      find_best(scores, left_out, count, best);
      BOOST_TEST(std::ranges::equal(best, std::span(expected).first(count)));
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
