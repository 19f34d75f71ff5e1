// Ratings made when they are asked for are those that a population in memory holds.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <thread>

#include "scenarios/data/synthetic_ratings.hpp"
#include "tests/scenarios/support.hpp"

BOOST_AUTO_TEST_SUITE(on_demand)

using namespace furlong;
using namespace furlong::scenarios;
using federated::part;

namespace {

constexpr part parts[] = {part::train, part::validation, part::test};

using changes = std::vector<std::pair<const char*, option_value>>;

/// 50 users, with the dataset's defaults but for `more`.
std::shared_ptr<const federated::population> generated(const char* how, const changes& more) {
  const auto* entry = find_dataset("synthetic-ratings");
  BOOST_REQUIRE(entry != nullptr);
  auto options = defaults(entry->options);
  options.set("seed", std::int64_t{7});
  options.set("split_seed", std::int64_t{3});
  options.set("users", std::int64_t{50});
  options.set("generate", std::string(how));
  for (const auto& [name, value] : more) options.set(name, value);
  BOOST_REQUIRE(entry->check(options).empty());
  const auto data = entry->build(options, {});
  BOOST_REQUIRE_MESSAGE(data.has_value(), testing::text_of(data));
  return data->clients;
}

bool same(std::span<const std::uint32_t> one, std::span<const std::uint32_t> other) {
  return std::ranges::equal(one, other);
}

void compare(const federated::population& ahead, const federated::population& on_demand) {
  BOOST_TEST(ahead.facts().clients == on_demand.facts().clients);
  BOOST_TEST(ahead.facts().features == on_demand.facts().features);
  BOOST_TEST((ahead.facts().labels == on_demand.facts().labels));
  BOOST_TEST(same(ahead.training(), on_demand.training()));
  BOOST_TEST(same(ahead.unseen_validation(), on_demand.unseen_validation()));
  BOOST_TEST(same(ahead.unseen_test(), on_demand.unseen_test()));
  models::examples unused;
  models::examples scratch;
  std::size_t ratings = 0;
  for (std::uint32_t client = 0; client < ahead.facts().clients; ++client) {
    BOOST_TEST(ahead.taste(client) == on_demand.taste(client));
    BOOST_TEST(ahead.client_name(client) == on_demand.client_name(client));
    for (const auto which : parts) {
      const auto kept = ahead.load(client, which, unused);
      const auto made = on_demand.load(client, which, scratch);
      BOOST_TEST(same(kept.features, made.features));
      BOOST_TEST(std::ranges::equal(kept.labels, made.labels));
      BOOST_TEST(ahead.count(client, which) == kept.size());
      BOOST_TEST(on_demand.count(client, which) == made.size());
      ratings += made.size();
    }
  }
  BOOST_TEST(ratings > 0U);
  BOOST_TEST(ahead.feature_name(7) == on_demand.feature_name(7));
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_split_is_the_one_of_the_ratings_in_memory) {
  for (const char* order : {"shuffled", "time"})
    for (const char* split_by : {"random", "time"})
      for (const std::int64_t cap : {0, 13})
        for (const double unseen : {0.0, 0.2})
          for (const auto& shares : {std::vector{0.7, 0.1, 0.2}, std::vector{1.0, 0.0, 0.0}}) {
            const changes settings = {{"order", std::string(order)}, {"split_by", std::string(split_by)},
                                      {"max_examples", cap},         {"unseen_users.validation", unseen / 2.0},
                                      {"unseen_users.test", unseen}, {"split", shares}};
            compare(*generated("ahead", settings), *generated("on-demand", settings));
          }
}

BOOST_AUTO_TEST_CASE(classes_stars_and_lists_of_any_length_are_the_same_too) {
  for (const auto& settings :
       {changes{{"rounding", std::string("half")}}, changes{{"binarize", 3.5}, {"split", std::vector{0.5, 0.0, 0.5}}},
        changes{{"items", std::int64_t{4000}}}, changes{{"items", std::int64_t{61}}, {"spread", 2.0}},
        changes{{"users", std::int64_t{1}}}})
    compare(*generated("ahead", settings), *generated("on-demand", settings));
  BOOST_TEST((generated("on-demand", {{"binarize", 3.5}})->facts().labels == models::objective::logistic));
}

BOOST_AUTO_TEST_CASE(seeded_ratings_are_those_of_earlier_versions) {
  // Recorded from the first version, which looked an item up by bisection: results on generated data stay comparable.
  synthetic_settings settings;
  settings.items = 2000;
  settings.ratings_per_user = 40;
  settings.seed = 5;
  std::vector<std::uint32_t> items;
  std::vector<float> labels;
  synthetic_truth(settings).ratings_of(3, items, labels);
  BOOST_REQUIRE(items.size() >= 5U);
  BOOST_TEST((std::vector(items.begin(), items.begin() + 5) == std::vector<std::uint32_t>{1036, 96, 1610, 939, 1568}));
  BOOST_TEST(labels[0] == 2.91540456F, boost::test_tools::tolerance(1e-6F));
}

BOOST_AUTO_TEST_CASE(auto_makes_small_data_ahead_and_large_data_on_demand) {
  // What was made ahead is looked at where it lies; what is made on demand lies in the scratch.
  const auto in_scratch = [](const federated::population& from) {
    models::examples scratch;
    const auto view = from.load(0, part::train, scratch);
    BOOST_REQUIRE(view.size() > 0U);
    return view.labels.data() == scratch.labels.data();
  };
  BOOST_TEST(!in_scratch(*generated("auto", {})));
  BOOST_TEST(!in_scratch(*generated("ahead", {})));
  BOOST_TEST(in_scratch(*generated("on-demand", {})));
  BOOST_TEST(in_scratch(*generated("auto", {{"users", std::int64_t{1100000}}})));
}

BOOST_AUTO_TEST_CASE(taste_is_the_persons_own_offset) {
  synthetic_settings truth;
  truth.users = 50;
  truth.signal = truth.quality = truth.noise = 0.0;
  truth.taste = 0.5;
  const auto made = synthesize_on_demand(truth, {});
  models::examples scratch;
  for (std::uint32_t client = 0; client < truth.users; ++client) {
    const auto offset = static_cast<double>(made->load(client, part::train, scratch).labels[0]) - truth.mean;
    BOOST_TEST(std::abs(offset - 0.5 * made->taste(client)) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(threads_make_the_same_ratings) {
  synthetic_settings truth;
  truth.users = 400;
  rating_settings split;
  split.test = 0.2;
  const auto made = synthesize_on_demand(truth, split);
  const auto sums = [&] {
    std::vector<float> all;
    models::examples scratch;
    for (std::uint32_t client = 0; client < truth.users; ++client)
      for (const float label : made->load(client, part::test, scratch).labels) all.push_back(label);
    return all;
  };
  std::vector<std::vector<float>> seen(4);
  std::vector<std::thread> threads;
  for (auto& own : seen) threads.emplace_back([&own, &sums] { own = sums(); });
  for (auto& thread : threads) thread.join();
  const auto expected = sums();
  for (const auto& own : seen) BOOST_TEST((own == expected));
}

BOOST_AUTO_TEST_SUITE_END()
