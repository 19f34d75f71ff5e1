// Algorithms that keep a personal copy of the model: Ditto, pFedMe and APFL in the limits that are other algorithms.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(personal_copies)

using namespace furlong;
using values = std::vector<float>;

namespace {

constexpr std::uint32_t client = 9;
const auto clients = tests::make_ratings(8);

option_values options(std::initializer_list<std::pair<const char*, option_value>> all) {
  option_values made;
  for (const auto& [name, value] : all) made.set(name, value);
  return made;
}

federated::run_settings settings_of(std::string_view kind, const option_values& with = {}) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind, with);
  *settings.client = {.lr = 0.1F, .epochs = 2, .batch_size = 3};
  return settings;
}

federated::run_settings one_full_batch(std::string_view kind, const option_values& with = {}) {
  auto settings = settings_of(kind, with);
  *settings.client = {.lr = 0.1F, .epochs = 1, .batch_size = 0};
  return settings;
}

/// One task of one client. Values are those of the rows that its examples name, all tensors in order.
struct task {
  federated::experiment e;
  federated::workspace use;
  federated::client_update update;

  explicit task(const federated::run_settings& settings, const values& from = {}, const values& own = {})
      : e(tests::make_experiment(settings, clients, {{"item_bias", true}, {"mean", true}, {"init", 0.4}}, {})) {
    federated::broadcast down{e.run, 0, federated::initial_model(e), {}};
    if (!from.empty()) spread(from, down.model, 0);
    if (!own.empty()) {
      use.own = models::private_parameters(e.parts.private_);
      spread(own, use.own, e.groups[0].in_private);
      for (const auto& group : std::span(e.groups).subspan(1))
        std::ranges::fill(use.own.tensor(group.in_private), group.constant);
    }
    BOOST_REQUIRE(federated::client_work(e, down, {e.run, 0, client, 0}, !own.empty(), use, update) ==
                  e.settings.algorithm->traits.keeps_state);
  }
  /// The model as trained, w_i.
  [[nodiscard]] values trained() {
    const auto all = use.weights.values();
    return {all.data, all.data + use.weights.size()};
  }
  /// The first group of what the client stores.
  [[nodiscard]] values kept() const {
    values found;
    for_each_row([&](std::size_t t, std::size_t row, std::size_t cols) {
      const auto from = use.own.tensor(e.groups[0].in_private + t).subspan(row * cols, cols);
      found.insert(found.end(), from.begin(), from.end());
    });
    return found;
  }

 private:
  template <class Each>
  void for_each_row(const Each& each) const {
    std::vector<std::uint32_t> rows;
    for (const auto feature : clients->tables[client].train.features)
      if (std::ranges::find(rows, feature) == rows.end()) rows.push_back(feature);
    for (std::size_t t = 0; t < e.parts.model->count(); ++t) {
      const auto& spec = (*e.parts.model)[t];
      if (spec.index == models::row_index::none)
        for (std::uint32_t row = 0; row < spec.rows; ++row) each(t, row, spec.cols);
      else
        for (const auto row : rows) each(t, row, spec.cols);
    }
  }
  void spread(const values& from, auto& to, std::size_t first) const {
    auto at = from.begin();
    for_each_row([&](std::size_t t, std::size_t row, std::size_t cols) {
      std::copy_n(at, cols, to.tensor(first + t).begin() + static_cast<std::ptrdiff_t>(row * cols));
      at += static_cast<std::ptrdiff_t>(cols);
    });
  }
};

values local_training(const federated::run_settings& like, const values& from = {}) {
  auto settings = like;
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  return task(settings, from).trained();
}

values moved(values from, float by) {
  for (auto& value : from) value += by;
  return from;
}

double largest(const values& a, const values& b) {
  BOOST_REQUIRE(a.size() == b.size());
  double most = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(double{a[i]} - b[i]));
  return most;
}

std::string model_after_a_run(std::string_view kind, const option_values& with = {}) {
  auto settings = tests::plain_settings();
  *settings.algorithm = federated::chosen_algorithm(kind, with);
  settings.client->shuffle = true;
  return tests::run_serially(tests::simulated(settings)).trace.model;
}

}  // namespace

BOOST_AUTO_TEST_CASE(ditto_without_the_pull_is_fedavg_beside_local_training) {
  const auto settings = settings_of("ditto", options({{"lambda", 0.0}, {"personal_lr", 0.1}}));
  task first(settings);
  const auto local = local_training(settings);
  BOOST_TEST(tests::same_bits(first.trained(), local));
  BOOST_TEST(tests::same_bits(first.kept(), local));
  // The next task goes on from there, whatever the model is now.
  const auto next = local_training(settings, local);
  BOOST_TEST(largest(next, local) > 1e-3);
  for (const float by : {0.0F, 0.5F}) {
    task second(settings, moved(local, by), local);
    BOOST_TEST(tests::same_bits(second.kept(), next));
    BOOST_TEST(tests::same_bits(second.trained(), local_training(settings, moved(local, by))));
  }
  BOOST_TEST(model_after_a_run("ditto") == model_after_a_run("fedavg"));  // p changes nothing of w
}

BOOST_AUTO_TEST_CASE(ditto_with_a_pull_of_one_step_steps_from_the_model) {
  const auto settings = one_full_batch("ditto", options({{"lambda", 10.0}, {"personal_lr", 0.1}}));
  const auto p = task(settings).trained();
  const auto w = moved(p, 0.3F);
  const auto step = local_training(settings, p);  // p - eta grad F(p)
  values expected;
  for (std::size_t i = 0; i < p.size(); ++i) expected.push_back(w[i] - (p[i] - step[i]));
  BOOST_TEST(largest(task(settings, w, p).kept(), expected) < 2e-6);
}

BOOST_AUTO_TEST_CASE(ditto_trains_and_keeps_the_personal_tensors_alone) {
  const auto settings = settings_of("ditto", options({{"personal", std::vector<std::string>{"item_bias", "user"}},
                                                      {"personal_epochs", std::int64_t{3}}}));
  const task made(settings);
  BOOST_REQUIRE(made.e.parts.private_->count() == 2U);
  BOOST_TEST((*made.e.parts.private_)[0].name == "ditto/personal/item_bias");
  BOOST_TEST((*made.e.parts.private_)[1].name == "ditto/personal/user");
  const auto count = clients->tables[client].train.labels.size();
  BOOST_TEST(made.update.examples == (2 + 3) * count);
  BOOST_TEST(made.update.weight == 2 * count);
}

BOOST_AUTO_TEST_CASE(apfl_with_no_personal_share_is_fedavg) {
  const auto fixed = options({{"alpha", 0.0}, {"adaptive", false}});
  BOOST_TEST(model_after_a_run("apfl", fixed) == model_after_a_run("fedavg"));
  const auto settings = settings_of("apfl", fixed);
  const auto own = moved(local_training(settings), 0.2F);
  BOOST_TEST(tests::same_bits(task(settings, {}, own).kept(), own));
}

BOOST_AUTO_TEST_CASE(apfl_with_the_whole_share_is_fedavg_beside_local_training) {
  const auto settings = settings_of("apfl", options({{"alpha", 1.0}, {"adaptive", false}}));
  task first(settings);
  const auto local = local_training(settings);
  BOOST_TEST(tests::same_bits(first.kept(), local));
  BOOST_TEST(tests::same_bits(first.trained(), local));
  const task second(settings, moved(local, 0.5F), local);
  BOOST_TEST(tests::same_bits(second.kept(), local_training(settings, local)));
}

// One step: p and the share move against the gradient at the mixture, w against its own.
BOOST_AUTO_TEST_CASE(apfl_steps_by_the_gradient_at_the_mixture) {
  for (const double rate : {0.001, 100.0}) {
    const auto settings = one_full_batch("apfl", options({{"alpha", 0.25}, {"alpha_lr", rate}}));
    const auto w = local_training(settings);
    values p;
    values m;
    for (std::size_t i = 0; i < w.size(); ++i) {
      p.push_back(w[i] + (i % 2 == 0 ? 0.3F : -0.1F));
      m.push_back(0.25F * p[i] + 0.75F * w[i]);
    }
    const auto step = local_training(settings, m);  // m - eta g
    values expected;
    double slope = 0.0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      expected.push_back(p[i] - 0.25F * (m[i] - step[i]));
      slope += (double{p[i]} - w[i]) * (double{m[i]} - step[i]) / 0.1;
    }
    BOOST_TEST(std::abs(slope) > 0.05);
    task made(settings, w, p);
    BOOST_TEST(largest(made.kept(), expected) < 2e-6);
    BOOST_TEST(tests::same_bits(made.trained(), local_training(settings, w)));
    const double share = made.use.own.tensor(made.e.groups[1].in_private)[0];
    BOOST_TEST(share == std::clamp(0.25 - rate * slope, 0.0, 1.0), boost::test_tools::tolerance(1e-4));
  }
}

BOOST_AUTO_TEST_CASE(copies_begin_as_the_initial_model_where_the_scenario_says_so) {
  const std::string initial = "initial";
  for (const auto& settings :
       {settings_of("ditto", options({{"lambda", 0.0}, {"personal_lr", 0.1}, {"start", initial}})),
        settings_of("apfl", options({{"alpha", 1.0}, {"adaptive", false}, {"start", initial}}))}) {
    const auto first = local_training(settings);
    const auto model = moved(first, 0.5F);
    BOOST_TEST(tests::same_bits(task(settings, model).kept(), first));
    BOOST_TEST(tests::same_bits(task(settings, model, first).kept(), local_training(settings, first)));
  }
}

BOOST_AUTO_TEST_CASE(pfedme_resets_theta_where_the_scenario_says_so) {
  for (const bool resets : {false, true}) {
    const auto settings = settings_of("pfedme", options({{"reset", resets}}));
    const auto w = local_training(settings);
    const bool same = tests::same_bits(task(settings, w, moved(w, 0.3F)).kept(), task(settings, w).kept());
    BOOST_TEST(same == resets);
  }
}

BOOST_AUTO_TEST_CASE(pfedme_minimises_the_moreau_envelope) {
  const auto settings =
      one_full_batch("pfedme", options({{"lambda", 20.0}, {"inner_steps", std::int64_t{1000}}, {"outer_lr", 0.01}}));
  const auto w = local_training(settings);
  task made(settings, w);
  const auto theta = made.kept();
  const auto step = local_training(settings, theta);
  double slope = 0.0;
  values expected;
  for (std::size_t i = 0; i < w.size(); ++i) {
    slope = std::max(slope, std::abs((double{theta[i]} - step[i]) / 0.1 + 20.0 * (double{theta[i]} - w[i])));
    expected.push_back(w[i] - 0.01F * 20.0F * (w[i] - theta[i]));
  }
  BOOST_TEST(largest(theta, w) > 1e-3);
  BOOST_TEST(slope < 1e-4);
  BOOST_TEST(largest(made.trained(), expected) < 1e-6);
  const auto count = clients->tables[client].train.labels.size();
  BOOST_TEST(made.update.weight == count);
  BOOST_TEST(made.update.examples == 1000 * count);
}

BOOST_AUTO_TEST_CASE(pfedme_with_a_strong_pull_keeps_the_model) {
  const auto distance = [](double lambda) {
    const auto settings = one_full_batch("pfedme", options({{"lambda", lambda}, {"outer_lr", 0.5 / lambda}}));
    const auto w = local_training(settings);
    return largest(task(settings, w).kept(), w);
  };
  BOOST_TEST(distance(1e2) > 1e-3);
  BOOST_TEST(distance(1e4) < 0.02 * distance(1e2));  // theta - w is about -grad / lambda
}

BOOST_AUTO_TEST_CASE(pfedme_without_a_pull_is_local_training) {
  const auto settings =
      settings_of("pfedme", options({{"lambda", 1e-12}, {"inner_steps", std::int64_t{1}}, {"outer_lr", 1.0}}));
  const auto w = local_training(one_full_batch("fedavg"));
  task made(settings, w);
  BOOST_TEST(largest(made.kept(), local_training(settings, w)) < 1e-6);
  BOOST_TEST(largest(made.trained(), w) < 1e-9);
}

BOOST_AUTO_TEST_SUITE_END()
