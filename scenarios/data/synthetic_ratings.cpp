#include "scenarios/data/synthetic_ratings.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/exact_math.hpp"
#include "base/random.hpp"
#include "scenarios/data/division.hpp"
#include "scenarios/data/interaction_table.hpp"

namespace furlong::scenarios {

namespace {

/// Uniform in [0, 1) with 53 bits: 24 are too coarse for sampling among many unpopular items.
double fine_uniform(random_stream& stream) {
  const std::uint64_t high = stream();
  return static_cast<double>((high << 32 | stream()) >> 11) * 0x1p-53;
}

}  // namespace

synthetic_truth::synthetic_truth(const synthetic_settings& settings)
    : settings_(settings),
      // A lognormal with mean m has exp(mu + spread^2 / 2) = m.
      log_mean_(exact::log(settings.ratings_per_user) - settings.spread * settings.spread / 2.0),
      popularity_(settings.items),
      by_rank_(settings.items) {
  const double scale = settings.signal / std::sqrt(static_cast<double>(settings.rank));
  quality_.reserve(settings.items);
  factors_.reserve(std::size_t{settings.items} * settings.rank);
  for (std::uint32_t item = 0; item < settings.items; ++item) {
    random_stream stream(settings.seed, purpose::synthetic_items, 0, item);
    quality_.push_back(settings.quality * static_cast<double>(stream.normal()));
    for (std::uint32_t k = 0; k < settings.rank; ++k) factors_.push_back(scale * static_cast<double>(stream.normal()));
  }
  std::iota(by_rank_.begin(), by_rank_.end(), 0U);
  random_stream stream(settings.seed, purpose::synthetic_items, 0, 0, 1);
  stream.shuffle(std::span(by_rank_));
  double sum = 0.0;
  up_to_.reserve(settings.items);
  for (std::size_t rank = 0; rank < by_rank_.size(); ++rank) {
    const double weight = exact::pow(static_cast<double>(rank + 1), -settings.popularity);
    popularity_[by_rank_[rank]] = weight;
    up_to_.push_back(sum += weight);
  }
  // A power of two of slices: the slice of a number and its lower end are exact.
  guide_.resize(std::bit_ceil(up_to_.size()));
  const double slice = 1.0 / static_cast<double>(guide_.size());
  for (std::size_t s = 0; s < guide_.size(); ++s) {
    const auto found = std::ranges::upper_bound(up_to_, static_cast<double>(s) * slice * sum);
    guide_[s] = static_cast<std::uint32_t>(found - up_to_.begin());
  }
}

void synthetic_truth::draw_person(std::uint32_t user, synthetic_draw& out) const {
  random_stream stream(settings_.seed, purpose::synthetic_users, 0, user);
  out.taste = settings_.taste * static_cast<double>(stream.normal());
  out.factors.clear();
  for (std::uint32_t k = 0; k < settings_.rank; ++k) out.factors.push_back(static_cast<double>(stream.normal()));
}

float synthetic_truth::taste_of(std::uint32_t user) const {
  return random_stream(settings_.seed, purpose::synthetic_users, 0, user).normal();
}

double synthetic_truth::expected(const synthetic_draw& draw, std::uint32_t item) const {
  double rating = settings_.mean + draw.taste + quality_[item];
  const auto* factors = factors_.data() + std::size_t{item} * settings_.rank;
  for (std::size_t k = 0; k < draw.factors.size(); ++k) rating += draw.factors[k] * factors[k];
  return rating;
}

double synthetic_truth::expected(std::uint32_t user, std::uint32_t item) const {
  synthetic_draw draw;
  draw_person(user, draw);
  return expected(draw, item);
}

std::uint32_t synthetic_truth::draw_count(random_stream& stream) const {
  const double count = exact::exp(log_mean_ + settings_.spread * static_cast<double>(stream.normal()));
  const auto least = static_cast<double>(std::min(settings_.min_ratings, settings_.items));
  return static_cast<std::uint32_t>(std::clamp(std::round(count), least, static_cast<double>(settings_.items)));
}

std::uint32_t synthetic_truth::count_of(std::uint32_t user) const {
  random_stream stream(settings_.seed, purpose::synthetic_ratings, 0, user);
  return draw_count(stream);
}

/// Samples in proportion to popularity: the first rank whose cumulative popularity exceeds a uniform number. A slice of
/// the guide has one rank on average, so that the search is short (Chen, Asau: "On generating random variates from an
/// empirical distribution", 1974).
std::uint32_t synthetic_truth::draw_item(random_stream& stream) const {
  const double uniform = fine_uniform(stream);
  const double target = uniform * up_to_.back();
  std::size_t rank = guide_[static_cast<std::size_t>(uniform * static_cast<double>(guide_.size()))];
  while (rank + 1 < up_to_.size() && up_to_[rank] <= target) ++rank;
  return by_rank_[std::min(rank, by_rank_.size() - 1)];
}

/// Samples distinct items in proportion to popularity.
void synthetic_truth::draw_items(random_stream& stream, std::uint32_t count, synthetic_draw& out) const {
  out.items.clear();
  if (count <= settings_.items / 8) {  // few: redraw duplicates
    if (out.taken.size() * 64 < settings_.items) out.taken.resize(settings_.items / 64 + 1);
    while (out.items.size() < count) {
      const auto item = draw_item(stream);
      auto& word = out.taken[item / 64];
      const auto bit = std::uint64_t{1} << item % 64;
      if ((word & bit) != 0) continue;
      word |= bit;
      out.items.push_back(item);
    }
    for (const auto item : out.items) out.taken[item / 64] = 0;
    return;
  }
  // Many: the first `count` arrivals, where item i arrives after an exponential time with rate popularity_i
  // (Efraimidis, Spirakis: "Weighted random sampling with a reservoir", 2006). The distribution is the same.
  out.arrivals.clear();
  for (std::uint32_t item = 0; item < settings_.items; ++item)
    out.arrivals.emplace_back(-exact::log(1.0 - fine_uniform(stream)) / popularity_[item], item);
  std::ranges::partial_sort(out.arrivals, out.arrivals.begin() + count);
  for (std::uint32_t i = 0; i < count; ++i) out.items.push_back(out.arrivals[i].second);
}

float synthetic_truth::stars(double rating) const {
  switch (settings_.rounding) {
    case star_rounding::none: break;
    case star_rounding::half: return static_cast<float>(std::clamp(std::round(rating * 2.0) / 2.0, 1.0, 5.0));
    case star_rounding::whole: return static_cast<float>(std::clamp(std::round(rating), 1.0, 5.0));
  }
  return static_cast<float>(rating);
}

void synthetic_truth::draw(std::uint32_t user, synthetic_draw& out) const {
  draw_person(user, out);
  random_stream stream(settings_.seed, purpose::synthetic_ratings, 0, user);
  const auto count = draw_count(stream);
  draw_items(stream, count, out);
  out.noise.clear();
  for (std::uint32_t i = 0; i < count; ++i) out.noise.push_back(stream.normal());
}

float synthetic_truth::rating(const synthetic_draw& draw, std::size_t position) const {
  return stars(expected(draw, draw.items[position]) + settings_.noise * static_cast<double>(draw.noise[position]));
}

void synthetic_truth::ratings_of(std::uint32_t user, std::vector<std::uint32_t>& items,
                                 std::vector<float>& labels) const {
  synthetic_draw own;
  draw(user, own);
  items.insert(items.end(), own.items.begin(), own.items.end());
  for (std::size_t i = 0; i < own.items.size(); ++i) labels.push_back(rating(own, i));
}

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
    const auto role = groups_.role_of(client);
    const bool in_one_part = role != user_role::training && !split_.leave_one_out;
    if (in_one_part && which != federated::part::train) return scratch.view();
    thread_local synthetic_draw drawn;
    thread_local division divided;
    truth_.draw(client, drawn);
    divide_examples(client, static_cast<std::uint32_t>(drawn.items.size()), {}, split_, role, divided);
    for (auto row = divided.bounds.begin_of(which); row < divided.bounds.end_of(which); ++row) {
      const auto pick = divided.picks[row];
      scratch.features.push_back(drawn.items[pick]);
      scratch.labels.push_back(label_of(truth_.rating(drawn, pick), split_));
    }
    return scratch.view();
  }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    const auto bounds = bounds_of(truth_.count_of(client), split_, groups_.role_of(client));
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

synthetic_settings read_settings(const option_values& options) {
  synthetic_settings settings;
  settings.seed = static_cast<std::uint64_t>(options.integer("seed"));
  settings.users = static_cast<std::uint32_t>(options.integer("users"));
  settings.items = static_cast<std::uint32_t>(options.integer("items"));
  settings.rank = static_cast<std::uint32_t>(options.integer("rank"));
  settings.ratings_per_user = options.number("ratings_per_user");
  settings.spread = options.number("spread");
  settings.min_ratings = static_cast<std::uint32_t>(options.integer("min_ratings"));
  settings.popularity = options.number("popularity");
  settings.mean = options.number("mean");
  settings.signal = options.number("signal");
  settings.taste = options.number("taste");
  settings.quality = options.number("quality");
  settings.noise = options.number("noise");
  const auto& rounding = options.text("rounding");
  settings.rounding = rounding == "half"    ? star_rounding::half
                      : rounding == "whole" ? star_rounding::whole
                                            : star_rounding::none;
  return settings;
}

/// Above this many ratings they are generated on demand: 8 bytes each in memory, twice that during generation.
constexpr double most_ahead = 20e6;

rating_table make_ahead(const synthetic_settings& settings) {
  const synthetic_truth truth(settings);
  rating_table table;
  table.user_ids.resize(settings.users);
  std::iota(table.user_ids.begin(), table.user_ids.end(), 0U);
  table.item_ids.resize(settings.items);
  std::iota(table.item_ids.begin(), table.item_ids.end(), 0U);
  table.offsets.push_back(0);
  for (std::uint32_t user = 0; user < settings.users; ++user) {
    truth.ratings_of(user, table.features, table.labels);
    table.offsets.push_back(table.features.size());
    table.tastes.push_back(truth.taste_of(user));
  }
  return table;
}

bool makes_ahead(const synthetic_settings& settings, const std::string& choice) {
  return choice == "ahead" || (choice == "auto" && settings.users * settings.ratings_per_user <= most_ahead);
}

/// The item parameters; the lists of users; ratings generated in advance.
double memory(const option_values& options) {
  const auto settings = read_settings(options);
  const double users = settings.users;
  const double truth = settings.items * (8.0 * settings.rank + 48.0);
  if (!is_implicit(options) && !makes_ahead(settings, options.text("generate"))) return truth + 8.0 * users;
  const double each = std::max(settings.ratings_per_user, static_cast<double>(settings.min_ratings));
  return truth + users * (80.0 + 16.0 * each);
}

result<dataset> build_interactions(const option_values& options, const synthetic_settings& settings,
                                   const rating_settings& split) {
  dataset data;
  auto table = make_ahead(settings);
  if (auto kept = keep_interactions(table, read_feedback(options), "data", data.notes); !kept)
    return tl::unexpected(kept.error());
  data.clients = split_ratings(table, split);
  data.item_ids = std::move(table.item_ids);
  return data;
}

result<dataset> build(const option_values& options, const std::filesystem::path&) {
  const auto settings = read_settings(options);
  const auto split = read_rating_settings(options);
  if (split.interactions) return build_interactions(options, settings, split);
  const bool ahead = makes_ahead(settings, options.text("generate"));
  dataset data;
  data.clients = ahead ? split_ratings(make_ahead(settings), split) : synthesize_on_demand(settings, split);
  if (settings.rounding != star_rounding::none) {  // which cuts them
    data.label_low = 1.0F;
    data.label_high = 5.0F;
  }
  data.binarize = split.binarize;
  data.item_ids.resize(settings.items);
  std::iota(data.item_ids.begin(), data.item_ids.end(), 0U);
  return data;
}

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_split(options);
  add_feedback_problems(options, problems);
  if (is_implicit(options) && options.has("generate") && options.text("generate") == "on-demand")
    problems.push_back({"generate", "is \"on-demand\", and interactions are generated ahead", "remove it"});
  if (!options.has("items")) return problems;
  const auto items = static_cast<double>(options.integer("items"));
  for (const char* name : {"ratings_per_user", "min_ratings"})
    if (options.has(name) && options.number(name) > items)
      problems.push_back({name, "is more than there are items (" + std::to_string(options.integer("items")) + ")",
                          "lower it, or raise data.items"});
  return problems;
}

constexpr option_range in_stars{0, 100};

}  // namespace

std::shared_ptr<const federated::population> synthesize_on_demand(const synthetic_settings& truth,
                                                                  const rating_settings& split) {
  return std::make_shared<on_demand_population>(truth, split);
}

dataset_entry synthetic_ratings_entry() {
  const synthetic_settings fallback;
  dataset_entry entry;
  entry.kind = "synthetic-ratings";
  entry.doc =
      "Generated ratings with a known truth: rating = mean + taste of the user + quality of the item + product of "
      "their factors + noise.";
  entry.options = {
      seed_option("seed", "Seed of the generated truth and ratings."),
      integer_option("users", fallback.users, "Number of users.", {1, 1e8}),
      integer_option("items", fallback.items, "Number of items.", {1, 1e7}),
      integer_option("rank", fallback.rank, "Length of the true factors.", {1, 1024}),
      number_option("ratings_per_user", fallback.ratings_per_user, "Mean number of items a user rates (lognormal).",
                    {1, 1e7}),
      number_option("spread", fallback.spread, "Standard deviation of the logarithm of that number.", {0, 5}),
      integer_option("min_ratings", fallback.min_ratings, "Every user rates at least this many items.", {1, 1e7}),
      number_option("popularity", fallback.popularity,
                    "Exponent of the power law of popularity; 0: all items equally popular.", {0, 5}),
      number_option("mean", fallback.mean, "Mean rating.", {-100, 100}),
      number_option("signal", fallback.signal, "Standard deviation of the product of the factors, in stars.", in_stars),
      number_option("taste", fallback.taste, "Standard deviation of the users' own offsets, in stars.", in_stars),
      number_option("quality", fallback.quality, "Standard deviation of the items' own offsets, in stars.", in_stars),
      number_option("noise", fallback.noise, "Standard deviation of the noise, in stars: no model has a lower error.",
                    in_stars),
      choice_option("rounding", "none",
                    "Round ratings to half or whole stars and cut them to 1 to 5; raises the noise floor.",
                    {"none", "half", "whole"}),
      choice_option(
          "generate", "auto",
          "Generate all ratings before the run, or each user's on demand, in little memory; the ratings are the "
          "same. auto: on demand above 20 million expected ratings.",
          {"auto", "ahead", "on-demand"}),
  };
  add_options(entry.options, rating_options());
  add_options(entry.options, feedback_options());
  entry.check = check;
  entry.facts = rating_facts;
  entry.build = build;
  entry.memory = memory;
  return entry;
}

}  // namespace furlong::scenarios
