#include "scenarios/rating_split.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "scenarios/rating_division.hpp"

namespace furlong::scenarios {

namespace {

/// The standard normal quantile of p in (0, 1): the estimate of Abramowitz and Stegun 26.2.23, then Newton steps on
/// erfc.
double normal_quantile(double p) {
  const double tail = std::min(p, 1.0 - p);
  const double t = std::sqrt(-2.0 * std::log(tail));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 3; ++step) {
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    z += (0.5 * std::erfc(z / std::numbers::sqrt2) - tail) / density;
  }
  return p < 0.5 ? -z : z;
}

/// The normal scores of values by rank, equal values in the order of the clients.
std::vector<float> normal_scores(const std::vector<double>& values) {
  std::vector<std::uint32_t> ranked(values.size());
  std::iota(ranked.begin(), ranked.end(), 0U);
  std::ranges::stable_sort(ranked, {}, [&](auto client) { return values[client]; });
  std::vector<float> scores(values.size());
  for (std::size_t rank = 0; rank < ranked.size(); ++rank)
    scores[ranked[rank]] =
        static_cast<float>(normal_quantile((static_cast<double>(rank) + 0.5) / static_cast<double>(ranked.size())));
  return scores;
}

class rating_population final : public federated::population {
 public:
  rating_population(const rating_table& table, const split_settings& settings)
      : facts_{static_cast<std::uint32_t>(table.item_ids.size()), static_cast<std::uint32_t>(table.clients()),
               settings.binarize ? models::objective::logistic : models::objective::squared_error},
        user_ids_(table.user_ids),
        item_ids_(table.item_ids),
        titles_(table.titles),
        groups_(divide_users(facts_.clients, settings)),
        tastes_(table.tastes) {
    begins_.reserve(table.clients());
    bounds_.reserve(table.clients());
    features_.reserve(table.features.size());
    labels_.reserve(table.labels.size());
    rating_division division;
    for (std::uint32_t client = 0; client < facts_.clients; ++client) take(table, settings, client, division);
    if (tastes_.empty()) tastes_ = normal_scores(mean_labels());
  }

  models::data_facts facts() const override { return facts_; }
  std::span<const std::uint32_t> training() const override { return groups_.training; }
  std::span<const std::uint32_t> unseen_validation() const override { return groups_.validation; }
  std::span<const std::uint32_t> unseen_test() const override { return groups_.test; }

  models::examples_view load(std::uint32_t client, federated::part which, models::examples&) const override {
    const auto begin = begins_[client] + bounds_[client].begin_of(which);
    const auto size = count(client, which);
    models::examples_view view;
    view.features = std::span(features_).subspan(begin, size);
    view.labels = std::span(labels_).subspan(begin, size);
    return view;
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    return bounds_[client].end_of(which) - bounds_[client].begin_of(which);
  }
  double taste(std::uint32_t client) const override { return static_cast<double>(tastes_[client]); }

  std::string client_name(std::uint32_t client) const override { return "user " + std::to_string(user_ids_[client]); }
  std::string feature_name(std::uint32_t feature) const override {
    if (feature < titles_.size() && !titles_[feature].empty()) return titles_[feature];
    return "item " + std::to_string(item_ids_[feature]);
  }

 private:
  void take(const rating_table& table, const split_settings& settings, std::uint32_t client,
            rating_division& division) {
    const auto first = table.offsets[client];
    const auto ratings = table.offsets[client + 1] - first;
    const auto times =
        table.times.empty() ? std::span<const std::uint32_t>() : std::span(table.times).subspan(first, ratings);
    divide_ratings(client, static_cast<std::uint32_t>(ratings), times, settings, groups_.holds_out(client), division);
    begins_.push_back(features_.size());
    bounds_.push_back(division.bounds);
    for (const auto pick : division.picks) {
      features_.push_back(table.features[first + pick]);
      labels_.push_back(label_of(table.labels[first + pick], settings));
    }
  }

  /// Of each client, over all its parts; 0 without ratings.
  [[nodiscard]] std::vector<double> mean_labels() const {
    std::vector<double> means(begins_.size());
    for (std::size_t client = 0; client < means.size(); ++client) {
      const auto own = std::span(labels_).subspan(begins_[client], bounds_[client].end);
      if (!own.empty()) means[client] = std::accumulate(own.begin(), own.end(), 0.0) / static_cast<double>(own.size());
    }
    return means;
  }

  models::data_facts facts_;
  std::vector<std::uint32_t> user_ids_;
  std::vector<std::uint32_t> item_ids_;
  std::vector<std::string> titles_;
  user_groups groups_;
  std::vector<float> tastes_;
  std::vector<std::size_t> begins_;  // of each client in the columns
  std::vector<part_bounds> bounds_;  // relative to that
  std::vector<std::uint32_t> features_;
  std::vector<float> labels_;
};

}  // namespace

std::vector<models::option_spec> split_options() {
  using models::option_type;
  return {
      {.name = "max_examples",
       .type = option_type::integer,
       .fallback = std::int64_t{0},
       .doc = "Keep the first ratings of each user, this many in the chosen order; 0: all.",
       .at_least = 0,
       .at_most = 4294967295.0},
      {.name = "order",
       .type = option_type::choice,
       .fallback = std::string("shuffled"),
       .doc = "Order of each user's ratings: shuffled once and fixed, or by time.",
       .choices = {"shuffled", "time"}},
      {.name = "split",
       .type = option_type::number_list,
       .fallback = std::vector<double>{1.0, 0.0, 0.0},
       .doc = "Shares of each training user's ratings for training, validation and test; they add up to 1.",
       .at_least = 0,
       .at_most = 1},
      {.name = "split_by",
       .type = option_type::choice,
       .fallback = std::string("random"),
       .doc = "Which ratings go into which part: at random, or the oldest into training and the newest into test.",
       .choices = {"random", "time"}},
      {.name = "split_seed",
       .type = option_type::integer,
       .doc = "Seed of all splits and shuffles of the data; give one to share the split between seeds.",
       .at_least = 0,
       .same_as = "scenario.seed"},
      {.name = "unseen_users.validation",
       .type = option_type::number,
       .fallback = 0.0,
       .doc = "Share of the users never asked to train, for choosing settings.",
       .at_least = 0,
       .at_most = 1},
      {.name = "unseen_users.test",
       .type = option_type::number,
       .fallback = 0.0,
       .doc = "Share of the users never asked to train, for the final figure.",
       .at_least = 0,
       .at_most = 1},
      {.name = "binarize",
       .type = option_type::number,
       .doc = "Turn ratings into classes: 1 at or above this many stars, else 0; absent: ratings stay."},
  };
}

std::vector<option_problem> check_split(const models::option_values& options) {
  std::vector<option_problem> problems;
  if (options.has("split")) {
    const auto& shares = options.numbers("split");
    const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (shares.size() != 3)
      problems.push_back({"split", "has " + std::to_string(shares.size()) + " shares, needs 3",
                          "write the shares of training, validation and test, such as [0.8, 0.1, 0.1]"});
    else if (std::abs(sum - 1.0) > 1e-9)
      problems.push_back({"split", "the shares do not add up to 1", "for example [0.8, 0.1, 0.1]"});
    else if (shares[0] <= 0.0)
      problems.push_back({"split", "leaves nothing to train on", "make the first share larger than 0"});
  }
  if (options.has("unseen_users.validation") && options.has("unseen_users.test") &&
      options.number("unseen_users.validation") + options.number("unseen_users.test") >= 1.0)
    problems.push_back({"unseen_users.test", "validation and test together leave no user to train",
                        "keep their sum below 1, for example 0.1 each"});
  return problems;
}

split_settings read_split(const models::option_values& options) {
  split_settings settings;
  settings.seed = static_cast<std::uint64_t>(options.integer("split_seed"));
  settings.max_examples = static_cast<std::size_t>(options.integer("max_examples"));
  settings.order_by_time = options.text("order") == "time";
  settings.split_by_time = options.text("split_by") == "time";
  settings.validation = options.numbers("split").at(1);
  settings.test = options.numbers("split").at(2);
  settings.unseen_validation = options.number("unseen_users.validation");
  settings.unseen_test = options.number("unseen_users.test");
  if (options.has("binarize")) settings.binarize = options.number("binarize");
  return settings;
}

models::objective labels_of(const models::option_values& options) {
  return options.has("binarize") ? models::objective::logistic : models::objective::squared_error;
}

std::shared_ptr<const federated::population> split_ratings(const rating_table& table, const split_settings& settings) {
  return std::make_shared<rating_population>(table, settings);
}

}  // namespace furlong::scenarios
