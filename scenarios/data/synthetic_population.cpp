#include "scenarios/data/synthetic_population.hpp"

#include "scenarios/data/division.hpp"

namespace furlong::scenarios {

namespace {

class on_demand_population final : public federated::population {
 public:
  on_demand_population(const synthetic_settings& truth, const rating_settings& split)
      : facts_{truth.items, truth.users,
               split.binarize ? models::objective::logistic : models::objective::squared_error},
        split_(split),
        truth_(truth),
        groups_(divide_users(truth.users, split)) {}

  models::data_facts facts() const override { return facts_; }
  std::span<const std::uint32_t> training() const override { return groups_.training; }
  std::span<const std::uint32_t> unseen_validation() const override { return groups_.validation; }
  std::span<const std::uint32_t> unseen_test() const override { return groups_.test; }

  models::examples_view load(std::uint32_t client, federated::part which, models::examples& scratch) const override {
    scratch.clear();
    const bool held_out = groups_.holds_out(client);
    if (held_out && which != federated::part::train) return scratch.view();
    thread_local synthetic_draw drawn;
    thread_local division divided;
    truth_.draw(client, drawn);
    divide_examples(client, static_cast<std::uint32_t>(drawn.items.size()), {}, split_, held_out, divided);
    for (auto at = divided.bounds.begin_of(which); at < divided.bounds.end_of(which); ++at) {
      const auto pick = divided.picks[at];
      scratch.features.push_back(drawn.items[pick]);
      scratch.labels.push_back(label_of(truth_.rating(drawn, pick), split_));
    }
    return scratch.view();
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    const auto bounds = bounds_of(truth_.count_of(client), split_, groups_.holds_out(client));
    return bounds.end_of(which) - bounds.begin_of(which);
  }
  double taste(std::uint32_t client) const override { return static_cast<double>(truth_.taste_of(client)); }

  std::string client_name(std::uint32_t client) const override { return "user " + std::to_string(client); }
  std::string feature_name(std::uint32_t feature) const override { return "item " + std::to_string(feature); }

 private:
  models::data_facts facts_;
  rating_settings split_;
  synthetic_truth truth_;
  user_groups groups_;
};

}  // namespace

std::shared_ptr<const federated::population> synthesize_on_demand(const synthetic_settings& truth,
                                                                  const rating_settings& split) {
  return std::make_shared<on_demand_population>(truth, split);
}

}  // namespace furlong::scenarios
