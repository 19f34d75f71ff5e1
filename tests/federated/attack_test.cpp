// Who attacks, and what becomes of updates on their way into a sum.
#include "federated/settings/attack.hpp"

#include "federated/attack/client_attack.hpp"
#include "federated/attack/collusion.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/state/broadcasts.hpp"
#include "federated/world/attackers.hpp"
#include "tests/support/attacks.hpp"
#include "tests/support/updates.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(attacks)

using namespace furlong;
using namespace furlong::federated;
using tests::attack_plan;

namespace {

experiment attacked(const attack_plan& attack, const char* rule = "uniform-mean",
                    norm_bound_kind bound = norm_bound_kind::fixed) {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule(rule);
  settings.aggregation->norm_bound = bound;
  *settings.attack = attack.settings();
  return tests::simulated(settings);
}

std::vector<std::uint32_t> members(const client_set& clients) {
  std::vector<std::uint32_t> list;
  clients.visit([&](std::uint32_t client) { list.push_back(client); });
  return list;
}

/// Updates of clients 1 to 6, two of which are bad in attacks of clients 2 and 5.
std::vector<client_update> six_updates(const experiment& run) {
  auto updates = tests::random_updates(3, 6, run.parts.up);
  for (std::uint32_t i = 0; i < 6; ++i) updates[i].id = {run.run, 0, i + 1, 0};
  return updates;
}

bool is_bad(const client_update& update) { return update.id.client == 2 || update.id.client == 5; }

std::vector<double> mean_of(const std::vector<client_update>& updates, bool bad) {
  std::vector<double> mean(updates.front().change.shape->size(), 0.0);
  double count = 0.0;
  for (const auto& update : updates) {
    if (is_bad(update) != bad) continue;
    const auto dense = models::to_dense(update.change);
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += static_cast<double>(dense.values[i]);
    count += 1.0;
  }
  for (auto& value : mean) value /= count;
  return mean;
}

/// The sum of a round with the updates of bad clients.
std::unique_ptr<accumulator> sum_of(const experiment& run, const std::vector<client_update>& updates,
                                    const update_limits& limits = {}) {
  const auto state = initial_state(run);
  auto sum = make_accumulator(run, state.reference);
  hold_back_bad_updates(run, 0, *sum);
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  BOOST_TEST(sum->count() == updates.size());
  add_bad_updates(run, state, limits, *sum);
  return sum;
}

void check_near(std::span<const float> made, const std::vector<double>& expected) {
  BOOST_REQUIRE(made.size() == expected.size());
  for (std::size_t i = 0; i < made.size(); ++i) BOOST_TEST(std::abs(static_cast<double>(made[i]) - expected[i]) < 1e-5);
}

}  // namespace

BOOST_AUTO_TEST_CASE(bad_clients_are_listed_or_drawn_once_among_those_that_train) {
  BOOST_TEST(members(attacked({}).around->attackers).empty());
  const auto listed = attacked({.kind = "ipm", .listed = {3, 5}});
  BOOST_TEST((members(listed.around->attackers) == std::vector<std::uint32_t>{3, 5}));
  const auto run = attacked({.kind = "ipm", .clients = 0.3});
  const auto training = run.participants->training();
  const auto drawn = members(run.around->attackers);
  BOOST_TEST(drawn.size() == 5U);  // of 17
  for (const auto client : drawn) BOOST_TEST(std::ranges::binary_search(training, client));
  BOOST_TEST((members(attacked({.kind = "alie", .clients = 0.3}).around->attackers) == drawn));
  BOOST_TEST(members(attacked({.kind = "ipm", .clients = 4.0}).around->attackers).size() == 4U);
  BOOST_TEST(members(attacked({.kind = "ipm", .clients = 0.001}).around->attackers).size() == 1U);
  auto reseeded = run.settings;
  reseeded.seed = 6;
  BOOST_TEST((members(draw_attackers(reseeded, training)) != drawn));
}

BOOST_AUTO_TEST_CASE(an_attack_begins_with_its_first_round) {
  const auto run = attacked({.kind = "sign-flip", .listed = {3}, .from_round = 4});
  BOOST_TEST(!is_attacked_by(run, 2, 3));
  BOOST_TEST(is_attacked_by(run, 3, 3));  // version 3 is what round 4 starts from
  BOOST_TEST(!is_attacked_by(run, 3, 4));
}

BOOST_AUTO_TEST_CASE(an_update_is_negated_or_drawn_by_a_bad_client_alone) {
  const auto flips = attacked({.kind = "sign-flip", .listed = {3}, .strength = 2.0});
  const auto honest = tests::random_updates(4, 1, flips.parts.up).front().change;
  auto change = honest;
  attack_update(flips, {flips.run, 0, 4, 0}, {}, change);
  BOOST_TEST((change == honest));
  attack_update(flips, {flips.run, 0, 3, 0}, {}, change);
  for (std::size_t i = 0; i < change.values.size(); ++i) BOOST_TEST(change.values[i] == -2.0F * honest.values[i]);
  const auto draws = attacked({.kind = "gaussian", .listed = {3}, .strength = 0.5});
  auto drawn = honest;
  attack_update(draws, {draws.run, 0, 3, 0}, {}, drawn);
  double squared = 0.0;
  for (const auto value : drawn.values) squared += static_cast<double>(value) * static_cast<double>(value);
  const auto size = static_cast<double>(draws.parts.shared->size());
  BOOST_TEST(drawn.values.size() == draws.parts.shared->size());  // every row
  BOOST_TEST(std::abs(squared / size - 0.25) < 0.1);
  auto again = honest;
  attack_update(draws, {draws.run, 0, 3, 1}, {}, again);
  BOOST_TEST((again == drawn));
  attack_update(draws, {draws.run, 1, 3, 0}, {}, again);
  BOOST_TEST((again != drawn));
}

BOOST_AUTO_TEST_CASE(bad_clients_stay_within_the_limits_of_their_version) {
  const auto flips = attacked({.kind = "sign-flip", .listed = {3}, .strength = 1000.0});
  auto change = tests::random_updates(4, 1, flips.parts.up).front().change;
  const update_limits limits{.norm = level_of_square(4.0), .row = level_of_square(1.0)};
  attack_update(flips, {flips.run, 0, 3, 0}, limits, change);
  client_update update{.id = {flips.run, 0, 3, 0}, .weight = 1, .examples = 1, .loss_sum = 0.5, .change = change};
  const update_bounds bounds{.limits = limits, .groups = flips.groups};
  BOOST_TEST(!validate(update, *flips.parts.up, *flips.settings.aggregation, bounds));
  BOOST_TEST(std::ranges::any_of(change.values, [](float value) { return value != 0.0F; }));
}

BOOST_AUTO_TEST_CASE(labels_are_mirrored_for_a_bad_client_alone) {
  const auto run = attacked({.kind = "label-flip", .listed = {3}});
  const std::vector<std::uint32_t> features = {1, 2, 3};
  const std::vector<float> ratings = {1.0F, 4.5F, 5.0F};
  const models::examples_view examples{
      .features = features, .values = {}, .offsets = {}, .labels = ratings, .owners = {}};
  models::examples room;
  const auto mirrored = attacked_examples(run, {run.run, 0, 3, 0}, examples, room);
  BOOST_TEST(
      (std::vector<float>(mirrored.labels.begin(), mirrored.labels.end()) == std::vector<float>{5.0F, 1.5F, 1.0F}));
  BOOST_TEST(mirrored.features.data() == features.data());
  BOOST_TEST(attacked_examples(run, {run.run, 0, 4, 0}, examples, room).labels.data() == ratings.data());
}

BOOST_AUTO_TEST_CASE(clients_that_collude_send_one_update_of_all_that_they_know) {
  const attack_plan omniscient{.kind = "ipm", .listed = {2, 5}, .knows = "all", .strength = 0.5};
  const auto run = attacked(omniscient);
  const auto updates = six_updates(run);
  const auto honest = mean_of(updates, false);
  auto expected = honest;
  for (auto& value : expected) value *= (4.0 - 2.0 * 0.5) / 6.0;
  const auto made = sum_of(run, updates)->report();
  BOOST_TEST(made.count == 6U);
  BOOST_TEST(made.updates.empty());
  check_near(made.change.values(), expected);
  auto own = omniscient;
  own.knows = "own";
  const auto theirs = mean_of(updates, true);
  for (std::size_t i = 0; i < expected.size(); ++i) expected[i] = (4.0 * honest[i] - 2.0 * 0.5 * theirs[i]) / 6.0;
  check_near(sum_of(attacked(own), updates)->report().change.values(), expected);
}

BOOST_AUTO_TEST_CASE(clients_that_collude_are_honest_before_their_round_and_without_knowledge) {
  const attack_plan later{.kind = "ipm", .listed = {2, 5}, .from_round = 2};
  const auto run = attacked(later);
  const auto updates = six_updates(run);
  const auto plain = attacked({});
  const auto expected = sum_of(plain, updates)->report();
  BOOST_TEST(tests::same_bits(sum_of(run, updates)->report().change.values(), expected.change.values()));
  // Nobody is honest: there is nothing to know.
  const auto alone = attacked({.kind = "ipm", .listed = {1, 2, 3, 4, 5, 6}, .knows = "all"});
  BOOST_TEST(tests::same_bits(sum_of(alone, updates)->report().change.values(), expected.change.values()));
}

BOOST_AUTO_TEST_CASE(crafted_updates_stay_within_the_limits_of_the_round) {
  const auto run = attacked({.kind = "ipm", .listed = {2, 5}, .knows = "all", .strength = 1e6});
  const update_limits limits{.norm = level_of_square(4.0), .row = level_of_square(1.0)};
  const auto sum = sum_of(run, six_updates(run), limits);
  std::size_t bad = 0;
  for (const auto& update : sum->save().updates) {
    if (!is_bad(update)) continue;
    ++bad;
    const update_bounds bounds{.limits = limits, .groups = run.groups};
    BOOST_TEST(!validate(update, *run.parts.up, *run.settings.aggregation, bounds));
  }
  BOOST_TEST(bad == 2U);
}

// With privacy.clip_quantile the server accepts what the bound of the version says, not privacy.clip.
BOOST_AUTO_TEST_CASE(crafted_updates_stay_within_the_clip_bound_of_the_round) {
  auto settings = attacked({.kind = "ipm", .listed = {2, 5}, .knows = "all", .strength = 1e6}).settings;
  *settings.privacy = {.clip = 8.0, .clip_quantile = 0.5};
  const auto run = tests::simulated(settings);
  auto state = initial_state(run);
  aggregate round;
  round.added = models::shared_parameters(run.parts.reported);
  round.added.values()[0] = 0.5F;  // all were within the bound
  for (int version = 0; version < 40; ++version) move_clip_bound(run, round, state.added);
  const double longest = longest_update(run, sent_model(run, state.last()));
  BOOST_TEST(longest < 1.0);
  const auto sum = make_accumulator(run, state.reference);
  hold_back_bad_updates(run, 0, *sum);
  for (const auto& update : six_updates(run)) BOOST_REQUIRE(!sum->fold(update));
  add_bad_updates(run, state, {}, *sum);
  std::size_t bad = 0;
  for (const auto& update : sum->save().updates) {
    if (!is_bad(update)) continue;
    ++bad;
    BOOST_TEST(!validate(update, *run.parts.up, *run.settings.aggregation, bounds_of(run, longest, {}, std::nullopt)));
  }
  BOOST_TEST(bad == 2U);
}

// A version with an update that is far longer than all others would be abandoned.
BOOST_AUTO_TEST_CASE(crafted_updates_without_limits_are_no_longer_than_honest_ones) {
  const auto run = attacked({.kind = "ipm", .listed = {2, 5}, .knows = "all", .strength = 1e6}, "uniform-mean",
                            norm_bound_kind::adaptive);
  const auto norm_of = [](const client_update& update) {
    double squared = 0.0;
    for (const auto value : update.change.values) squared += static_cast<double>(value) * static_cast<double>(value);
    return std::sqrt(squared);
  };
  const auto updates = six_updates(run);
  double longest = 0.0;
  for (const auto& update : updates)
    if (!is_bad(update)) longest = std::max(longest, norm_of(update));
  for (const auto& update : sum_of(run, updates)->save().updates)
    if (is_bad(update)) {
      BOOST_TEST(norm_of(update) <= longest * 1.19);  // a level is a quarter of an octave
      BOOST_TEST(norm_of(update) >= longest * 0.1);
    }
}

// The harm that opt_ipm finds against the mean grows with the factor until the limits of a tensor end it.
BOOST_AUTO_TEST_CASE(the_optimal_attack_does_more_harm_than_the_usual_one) {
  const auto harm_by = [](const char* kind, const char* rule) {
    const auto run = attacked({.kind = kind, .listed = {2, 5}, .knows = "all"}, rule);
    const auto updates = six_updates(run);
    const auto honest = mean_of(updates, false);
    const auto made = sum_of(run, updates)->report();
    double squared = 0.0;
    for (std::size_t i = 0; i < honest.size(); ++i)
      squared += std::pow(static_cast<double>(made.change.values()[i]) - honest[i], 2.0);
    return std::sqrt(squared);
  };
  for (const auto* rule : {"uniform-mean", "median", "centred-clipping"}) {
    BOOST_TEST(harm_by("opt-ipm", rule) >= harm_by("ipm", rule) * (1.0 - 1e-6));
    BOOST_TEST(harm_by("opt-alie", rule) >= harm_by("alie", rule) * (1.0 - 1e-6));
  }
  BOOST_TEST(harm_by("opt-ipm", "uniform-mean") > 10.0 * harm_by("ipm", "uniform-mean"));
}

// A partial sum carries what it held back.
BOOST_AUTO_TEST_CASE(bad_updates_of_a_tree_are_those_of_its_root) {
  const auto run = attacked({.kind = "alie", .listed = {2, 5}, .knows = "all"});
  const auto updates = six_updates(run);
  const auto state = initial_state(run);
  const auto root = make_accumulator(run, state.reference);
  for (const auto& part : {std::span(updates).first(2), std::span(updates).subspan(2)}) {
    const auto leaf = make_accumulator(run, state.reference);
    hold_back_bad_updates(run, 0, *leaf);
    for (const auto& update : part) BOOST_REQUIRE(!leaf->fold(update));
    BOOST_REQUIRE(root->merge(leaf->take()));
  }
  add_bad_updates(run, state, {}, *root);
  BOOST_TEST(tests::same_bits(root->report().change.values(), sum_of(run, updates)->report().change.values()));
}

BOOST_AUTO_TEST_SUITE_END()
