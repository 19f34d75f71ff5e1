// Evaluations of a sample of each group of clients.
#include <algorithm>
#include <set>
#include <utility>

#include "federated/settings/evaluation.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(evaluation_samples)

using namespace furlong;
using tests::crowd;
using tests::experiment_of;
using tests::report_of;

namespace {

/// Another population, and whose examples were loaded from it.
class watched final : public federated::population {
 public:
  using load_record = std::pair<std::uint32_t, federated::part>;

  explicit watched(std::shared_ptr<const federated::population> of) : of_(std::move(of)) {}

  [[nodiscard]] models::data_facts facts() const override { return of_->facts(); }
  [[nodiscard]] std::span<const std::uint32_t> training() const override { return of_->training(); }
  [[nodiscard]] std::span<const std::uint32_t> unseen_validation() const override { return of_->unseen_validation(); }
  [[nodiscard]] std::span<const std::uint32_t> unseen_test() const override { return of_->unseen_test(); }
  [[nodiscard]] models::examples_view load(std::uint32_t client, federated::part which,
                                           models::examples& scratch) const override {
    loaded_.emplace(client, which);
    return of_->load(client, which, scratch);
  }
  [[nodiscard]] std::uint32_t count(std::uint32_t client, federated::part which) const override {
    return of_->count(client, which);
  }
  [[nodiscard]] std::string client_name(std::uint32_t client) const override { return of_->client_name(client); }
  [[nodiscard]] std::string feature_name(std::uint32_t feature) const override { return of_->feature_name(feature); }

  [[nodiscard]] std::set<load_record> take_loaded() const { return std::exchange(loaded_, {}); }

 private:
  std::shared_ptr<const federated::population> of_;
  mutable std::set<load_record> loaded_;
};

std::vector<std::uint32_t> loaded_of(const std::set<watched::load_record>& all, federated::part which) {
  std::vector<std::uint32_t> clients;
  for (const auto& [client, part] : all)
    if (part == which) clients.push_back(client);
  return clients;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sample_of_each_group_is_scored_the_same_in_every_evaluation) {
  const auto clients = std::make_shared<watched>(tests::make_ratings(5, crowd));
  auto e = experiment_of("fedavg", {}, clients);
  e.settings.evaluation->clients = 25;
  const auto model = federated::initial_model(e);
  (void)clients->take_loaded();
  const auto first = report_of(e, model);
  const auto loaded = clients->take_loaded();
  for (const auto& group : {first.validation, first.seen, first.unseen}) BOOST_TEST(group.value().clients == 25U);
  const auto seen = loaded_of(loaded, federated::part::test);
  BOOST_TEST(seen.size() == 25U);
  BOOST_TEST(std::ranges::includes(clients->training(), seen));
  const auto unseen = loaded_of(loaded, federated::part::train);  // both groups
  BOOST_TEST(unseen.size() == 50U);
  BOOST_TEST(std::ranges::count_if(unseen, [&](auto c) { return std::ranges::count(clients->unseen_test(), c); }) ==
             25);
  const auto again = report_of(e, model);
  BOOST_TEST((clients->take_loaded() == loaded));
  BOOST_TEST(again.seen->loss == first.seen->loss);
  e.settings.seed += 1;
  (void)report_of(e, model);
  const auto other = clients->take_loaded();
  BOOST_TEST((loaded_of(other, federated::part::test) != seen));
  BOOST_TEST((loaded_of(other, federated::part::train) != unseen));
}

BOOST_AUTO_TEST_CASE(seen_clients_validation_parts_have_a_sample_of_their_own) {
  auto table = tests::make_ratings(5, crowd);
  table->held_out_validation.clear();
  const auto clients = std::make_shared<watched>(table);
  auto e = experiment_of("fedavg", {}, clients);
  e.settings.evaluation->clients = 25;
  const auto model = federated::initial_model(e);
  (void)clients->take_loaded();
  (void)report_of(e, model);
  const auto loaded = clients->take_loaded();
  const auto validation = loaded_of(loaded, federated::part::validation);
  BOOST_TEST(validation.size() == 25U);
  BOOST_TEST((validation != loaded_of(loaded, federated::part::test)));
}

BOOST_AUTO_TEST_CASE(a_sample_as_large_as_the_group_is_the_group) {
  auto e = experiment_of("fedavg", {}, tests::make_ratings(5, crowd));
  const auto model = federated::initial_model(e);
  const auto all = report_of(e, model);
  e.settings.evaluation->clients = 60;
  const auto most = report_of(e, model);
  BOOST_TEST(most.validation->loss == all.validation->loss);
  BOOST_TEST(most.unseen->clients == 60U);
  e.settings.evaluation->clients = 5000;
  const auto larger = report_of(e, model);
  BOOST_TEST(larger.seen->loss == all.seen->loss);
  BOOST_TEST(larger.unseen->loss == all.unseen->loss);
  BOOST_TEST(all.by_participation.empty());
}

BOOST_AUTO_TEST_SUITE_END()
