// Which examples of a client are scored, and from which the model is personalized before.
#include "federated/client/scored_examples.hpp"

#include <algorithm>
#include <cmath>

#include "federated/client/inference.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/private_values.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(scored_example)

using namespace furlong;
using federated::group;
using federated::part;
using numbers = std::vector<std::uint32_t>;

namespace {

/// Ratings of these items, each of its own label.
models::examples ratings_of(const numbers& items) {
  models::examples made;
  for (const auto item : items) {
    made.features.push_back(item);
    made.labels.push_back(1.0F + 0.25F * static_cast<float>(item));
  }
  return made;
}

/// A client that trains; 1 for validation; 2 to 5 for the test: with all parts, without a train part, with nothing
/// else, and with a validation part alone.
std::shared_ptr<tests::table_population> clients_with_parts() {
  auto made = std::make_shared<tests::table_population>();
  made->what = {16, 6, models::objective::squared_error};
  made->seen = {0};
  made->held_out_validation = {1};
  made->held_out_test = {2, 3, 4, 5};
  made->tables = {{ratings_of({0, 1, 2}), ratings_of({3}), ratings_of({4, 5})},
                  {ratings_of({0, 1}), ratings_of({2, 3}), ratings_of({4})},
                  {ratings_of({5, 6, 7}), ratings_of({8}), ratings_of({9, 10})},
                  {{}, {}, ratings_of({11, 12})},
                  {ratings_of({13, 14, 15, 0, 1}), {}, {}},
                  {{}, ratings_of({2}), {}}};
  return made;
}

struct halves {
  numbers known;
  numbers asked;
};
halves halves_of(const federated::experiment& e, group in, std::uint32_t client) {
  const auto found = federated::split_held_out(e, in, client);
  return {found.known.features, found.asked.features};
}
void check(const halves& found, const numbers& known, const numbers& asked) {
  BOOST_TEST(found.known == known, boost::test_tools::per_element());
  BOOST_TEST(found.asked == asked, boost::test_tools::per_element());
}

/// Remembers the labels of the working set that personalize() is given.
class peeking final : public federated::algorithm {
 public:
  [[nodiscard]] std::uint64_t plan(const federated::run_settings&, std::uint64_t) const override { return 0; }
  void train(federated::local_task&) const override {}
  [[nodiscard]] bool personalizes_from_examples(const federated::experiment&,
                                                const federated::client_kind&) const override {
    return true;
  }
  federated::personal_source personalize(federated::personal_task& task, const federated::client_kind&) const override {
    const auto labels = task.weights().of->data().labels;
    seen.assign(labels.begin(), labels.end());
    return federated::personal_source::model;
  }
  static inline std::vector<float> seen;
};

}  // namespace

BOOST_AUTO_TEST_CASE(held_out_clients_are_scored_on_the_part_of_their_group) {
  const auto e = tests::experiment_of("fedrecon", {"user"}, clients_with_parts());
  check(halves_of(e, group::validation, 1), {0, 1}, {2, 3});
  check(halves_of(e, group::unseen, 2), {5, 6, 7}, {9, 10});
  check(halves_of(e, group::unseen, 3), {}, {11, 12});
  check(halves_of(e, group::unseen, 4), {13, 15, 1}, {14, 0});
  check(halves_of(e, group::unseen, 5), {}, {});
  const auto report = tests::report_of(e, federated::initial_model(e));
  BOOST_TEST(report.validation->examples == 2U);
  BOOST_TEST(report.unseen->clients == 3U);
  BOOST_TEST(report.unseen->examples == 6U);
}

// A client without examples to adapt to is scored with the values before training.
BOOST_AUTO_TEST_CASE(a_client_without_a_train_part_is_scored_cold) {
  auto clients = clients_with_parts();
  clients->held_out_test = {3};
  const auto e = tests::experiment_of("fedrecon", {"user"}, clients);
  models::shared_parameters model(e.parts.shared);
  std::ranges::fill(model.tensor(e.parts.shared->find("item").value()), 1.0F);
  models::private_parameters own(e.parts.private_);
  federated::initial_private(e, 0, 3, own);
  double loss = 0.0;
  for (const float label : clients->tables[3].test.labels) loss += std::pow(own.values()[0] - label, 2) / 2;
  BOOST_TEST(std::abs(tests::report_of(e, model).unseen->loss - loss) < 1e-5);
}

// As an audit compares clients: of one that trains, its training examples.
BOOST_AUTO_TEST_CASE(a_client_that_trains_is_split_as_a_stranger) {
  const auto e = tests::experiment_of("fedrecon", {"user"}, clients_with_parts());
  check(halves_of(e, group::unseen, 0), {0, 2}, {1});
}

BOOST_AUTO_TEST_CASE(where_nothing_is_adapted_all_examples_are_scored) {
  const numbers all = {13, 14, 15, 0, 1};
  for (const std::string_view kind : {"fedavg", "furl", "ditto"}) {
    auto e = tests::experiment_of(kind, kind == "furl" ? std::vector<std::string>{"user"} : std::vector<std::string>{},
                                  clients_with_parts());
    check(halves_of(e, group::unseen, 4), {}, all);
    check(halves_of(e, group::unseen, 2), {}, {9, 10});
    e.settings.evaluation->split = true;  // what another algorithm is scored on
    check(halves_of(e, group::unseen, 4), {}, {14, 0});
  }
  auto cold = tests::experiment_of("furl", {"user"}, clients_with_parts());
  cold.settings.own->cold_start = federated::cold_start_kind::reconstruct;
  check(halves_of(cold, group::unseen, 4), {13, 15, 1}, {14, 0});
  cold.settings.evaluation->split = false;
  check(halves_of(cold, group::unseen, 4), {}, all);
  check(halves_of(cold, group::unseen, 2), {}, {9, 10});
}

BOOST_AUTO_TEST_CASE(no_key_of_training_chooses_what_is_scored) {
  const auto clients = tests::make_ratings(5);
  for (const std::string_view kind : {"fedavg", "furl", "fedrecon"}) {
    auto e = tests::experiment_of(
        kind, kind == "fedavg" ? std::vector<std::string>{} : std::vector<std::string>{"user"}, clients);
    const auto digest = [&] {
      numbers all;
      for (const auto client : clients->held_out_test) {
        const auto [known, asked] = halves_of(e, group::unseen, client);
        all.insert(all.end(), asked.begin(), asked.end());
      }
      return all;
    };
    const auto before = digest();
    const auto report = tests::report_of(e, federated::initial_model(e));
    BOOST_TEST(report.unseen->examples == before.size());
    for (const std::uint32_t size : {0U, 3U, 4U, 64U}) {
      *e.settings.client = {.lr = 0.5F, .epochs = size + 1, .batch_size = size, .max_steps = size, .shuffle = true};
      BOOST_TEST(digest() == before, boost::test_tools::per_element());
      const auto other = tests::report_of(e, federated::initial_model(e));
      BOOST_TEST(other.unseen->examples == report.unseen->examples);
      BOOST_TEST(other.unseen->clients == report.unseen->clients);
      BOOST_TEST(other.validation->examples == report.validation->examples);
      BOOST_TEST(other.seen->examples == report.seen->examples);
    }
  }
}

// What is scored must not be known to what adapts to a client.
BOOST_AUTO_TEST_CASE(an_algorithm_is_given_the_support_alone) {
  federated::register_algorithm(
      {.kind = "peeking",
       .doc = "An algorithm of the tests.",
       .build = [](const option_values&) -> result<std::shared_ptr<const federated::algorithm>> {
         return std::make_shared<const peeking>();
       }});
  const auto clients = clients_with_parts();
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("peeking");
  const auto e = tests::make_experiment(settings, clients, {{"rank", std::int64_t{1}}}, {});
  const auto model = federated::initial_model(e);
  const federated::client_scorer scorer(e, model, 0, nullptr);
  federated::workspace use;
  const auto check_seen = [](const numbers& items) {
    BOOST_TEST(peeking::seen == ratings_of(items).labels, boost::test_tools::per_element());
  };
  BOOST_TEST(scorer.score(group::seen, 0, use)->examples == 2U);
  check_seen({0, 1, 2});
  BOOST_TEST(scorer.score(group::unseen, 2, use)->examples == 2U);
  check_seen({5, 6, 7});
  BOOST_TEST(scorer.score(group::unseen, 4, use)->examples == 2U);
  check_seen({13, 15, 1});
  const auto questions = ratings_of({3, 4});
  BOOST_REQUIRE(federated::predict_examples(e, model, nullptr, 0, clients->tables[0].train.view(), questions.view()));
  check_seen({0, 1, 2});
}

BOOST_AUTO_TEST_SUITE_END()
