// What every aggregation rule must be: a sum that knows no order. A rule added later needs a line in `rules`.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(aggregation_conformance)

using namespace furlong;
using federated::accumulator;
using tests::same_bits;

namespace {

/// As updates of an asynchronous run: some started from older versions.
double freshness_of(const federated::client_update& update) { return 1.0 / std::sqrt(1.0 + update.id.client % 4); }

struct bench {
  federated::aggregation_settings settings;
  models::layout_ptr shape = tests::mixed_layout();
  std::vector<double> reference;
  std::vector<federated::client_update> updates = tests::random_updates(5, 40, shape);

  explicit bench(std::string_view rule, const char* norm = "frobenius") {
    settings.rule = federated::chosen_rule(rule);
    if (settings.rule.options.has("norm")) settings.rule.options.set("norm", std::string(norm));
    settings.max_norm = 64.0;
    reference = federated::first_reference(settings, shape);
    for (auto& constant : reference) constant += 0.37;
  }
  [[nodiscard]] std::unique_ptr<accumulator> empty() const {
    return federated::make_accumulator(settings, shape, reference);
  }
  [[nodiscard]] std::unique_ptr<accumulator> folded() const {
    auto sum = empty();
    for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update, freshness_of(update)));
    return sum;
  }
};

template <class Work>
void for_every_rule(const Work& work) {
  for (const auto& entry : federated::registered_rules()) BOOST_TEST_CONTEXT("rule " << entry.kind) {
      work(bench(entry.kind));
    }
  BOOST_TEST_CONTEXT("fedatt by the spectral norm") { work(bench("fedatt", "spectral")); }
}

/// Folds updates[first, last) along a random binary tree; each leaf saves and restores in mid-stream.
federated::accumulator_state fold_tree(const bench& b, std::size_t first, std::size_t last, random_stream& stream) {
  auto sum = b.empty();
  if (last - first > 3 && stream.below(4) != 0) {
    const auto middle = first + 1 + stream.below(static_cast<std::uint32_t>(last - first - 1));
    auto right = fold_tree(b, middle, last, stream);
    BOOST_REQUIRE(sum->merge(right));
    BOOST_REQUIRE(sum->merge(fold_tree(b, first, middle, stream)));
    return sum->take();
  }
  for (std::size_t i = first; i < last; ++i) {
    const auto saved = sum->save();
    sum = b.empty();
    BOOST_REQUIRE(sum->merge(saved));
    BOOST_REQUIRE(!sum->fold(b.updates[i], freshness_of(b.updates[i])));
  }
  return sum->take();
}

}  // namespace

BOOST_AUTO_TEST_CASE(any_order_gives_the_same_bits) {
  for_every_rule([](bench b) {
    const auto expected = b.folded()->save();
    random_stream stream(6, purpose::test);
    for (int trial = 0; trial < 20; ++trial) {
      stream.shuffle(std::span(b.updates));
      BOOST_TEST((b.folded()->save() == expected));
    }
  });
}

BOOST_AUTO_TEST_CASE(any_tree_saved_and_restored_anywhere_gives_the_same_bits) {
  for_every_rule([](bench b) {
    const auto expected = b.folded()->save();
    random_stream stream(7, purpose::test);
    for (int trial = 0; trial < 20; ++trial) {
      stream.shuffle(std::span(b.updates));
      BOOST_TEST((fold_tree(b, 0, b.updates.size(), stream) == expected));
    }
  });
}

BOOST_AUTO_TEST_CASE(rows_count_as_their_dense_copy) {
  for_every_rule([](bench b) {
    const auto rows = b.folded();
    for (auto& update : b.updates) update.change = models::to_dense(update.change);
    const auto dense = b.folded();
    BOOST_TEST((rows->save().words == dense->save().words));
    BOOST_TEST(same_bits(rows->report().change.values(), dense->report().change.values()));
  });
}

// A distance is a sum of squares: which rows of zeros stand between must not reach its last bit.
BOOST_AUTO_TEST_CASE(distances_are_those_of_the_dense_copy) {
  using models::row_index;
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{
      {"item", 60, 10, row_index::by_feature}, {"item_bias", 200, 1, row_index::by_feature}});
  for (const auto* norm : {"frobenius", "spectral"}) {
    bench b("fedatt", norm);
    b.shape = shape;
    b.reference = federated::first_reference(b.settings, shape);
    for (auto update : tests::random_updates(8, 300, shape)) {
      const auto sparse = b.empty();
      BOOST_REQUIRE(!sparse->fold(update));
      update.change = models::to_dense(update.change);
      const auto dense = b.empty();
      BOOST_REQUIRE(!dense->fold(update));
      for (std::size_t t = 0; t < shape->count(); ++t)
        BOOST_TEST(sparse->distances()[t] == dense->distances()[t]);  // to the last bit
    }
  }
}

BOOST_AUTO_TEST_CASE(reporting_and_taking_leave_an_empty_accumulator_that_serves_again) {
  for_every_rule([](const bench& b) {
    const auto nothing = b.empty()->save();
    auto sum = b.folded();
    const auto words = sum->save();
    const auto first = sum->report();
    BOOST_TEST((sum->save() == nothing));
    BOOST_TEST(sum->count() == 0U);
    BOOST_REQUIRE(sum->merge(words));
    const auto second = sum->report();
    BOOST_TEST(same_bits(first.change.values(), second.change.values()));
    BOOST_TEST(first.reference == second.reference);
    for (const auto& update : b.updates) BOOST_REQUIRE(!sum->fold(update, freshness_of(update)));
    BOOST_TEST((sum->take() == words));
    BOOST_TEST((sum->save() == nothing));
  });
}

BOOST_AUTO_TEST_CASE(counts_weights_and_losses_add_up) {
  for_every_rule([](const bench& b) {
    std::uint64_t weight = 0;
    double loss = 0.0;
    for (const auto& update : b.updates) {
      weight += update.weight;
      loss += update.loss_sum;
    }
    auto sum = b.folded();
    BOOST_TEST(sum->count() == b.updates.size());
    BOOST_TEST(sum->weight() == weight);
    const auto round = sum->report();
    BOOST_TEST(round.count == b.updates.size());
    BOOST_TEST(round.weight == weight);
    BOOST_TEST(std::abs(round.loss - loss / static_cast<double>(weight)) < 1e-6);
  });
}

BOOST_AUTO_TEST_CASE(a_negative_loss_counts_as_none) {
  for_every_rule([](const bench& b) {
    auto sum = b.empty();
    for (auto update : b.updates) {
      update.loss_sum = -5.0;
      BOOST_REQUIRE(!sum->fold(update));
    }
    BOOST_TEST(sum->report().loss == 0.0);
  });
}

BOOST_AUTO_TEST_CASE(an_update_of_no_weight_adds_nothing) {
  for_every_rule([](const bench& b) {
    auto sum = b.folded();
    const auto before = sum->save();
    auto silent = b.updates.front();
    silent.weight = 0;
    BOOST_TEST(!sum->fold(silent));
    BOOST_TEST((sum->save() == before));
  });
}

BOOST_AUTO_TEST_CASE(a_round_without_updates_is_not_usable) {
  for_every_rule([](const bench& b) {
    const auto round = b.empty()->report();
    BOOST_TEST(!round.usable);
    for (const auto value : round.change.values()) BOOST_TEST(value == 0.0F);
  });
}

BOOST_AUTO_TEST_CASE(words_that_do_not_fit_or_claim_too_much_are_refused_unmerged) {
  for_every_rule([](const bench& b) {
    auto sum = b.folded();
    const auto before = sum->save();
    auto other = before;
    other.words.pop_back();
    BOOST_TEST(!sum->merge(other));
    for (const std::size_t word : {0U, 1U}) {
      for (const auto claim : {std::int64_t{-1}, INT64_MAX, INT64_MIN}) {
        other = before;
        other.words[word] = claim;
        BOOST_TEST(!sum->merge(other));
      }
    }
    BOOST_TEST((sum->save() == before));
  });
}

BOOST_AUTO_TEST_CASE(the_number_of_updates_is_capped_before_a_sum_can_overflow) {
  for_every_rule([](const bench& b) {
    auto sum = b.empty();
    auto one = b.updates.front();
    one.weight = 1;
    BOOST_REQUIRE(!sum->fold(one));
    const auto once = sum->save();
    // Doubling reaches the cap in a few merges; past it both ways in are closed, and nothing has wrapped.
    for (bool merged = true; merged;) merged = sum->merge(sum->save()).has_value();
    while (sum->merge(once)) {
    }
    const auto full = sum->save();
    BOOST_TEST((sum->fold(one) == federated::rejection::weight_bound));
    BOOST_TEST((sum->save() == full));
    for (std::size_t i = 0; i < full.words.size(); ++i)
      BOOST_TEST(static_cast<std::uint64_t>(std::abs(full.words[i])) <= std::uint64_t{1} << 62);
    BOOST_TEST(static_cast<std::int64_t>(sum->count()) * once.words.back() == full.words.back());
  });
}

BOOST_AUTO_TEST_SUITE_END()
