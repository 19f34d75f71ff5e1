// Data and models of other libraries that do not fit themselves are refused when they are built. In an executable of
// its own: what it registers stays registered.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <functional>
#include <limits>
#include <stdexcept>

#include "tests/scenarios/made_dataset.hpp"
#include "tests/scenarios/support.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(broken_data)

using namespace furlong;
using namespace furlong::scenarios;
using testing::check_says;
using testing::valid_scenario;

namespace {

/// A scenario with these data.
scenario scenario_with(dataset_entry entry) {
  register_dataset(std::move(entry));
  auto text = valid_scenario();
  const std::string old = "source = \"synthetic-ratings\"\nusers = 50\nitems = 60\nratings_per_user = 20\n";
  text.replace(text.find(old), old.size(), "source = \"broken-data\"\n");
  const auto read = parse_scenario_text(text, "t.toml");
  BOOST_REQUIRE_MESSAGE(read.has_value(), testing::text_of(read));
  return *read;
}

std::string said_of(const result<dataset>& data) {
  BOOST_TEST((data || data.error().what == error::kind::data));
  return data ? std::string() : data.error().text();
}

/// What is said when a scenario with these data is opened.
std::string said_of_data(std::shared_ptr<const federated::population> clients) {
  return said_of(load_data(scenario_with(testing::dataset_of(std::move(clients)))));
}

/// The same on a server of data that only nodes have.
std::string said_of_outline(const std::shared_ptr<const federated::population>& clients) {
  auto entry = testing::dataset_of(clients);
  entry.outline = [clients](const option_values&) {
    dataset made;
    made.clients = clients;
    return made;
  };
  return said_of(load_outline(scenario_with(std::move(entry))));
}

/// Sound ratings in a population that may answer otherwise.
struct other_answers : federated::population {
  other_answers() : ratings(tests::make_ratings(3)) {}

  std::shared_ptr<tests::table_population> ratings;

  models::data_facts facts() const override { return ratings->facts(); }
  std::span<const std::uint32_t> training() const override { return ratings->training(); }
  std::span<const std::uint32_t> unseen_validation() const override { return ratings->unseen_validation(); }
  std::span<const std::uint32_t> unseen_test() const override { return ratings->unseen_test(); }
  models::examples_view load(std::uint32_t client, federated::part which, models::examples& scratch) const override {
    return ratings->load(client, which, scratch);
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    return ratings->count(client, which);
  }
  std::string client_name(std::uint32_t client) const override { return ratings->client_name(client); }
  std::string feature_name(std::uint32_t feature) const override { return ratings->feature_name(feature); }
};

/// Its count() is that of one example more.
struct miscounting final : other_answers {
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    return other_answers::count(client, which) + (client == 20 ? 1 : 0);
  }
};

struct unreadable final : other_answers {
  models::examples_view load(std::uint32_t client, federated::part which, models::examples& scratch) const override {
    if (client == 20) throw std::runtime_error("no such file");
    return other_answers::load(client, which, scratch);
  }
};

struct damaged_data {
  std::function<void(tests::table_population&)> damage;
  std::string says;
};

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

const std::vector<damaged_data> all_broken_data = {
    {[](auto& p) { p.tables[5].train.features[1] = 30; },
     "data.source: \"broken-data\", client 5, train, has feature 30 in example 1, and there are 30; correct the "
     "dataset"},
    {[](auto& p) { p.tables[5].test.features[0] = 4'000'000'000; }, "client 5, test, has feature 4000000000"},
    {[](auto& p) { p.tables[23].train.features[0] = 31; }, "client 23, train, has feature 31"},
    {[](auto& p) { p.tables[2].train.features.pop_back(); }, "client 2, train, has "},
    {[](auto& p) {
       p.tables[2].train.offsets = {0, 1};
     },
     "offsets for "},
    {[](auto& p) {
       p.tables[2].validation.offsets = {0, 2, 1};
     },
     "has offsets that decrease, at example 1"},
    {[](auto& p) {
       p.tables[2].validation.offsets = {0, 1, 9};
     },
     "has an offset of 9, and 2 features"},
    {[](auto& p) { p.tables[2].validation.values = {1.0F}; }, "has 1 values for 2 features"},
    {[](auto& p) {
       p.tables[2].validation.values = {1.0F, not_a_number};
     },
     "has a value in example 1 that is not finite"},
    {[](auto& p) {
       p.tables[2].validation.owners = {1, 24};
     },
     "has an owner in example 1 that is no client"},
    {[](auto& p) { p.tables[2].validation.owners = {1}; }, "has 1 owners for 2 examples"},
    {[](auto& p) { p.tables[7].train.labels[2] = not_a_number; },
     "client 7, train, has the label nan in example 2, which is not finite"},
    {[](auto& p) {
       p.seen = {1, 3, 2};
     },
     "lists clients in training() that are not ascending, or are there twice"},
    {[](auto& p) {
       p.seen = {1, 1};
     },
     "are there twice"},
    {[](auto& p) { p.held_out_test.push_back(24); }, "lists client 24 in unseen_test(), and facts() has 24 clients"},
    {[](auto& p) { p.held_out_test = {3}; }, "lists client 3 in unseen_test() and in another list"},
    {[](auto& p) { p.what.words = 31; }, "has 31 words, and 30 features"},
    {[](auto& p) { p.what.labels = models::objective::logistic; }, "in example 0, and labels are 0 or 1"},
    {[](auto& p) {
       p.what.labels = models::objective::categorical;
       p.what.classes = 1;
     },
     "facts() has 1 of them"},
    {[](auto& p) {
       p.what.labels = models::objective::categorical;
       p.what.classes = 3;
     },
     "and there are classes 0 to 3 - 1"},
    {[](auto& p) { p.what.labels = models::objective::custom; },
     "has labels of another meaning than its entry's facts say"},
};

}  // namespace

BOOST_AUTO_TEST_CASE(data_that_cannot_be_are_refused_before_they_are_used) {
  BOOST_TEST(said_of_data(tests::make_ratings(3)) == "");
  for (const auto& [damage, says] : all_broken_data) {
    auto clients = tests::make_ratings(3);
    damage(*clients);
    check_says(said_of_data(clients), says);
  }
  check_says(said_of_data(std::make_shared<miscounting>()), "client 20, train, has a count() of ");
  BOOST_TEST(said_of_data(std::make_shared<unreadable>()) ==
             "data.source: \"broken-data\" failed: no such file; correct the dataset");
  check_says(said_of_outline(nullptr), "data.source: \"broken-data\" is built without clients; correct the dataset");
  const auto twice = tests::make_ratings(3);
  twice->seen = {1, 1};
  check_says(said_of_outline(twice), "are there twice");
  check_says(said_of_data(nullptr), "data.source: \"broken-data\" is built without clients; correct the dataset");
}

namespace {

/// A model of tensors alone.
class shaped_model final : public models::model {
 public:
  shaped_model(std::vector<models::tensor_spec> specs, float first)
      : tensors_(std::make_shared<const models::layout>(std::move(specs))), first_(first) {}

  std::string_view kind() const override { return "shaped"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::squared_error; }
  void initialize(std::size_t, random_stream, std::span<float> values) const override {
    std::ranges::fill(values, first_);
  }
  double gradient(std::span<const models::tensor_view>, const models::examples_view&,
                  models::gradient_views&) const override {
    return 0.0;
  }
  void predict(std::span<const models::tensor_view>, const models::examples_view&, std::span<float>) const override {}

 private:
  models::layout_ptr tensors_;
  float first_;
};

std::string said_of_model(std::shared_ptr<const models::model> made) {
  models::register_model({.kind = "shaped",
                          .doc = "A model of this test.",
                          .options = {},
                          .build = [made](const option_values&, const models::data_facts&)
                              -> result<std::shared_ptr<const models::model>> { return made; }});
  const auto built = models::find_model("shaped")->build({}, {.features = 30, .clients = 24});
  return built ? std::string() : built.error().text();
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_model_whose_tensors_cannot_be_is_refused) {
  using models::row_index;
  struct shape {
    std::vector<models::tensor_spec> tensors;
    std::string says;
  };
  const std::vector<shape> shapes = {
      {{}, "model.kind: is \"shaped\", which has no tensors; correct the model"},
      {{{""}}, "has a tensor without a name"},
      {{{"w"}, {"w"}}, "has tensor \"w\" twice"},
      {{{"w", 0, 3}}, "has tensor \"w\" without values"},
      {{{"w", 29, 2, row_index::by_feature}}, "has 29 rows of tensor \"w\" for 30 features"},
      {{{"w", 23, 2, row_index::by_client}}, "has 23 rows of tensor \"w\" for 24 clients"},
      {{{"w", 30, 2, row_index::by_feature}, {"v", 31, 1, row_index::by_feature}},
       "has other rows of features in tensor \"v\""},
  };
  for (const auto& [tensors, says] : shapes)
    check_says(said_of_model(std::make_shared<const shaped_model>(tensors, 0.0F)), says);
  const std::vector<models::tensor_spec> sound = {{"w", 30, 2, row_index::by_feature}, {"b"}};
  BOOST_TEST(said_of_model(std::make_shared<const shaped_model>(sound, 0.5F)) == "");
  check_says(said_of_model(std::make_shared<const shaped_model>(sound, not_a_number)),
             "sets first values of tensor \"w\" that are not finite");
  check_says(said_of_model(nullptr), "model.kind: is \"shaped\", which is built as null; correct the model");
}

BOOST_AUTO_TEST_SUITE_END()
