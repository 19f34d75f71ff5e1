#include "scenarios/rating_split.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace furlong::scenarios {

namespace {

using models::purpose;
using models::random_stream;

class rating_population final : public federated::population {
 public:
  rating_population(const rating_table& table, const split_settings& settings)
      : facts_{static_cast<std::uint32_t>(table.item_ids.size()), static_cast<std::uint32_t>(table.clients()),
               settings.binarize ? models::objective::logistic : models::objective::squared_error},
        user_ids_(table.user_ids),
        item_ids_(table.item_ids),
        titles_(table.titles) {
    divide_users(settings);
    parts_.reserve(table.clients());
    features_.reserve(table.features.size());
    labels_.reserve(table.labels.size());
    for (std::uint32_t client = 0; client < facts_.clients; ++client) divide_ratings(table, settings, client);
  }

  models::data_facts facts() const override { return facts_; }
  std::span<const std::uint32_t> training() const override { return training_; }
  std::span<const std::uint32_t> unseen_validation() const override { return validation_; }
  std::span<const std::uint32_t> unseen_test() const override { return test_; }

  models::examples_view load(std::uint32_t client, federated::part which, models::examples&) const override {
    const auto& own = parts_[client];
    std::size_t begin = own.begin;
    std::size_t end = own.train_end;
    if (which == federated::part::validation) {
      begin = own.train_end;
      end = own.validation_end;
    } else if (which == federated::part::test) {
      begin = own.validation_end;
      end = own.end;
    }
    models::examples_view view;
    view.features = std::span(features_).subspan(begin, end - begin);
    view.labels = std::span(labels_).subspan(begin, end - begin);
    return view;
  }

  std::string client_name(std::uint32_t client) const override { return "user " + std::to_string(user_ids_[client]); }
  std::string feature_name(std::uint32_t feature) const override {
    if (feature < titles_.size() && !titles_[feature].empty()) return titles_[feature];
    return "item " + std::to_string(item_ids_[feature]);
  }

 private:
  /// Positions in the columns.
  struct client_parts {
    std::size_t begin = 0;
    std::size_t train_end = 0;
    std::size_t validation_end = 0;
    std::size_t end = 0;
  };

  void divide_users(const split_settings& settings) {
    std::vector<std::uint32_t> users(facts_.clients);
    std::iota(users.begin(), users.end(), 0U);
    random_stream stream(settings.seed, purpose::split_users);
    stream.shuffle(std::span(users));
    const auto share = [&](double part) {
      return static_cast<std::ptrdiff_t>(std::llround(part * static_cast<double>(users.size())));
    };
    const auto test = users.end() - std::min(share(settings.unseen_test), std::ssize(users));
    const auto validation = test - std::min(share(settings.unseen_validation), test - users.begin());
    training_.assign(users.begin(), validation);
    validation_.assign(validation, test);
    test_.assign(test, users.end());
    for (auto* group : {&training_, &validation_, &test_}) std::ranges::sort(*group);
  }

  /// The user's entries in the order of the settings, cut to max_examples.
  void arrange(const rating_table& table, const split_settings& settings, std::uint32_t client) {
    order_.resize(table.offsets[client + 1] - table.offsets[client]);
    std::iota(order_.begin(), order_.end(), table.offsets[client]);
    if (settings.order_by_time) {
      sort_by_time(table, order_);
    } else {
      random_stream stream(settings.seed, purpose::split_examples, 0, client);
      stream.shuffle(std::span(order_));
    }
    if (settings.max_examples != 0 && order_.size() > settings.max_examples) order_.resize(settings.max_examples);
  }

  static void sort_by_time(const rating_table& table, std::vector<std::size_t>& entries) {
    std::ranges::sort(entries);  // ties in time: the order of the source
    if (!table.times.empty()) std::ranges::stable_sort(entries, {}, [&](auto entry) { return table.times[entry]; });
  }

  void divide_ratings(const rating_table& table, const split_settings& settings, std::uint32_t client) {
    using federated::part;
    arrange(table, settings, client);
    const auto n = order_.size();
    const bool held_out = !std::ranges::binary_search(training_, client);
    const double validation_share = held_out ? 0.0 : settings.validation;
    const double test_share = held_out ? 0.0 : settings.test;
    const auto up_to = [&](double share) {
      return static_cast<std::size_t>(std::llround(share * static_cast<double>(n)));
    };
    const auto train_size = up_to(1.0 - validation_share - test_share);
    const auto validation_size = std::max(up_to(1.0 - test_share), train_size) - train_size;

    ranked_.resize(n);
    std::iota(ranked_.begin(), ranked_.end(), std::size_t{0});
    if (train_size != n && settings.split_by_time) {
      std::ranges::sort(
          ranked_, {}, [&](auto i) { return std::pair(table.times.empty() ? 0U : table.times[order_[i]], order_[i]); });
    } else if (train_size != n) {
      random_stream stream(settings.seed, purpose::split_examples, 0, client, 1);
      stream.shuffle(std::span(ranked_));
    }
    const auto train_end = ranked_.begin() + static_cast<std::ptrdiff_t>(train_size);
    const auto validation_end = train_end + static_cast<std::ptrdiff_t>(validation_size);
    std::sort(ranked_.begin(), train_end);
    std::sort(train_end, validation_end);
    std::sort(validation_end, ranked_.end());

    const auto begin = features_.size();
    parts_.push_back({begin, begin + train_size, begin + train_size + validation_size, begin + n});
    for (const auto i : ranked_) {
      features_.push_back(table.features[order_[i]]);
      const float label = table.labels[order_[i]];
      labels_.push_back(!settings.binarize ? label : label >= static_cast<float>(*settings.binarize) ? 1.0F : 0.0F);
    }
  }

  models::data_facts facts_;
  std::vector<std::uint32_t> user_ids_;
  std::vector<std::uint32_t> item_ids_;
  std::vector<std::string> titles_;
  std::vector<std::uint32_t> training_;
  std::vector<std::uint32_t> validation_;
  std::vector<std::uint32_t> test_;
  std::vector<client_parts> parts_;
  std::vector<std::uint32_t> features_;
  std::vector<float> labels_;
  std::vector<std::size_t> order_;   // of construction only
  std::vector<std::size_t> ranked_;  // likewise
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
