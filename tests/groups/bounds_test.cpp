// Exact sums of added tensors: each group's rule, unit and norm bound; and groups that cannot be.
#include <boost/test/unit_test.hpp>

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/groups/every_place.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(group_bounds)

using namespace furlong;
using federated::place;
using federated::sum_rule;
using tests::every_place_experiment;
using tests::every_place_settings;

namespace {

federated::experiment made() { return every_place_experiment(every_place_settings()); }

/// Updates of the run's layout, each value a multiple of 2^-10 below 1, so that no group's unit rounds it.
std::vector<federated::client_update> updates_of(const federated::experiment& e, std::size_t count) {
  auto all = tests::random_updates(3, count, e.parts.up);
  for (auto& update : all) {
    update.id.run = e.run;
    for (auto& value : update.change.values) value = std::round(value * 1024.0F) / 1024.0F;
  }
  return all;
}

federated::aggregate report_of(const federated::experiment& e, const std::vector<federated::client_update>& updates,
                               std::size_t parts) {
  const auto root = federated::make_accumulator(e, {});
  for (std::size_t p = 0; p < parts; ++p) {
    const auto leaf = federated::make_accumulator(e, {});
    for (std::size_t i = p; i < updates.size(); i += parts) BOOST_REQUIRE(!leaf->fold(updates[i]));
    BOOST_REQUIRE(root->merge(leaf->take()));
  }
  return root->report();
}

std::optional<federated::rejection> verdict(const federated::experiment& e, const federated::client_update& update) {
  return federated::validate(update, *e.parts.up, *e.settings.aggregation,
                             federated::bounds_of(e, 1e30, {}, std::nullopt));
}

/// An algorithm that adds what it is told, and does nothing.
class adds final : public federated::algorithm {
 public:
  adds(std::vector<federated::tensor_group> groups, bool sends) : groups_(std::move(groups)), sends_(sends) {}
  [[nodiscard]] std::vector<federated::tensor_group> tensors(const models::model&,
                                                             const models::partition&) const override {
    return groups_;
  }
  [[nodiscard]] bool sends_model() const override { return sends_; }
  [[nodiscard]] std::uint64_t plan(const federated::run_settings&, std::uint64_t count) const override { return count; }
  void train(federated::local_task&) const override {}

 private:
  std::vector<federated::tensor_group> groups_;
  bool sends_;
};

/// Of a run with these groups: "what: why"; empty: it is fine.
std::string problem_of(std::vector<federated::tensor_group> groups, federated::run_settings settings = {},
                       bool keeps_state = true, bool sends = true) {
  *settings.algorithm = federated::chosen_algorithm("furl");
  settings.algorithm->traits.keeps_state = keeps_state;
  settings.algorithm->does = std::make_shared<const adds>(std::move(groups), sends);
  auto e = made();
  e.settings = settings;
  const std::vector<std::string> own = {"user"};
  const auto done = federated::lay_out(e, own);
  return done ? std::string() : done.error().place + ": " + done.error().reason;
}

bool says(const std::string& problem, const std::string& part) { return problem.find(part) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(sums_are_exact_in_any_order_and_along_any_tree) {
  const auto e = made();
  auto updates = updates_of(e, 60);
  const auto flat = report_of(e, updates, 1);
  std::vector<double> sum(e.parts.reported->size(), 0.0);
  std::vector<double> weighted(sum);
  double weight = 0;
  for (const auto& update : updates) {
    weight += update.weight;
    const auto dense = models::to_dense(update.change);
    const auto begin = e.parts.shared->size();
    for (std::size_t i = 0; i < sum.size(); ++i) {
      sum[i] += dense.values[begin + i];
      weighted[i] += update.weight * double{dense.values[begin + i]};
    }
  }
  for (const auto& group : e.groups)
    for (std::size_t i = 0; group.in_reported != federated::placed_group::nowhere && i < group.count(); ++i) {
      const auto found = flat.added.tensor(group.in_reported + i);
      const auto begin = e.parts.reported->offset(group.in_reported + i);
      for (std::size_t j = 0; j < found.size(); ++j) {
        const double expected = group.rule == sum_rule::sum    ? sum[begin + j]
                                : group.rule == sum_rule::mean ? weighted[begin + j] / weight
                                                               : sum[begin + j] / 60.0;
        BOOST_TEST(found[j] == static_cast<float>(expected), boost::test_tools::tolerance(1e-6F));
        if (group.rule == sum_rule::sum) BOOST_TEST(found[j] == static_cast<float>(expected));  // to the last bit
      }
    }
  random_stream stream(8, purpose::test);
  for (const std::size_t parts : {2U, 3U, 7U}) {
    stream.shuffle(std::span(updates));
    const auto tree = report_of(e, updates, parts);
    BOOST_TEST(tests::same_bits(tree.added.values(), flat.added.values()));
    BOOST_TEST(tests::same_bits(tree.change.values(), flat.change.values()));
  }
}

BOOST_AUTO_TEST_CASE(the_words_are_the_rules_and_one_for_each_reported_value) {
  const auto e = made();
  auto without = e;
  without.groups.clear();
  without.parts.up = without.parts.down = without.parts.shared;
  without.parts.reported = std::make_shared<models::layout>(std::vector<models::tensor_spec>{});
  BOOST_TEST(federated::accumulated_words(without) == 3 + e.parts.shared->size());
  BOOST_TEST(federated::accumulated_words(e) == 3 + e.parts.shared->size() + e.parts.reported->size());
}

// The largest updates that the bounds let through, as many as a round may have.
BOOST_AUTO_TEST_CASE(the_largest_updates_do_not_overflow) {
  auto e = made();
  e.settings.aggregation->max_updates = 64;
  const auto& seen = e.groups[tests::every::seen];
  auto update = tests::dense_update({e.run, 0, 1, 0}, e.parts.up);
  update.weight = e.settings.aggregation->max_weight;
  update.change.values_of(seen.in_up)[0] = static_cast<float>(seen.max_norm);
  update.change.values_of(e.groups[tests::every::length].in_up)[0] = -64.0F;
  BOOST_REQUIRE(!verdict(e, update));
  const auto sum = federated::make_accumulator(e, {});
  for (std::uint32_t i = 0; i < 64; ++i) BOOST_REQUIRE(!sum->fold(update));
  const auto done = sum->report();
  BOOST_TEST(done.added.tensor(seen.in_reported)[0] == 64 * 4096.0F);
  BOOST_TEST(done.added.tensor(e.groups[tests::every::length].in_reported)[0] == -64.0F);
}

BOOST_AUTO_TEST_CASE(each_group_refuses_by_its_own_bound) {
  const auto e = made();
  const auto with = [&](std::size_t tensor, float value) {
    auto update = tests::dense_update({e.run, 0, 1, 0}, e.parts.up);
    update.change.values_of(tensor)[0] = value;
    return update;
  };
  using federated::rejection;
  const auto seen = e.groups[tests::every::seen].in_up;      // 4096
  const auto drift = e.groups[tests::every::drift].in_up;    // 1024, each tensor
  const auto length = e.groups[tests::every::length].in_up;  // 64
  BOOST_TEST(!verdict(e, with(0, 1024.0F)));
  BOOST_TEST((verdict(e, with(0, 1025.0F)) == rejection::norm_bound));
  BOOST_TEST(!verdict(e, with(seen, 4096.0F)));
  BOOST_TEST((verdict(e, with(seen, 4097.0F)) == rejection::norm_bound));
  BOOST_TEST(!verdict(e, with(drift + 2, 1024.0F)));
  BOOST_TEST((verdict(e, with(drift + 2, 1025.0F)) == rejection::norm_bound));
  BOOST_TEST(!verdict(e, with(length, 64.0F)));
  BOOST_TEST((verdict(e, with(length, -65.0F)) == rejection::norm_bound));
  BOOST_TEST((verdict(e, with(length, NAN)) == rejection::not_finite));
  auto rows = with(length, 1.0F);
  rows.change.pieces[seen] = {true, 0, 1, 0};
  rows.change.rows = {30};  // there are 30 items
  BOOST_TEST((verdict(e, rows) == rejection::wrong_shape));
  auto missing = with(length, 1.0F);
  missing.change.pieces.pop_back();
  BOOST_TEST((verdict(e, missing) == rejection::wrong_shape));
  // A weighted group bounds the weight, whatever the model's rule.
  auto uniform = e;
  uniform.settings.aggregation->rule = federated::chosen_rule("uniform-mean");
  auto heavy = with(length, 1.0F);
  heavy.weight = e.settings.aggregation->max_weight + 1;
  BOOST_TEST((verdict(uniform, heavy) == rejection::weight_bound));
}

BOOST_AUTO_TEST_CASE(groups_that_cannot_be_are_refused_by_name) {
  BOOST_TEST(problem_of({{.name = "a", .copies_of = {1}}}) == "");
  const auto bad = [](federated::tensor_group group) { return problem_of({std::move(group)}); };
  BOOST_TEST(says(bad({.name = "a/b", .copies_of = {1}}), "algorithm furl, group \"a/b\": has no proper name"));
  BOOST_TEST(says(bad({.name = "a"}), "has no tensors"));
  BOOST_TEST(says(bad({.name = "a", .copies_of = {1}, .specs = {{"t"}}}), "has both copies and shapes of its own"));
  BOOST_TEST(says(bad({.name = "a", .copies_of = {99}}), "copies a tensor that the model does not have"));
  BOOST_TEST(says(bad({.name = "a", .specs = {{"t", 7, 1, models::row_index::by_feature}}}),
                  "has 7 rows of \"t\", and the model has 30"));
  BOOST_TEST(says(bad({.name = "a", .specs = {{"t"}}, .first = federated::first_value::received}),
                  "begins as the model, and copies none"));
  BOOST_TEST(
      says(bad({.name = "a", .where = place::server, .copies_of = {0}, .first = federated::first_value::received}),
           "begins as \"user\", which the server does not have"));
  BOOST_TEST(says(bad({.name = "a", .specs = {{"t"}}, .max_norm = 0.0}), "has bounds that are no positive numbers"));
  BOOST_TEST(says(problem_of({{.name = "a", .copies_of = {1}}, {.name = "a", .copies_of = {1}}}), "is there twice"));
  BOOST_TEST(says(problem_of({{.name = "a", .copies_of = {1}}}, {}, false), "clients keep nothing"));
  BOOST_TEST(
      says(problem_of({{.name = "a", .copies_of = {1}}}, {}, true, false), "sends neither the model nor a group"));
  federated::run_settings noisy;
  *noisy.privacy = {.clip = 1.0, .noise = 0.1};
  const federated::tensor_group weighted{.name = "a", .where = place::report, .specs = {{"t"}}, .rule = sum_rule::mean};
  BOOST_TEST(says(problem_of({weighted}, noisy), "privacy.noise: cannot hide a client"));
  auto uniform = weighted;
  uniform.rule = sum_rule::uniform_mean;
  BOOST_TEST(problem_of({uniform}, noisy) == "");
}

// An update without the model's tensors: the server's optimizer has nothing to move.
BOOST_AUTO_TEST_CASE(groups_can_be_all_that_is_sent) {
  auto e = made();
  e.settings.algorithm->does = std::make_shared<const adds>(
      std::vector<federated::tensor_group>{{.name = "a", .where = place::report, .specs = {{"t", 2, 2}}}}, false);
  const std::vector<std::string> own = {"user"};
  BOOST_REQUIRE(federated::lay_out(e, own));
  BOOST_TEST(e.parts.up->signature() == "every-place/a/t 2 2\n");
  BOOST_TEST(e.parts.down == e.parts.shared);
  BOOST_TEST(federated::accumulated_words(e) == 7U);
  const auto sum = federated::make_accumulator(e, {});
  auto update = tests::dense_update({e.run, 0, 1, 0}, e.parts.up);
  update.change.values = {1, 2, 3, 4};
  BOOST_REQUIRE(!verdict(e, update));
  BOOST_REQUIRE(!sum->fold(update));
  update.change.values = {3, 2, 1, 0};
  BOOST_REQUIRE(!sum->fold(update));
  const auto done = sum->report();
  BOOST_TEST(done.usable);
  BOOST_TEST(std::ranges::all_of(done.change.values(), [](float v) { return v == 0.0F; }));
  const std::vector<float> expected = {2, 2, 2, 2};
  BOOST_TEST(std::ranges::equal(done.added.values(), expected));
}

BOOST_AUTO_TEST_SUITE_END()
