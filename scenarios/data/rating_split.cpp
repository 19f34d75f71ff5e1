#include "scenarios/data/rating_split.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

#include "base/exact_math.hpp"
#include "scenarios/data/division.hpp"
#include "scenarios/data/interaction_table.hpp"

namespace furlong::scenarios {

namespace {

models::objective labels_of(const rating_settings& settings) {
  if (settings.interactions) return models::objective::ranking;
  return settings.binarize ? models::objective::logistic : models::objective::squared_error;
}

class rating_population final : public federated::population {
 public:
  rating_population(const rating_table& table, const rating_settings& settings)
      : facts_{static_cast<std::uint32_t>(table.item_ids.size()), static_cast<std::uint32_t>(table.clients()),
               labels_of(settings)},
        user_ids_(table.user_ids),
        user_names_(table.user_names),
        item_ids_(table.item_ids),
        titles_(table.titles),
        groups_(divide_users(facts_.clients, settings)),
        tastes_(table.tastes) {
    begins_.reserve(table.clients());
    bounds_.reserve(table.clients());
    features_.reserve(table.features.size());
    labels_.reserve(table.labels.size());
    division divided;
    for (std::uint32_t client = 0; client < facts_.clients; ++client) take(table, settings, client, divided);
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

  std::string client_name(std::uint32_t client) const override {
    return user_names_.empty() ? "user " + std::to_string(user_ids_[client]) : user_names_[client];
  }
  std::string feature_name(std::uint32_t feature) const override {
    if (feature < titles_.size() && !titles_[feature].empty()) return titles_[feature];
    return "item " + std::to_string(item_ids_[feature]);
  }

 private:
  void take(const rating_table& table, const rating_settings& settings, std::uint32_t client, division& divided) {
    const auto first = table.offsets[client];
    const auto ratings = table.offsets[client + 1] - first;
    const auto times =
        table.times.empty() ? std::span<const std::uint32_t>() : std::span(table.times).subspan(first, ratings);
    divide_examples(client, static_cast<std::uint32_t>(ratings), times, settings, groups_.role_of(client), divided);
    begins_.push_back(features_.size());
    bounds_.push_back(divided.bounds);
    for (const auto pick : divided.picks) {
      features_.push_back(table.features[first + pick]);
      labels_.push_back(label_of(table.labels[first + pick], settings));
    }
  }

  /// Per client, over all its parts; 0 without ratings.
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
  std::vector<std::string> user_names_;
  std::vector<std::uint32_t> item_ids_;
  std::vector<std::string> titles_;
  user_groups groups_;
  std::vector<float> tastes_;
  std::vector<std::size_t> begins_;  // first entry of each client in the columns
  std::vector<part_bounds> bounds_;  // relative to that
  std::vector<std::uint32_t> features_;
  std::vector<float> labels_;
};

/// The standard normal quantile of p in (0, 1): the estimate of Abramowitz and Stegun 26.2.23, refined by Newton steps
/// on erfc.
double normal_quantile(double p) {
  const double tail = std::min(p, 1.0 - p);
  const double t = std::sqrt(-2.0 * exact::log(tail));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 3; ++step) {
    const double density = exact::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    z += (0.5 * exact::erfc(z / std::numbers::sqrt2) - tail) / density;
  }
  return p < 0.5 ? -z : z;
}

}  // namespace

std::vector<option_spec> rating_options() {
  auto options = split_options("ratings", {1.0, 0.0, 0.0}, true);
  options.push_back(
      number_option("binarize", std::nullopt,
                    "Turn ratings into classes: 1 at or above this many stars, else 0; absent: ratings stay."));
  return options;
}

rating_settings read_rating_settings(const option_values& options) {
  rating_settings settings{read_split(options), {}, is_implicit(options)};
  if (options.has("binarize")) settings.binarize = options.number("binarize");
  return settings;
}

models::data_facts rating_facts(const option_values& options) {
  models::data_facts facts;
  if (options.has("binarize")) facts.labels = models::objective::logistic;
  if (is_implicit(options)) facts.labels = models::objective::ranking;
  return facts;
}

std::shared_ptr<const federated::population> split_ratings(const rating_table& table, const rating_settings& settings) {
  return std::make_shared<rating_population>(table, settings);
}

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

}  // namespace furlong::scenarios
