// A rule that draws: the median of the means of buckets, into which updates are drawn.
#include <array>

#include "federated/aggregation/fixed_point.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/running.hpp"
#include "tests/support/updates.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(rule_draws_in_runs)

using namespace furlong;
using namespace furlong::federated;

namespace {

constexpr std::size_t buckets = 3;

class median_of_buckets final : public aggregation_rule {
 public:
  median_of_buckets(const aggregation_settings& settings, models::layout_ptr shared, const rule_draws& draws)
      : shared_(std::move(shared)),
        draws_(draws),
        grid_(settings.max_norm, 1.0, settings.max_updates),
        first_(draws.of_run().below(buckets)) {}

  [[nodiscard]] std::size_t words() const override { return buckets * (shared_->size() + 1); }
  std::optional<rejection> encode(const models::delta& change, const fold_context& context,
                                  std::span<std::int64_t> sum) override {
    const auto part = words_of(sum, (first_ + draws_.of_update(context.id).below(buckets)) % buckets);
    for (std::size_t t = 0; t < shared_->count(); ++t)
      for_each_run(*shared_, t, change, [&](std::size_t begin, std::span<const float> values) {
        grid_.add(values, context.freshness, part.subspan(begin, values.size()));
      });
    ++part.back();
    return std::nullopt;
  }
  void report(std::span<std::int64_t> sum, aggregate& out) override {
    out.change = models::shared_parameters(shared_);
    out.usable = out.count > 0;
    std::array<std::vector<float>, buckets> means;
    for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
      const auto part = words_of(sum, bucket);
      means[bucket].resize(shared_->size());
      grid_.drain(part.first(shared_->size()), static_cast<double>(part.back()), means[bucket]);
      part.back() = 0;
    }
    for (std::size_t i = 0; i < shared_->size(); ++i)
      out.change.values()[i] =
          std::max(std::min(means[0][i], means[1][i]), std::min(std::max(means[0][i], means[1][i]), means[2][i]));
  }

 private:
  [[nodiscard]] std::span<std::int64_t> words_of(std::span<std::int64_t> sum, std::size_t bucket) const {
    return sum.subspan(bucket * (shared_->size() + 1), shared_->size() + 1);
  }

  models::layout_ptr shared_;
  rule_draws draws_;
  fixed_point grid_;
  std::size_t first_;
};

experiment experiment_with(std::uint64_t seed, std::uint32_t aggregators = 1, std::uint32_t nodes = 0) {
  register_rule({.kind = "buckets",
                 .doc = "A rule of this test.",
                 .traits = {.counts_alike = true},
                 .build = [](const aggregation_settings& settings, const models::layout_ptr& shared,
                             const std::vector<double>&, const rule_draws& draws) -> std::unique_ptr<aggregation_rule> {
                   return std::make_unique<median_of_buckets>(settings, shared, draws);
                 }});
  auto settings = tests::plain_settings();
  settings.seed = seed;
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("buckets");
  settings.aggregation->norm_bound = norm_bound_kind::fixed;
  settings.checkpoint_every = 2;
  settings.network->heartbeat = 2.0;
  settings.network->timeout = 3.0;
  settings.topology->aggregators = aggregators;
  settings.topology->nodes = nodes;
  return tests::simulated(settings);
}

std::vector<std::int64_t> words_of(const experiment& e, std::span<const client_update> updates) {
  const auto sum = make_accumulator(e, {});
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  return sum->save().words;
}

/// The model at the end of a run, as text.
std::string model_after(const experiment& e) { return tests::run_serially(e).trace.model; }

}  // namespace

BOOST_AUTO_TEST_CASE(draws_follow_from_seed_client_and_version_alone) {
  const task_id task{1, 3, 7, 0};
  const auto first = [](random_stream stream) { return stream(); };
  BOOST_TEST(first(rule_draws(5).of_update(task)) == first(rule_draws(5).of_update({2, 3, 7, 4})));
  for (const auto& [seed, other, part] : {std::tuple(6U, task, 0U), std::tuple(5U, task_id{1, 4, 7, 0}, 0U),
                                          std::tuple(5U, task_id{1, 3, 8, 0}, 0U), std::tuple(5U, task, 1U)})
    BOOST_TEST(first(rule_draws(5).of_update(task)) != first(rule_draws(seed).of_update(other, part)));
  BOOST_TEST(first(rule_draws(5).of_run()) == first(rule_draws(5).of_run()));
  BOOST_TEST(first(rule_draws(5).of_run()) != first(rule_draws(6).of_run()));
  BOOST_TEST(first(rule_draws(5).of_run()) != first(rule_draws(5).of_run(1)));
}

BOOST_AUTO_TEST_CASE(accumulators_of_one_run_draw_alike_and_those_of_other_seeds_do_not) {
  const auto e = experiment_with(5);
  const auto updates = tests::random_updates(9, 30, e.parts.shared);
  const auto words = words_of(e, updates);
  BOOST_TEST((words == words_of(experiment_with(5), updates)));
  BOOST_TEST((words != words_of(experiment_with(6), updates)));
  // Merged at a parent it is the same sum.
  const auto parent = make_accumulator(e, {});
  for (const auto& half : {std::span(updates).first(11), std::span(updates).subspan(11)})
    BOOST_REQUIRE(parent->merge({words_of(e, half)}));
  BOOST_TEST((parent->save().words == words));
}

BOOST_AUTO_TEST_CASE(the_server_aggregators_and_nodes_of_a_run_draw_alike) {
  const auto alone = model_after(experiment_with(5));
  BOOST_TEST(model_after(experiment_with(5)) == alone);
  BOOST_TEST(model_after(experiment_with(6)) != alone);
  BOOST_TEST(model_after(experiment_with(5, 3)) == alone);
  BOOST_TEST(model_after(experiment_with(5, 3, 3)) == alone);
}

BOOST_AUTO_TEST_CASE(a_resumed_run_draws_as_one_that_was_not_interrupted) {
  const auto whole = experiment_with(5);
  BOOST_TEST(tests::run_resumed(whole, 2).trace.model == model_after(whole));
}

BOOST_AUTO_TEST_SUITE_END()
