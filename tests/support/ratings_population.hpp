// Small populations for tests: made by hand, or drawn from a seed.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/random.hpp"
#include "federated/experiment/population.hpp"

namespace furlong::tests {

/// One client's examples, part by part.
struct client_table {
  models::examples train;
  models::examples validation;
  models::examples test;
};

/// A population that is what it was built from.
class table_population final : public federated::population {
 public:
  models::data_facts what;
  std::vector<std::uint32_t> seen;
  std::vector<std::uint32_t> held_out_validation;
  std::vector<std::uint32_t> held_out_test;
  std::vector<client_table> tables;  ///< by client

  [[nodiscard]] models::data_facts facts() const override { return what; }
  [[nodiscard]] std::span<const std::uint32_t> training() const override { return seen; }
  [[nodiscard]] std::span<const std::uint32_t> unseen_validation() const override { return held_out_validation; }
  [[nodiscard]] std::span<const std::uint32_t> unseen_test() const override { return held_out_test; }
  [[nodiscard]] models::examples_view load(std::uint32_t client, federated::part which,
                                           models::examples&) const override {
    const auto& of = tables.at(client);
    switch (which) {
      case federated::part::train: return of.train.view();
      case federated::part::validation: return of.validation.view();
      case federated::part::test: break;
    }
    return of.test.view();
  }
  [[nodiscard]] std::string client_name(std::uint32_t client) const override {
    return "client " + std::to_string(client);
  }
  [[nodiscard]] std::string feature_name(std::uint32_t feature) const override {
    return "item " + std::to_string(feature);
  }
};

struct ratings_shape {
  std::uint32_t clients = 24;
  std::uint32_t unseen_validation = 3;  ///< of the clients
  std::uint32_t unseen_test = 4;        ///< of the clients
  std::uint32_t items = 30;
  std::uint32_t fewest = 3;  ///< train examples of a client
  std::uint32_t most = 17;
  std::uint32_t empty = 1;  ///< training clients without examples: the first ones
};

/// `count` ratings from 1 to 5 of items that may repeat: taste that differs from user to user, and noise.
[[nodiscard]] inline models::examples draw_ratings(random_stream& stream, std::uint32_t count, std::uint32_t items,
                                                   std::uint32_t user) {
  models::examples data;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto item = stream.below(items);
    const float taste = static_cast<float>(item % 5) + ((item + user) % 2 == 0 ? 1.0F : -1.0F);
    data.features.push_back(item);
    data.labels.push_back(std::clamp(1.0F + taste + stream.uniform(-0.5F, 0.5F), 1.0F, 5.0F));
  }
  return data;
}

/// Ratings of a few users, all keyed by the seed.
[[nodiscard]] inline std::shared_ptr<table_population> make_ratings(std::uint64_t seed, const ratings_shape& of = {}) {
  auto made = std::make_shared<table_population>();
  made->what = {of.items, of.clients, models::objective::squared_error};
  const std::uint32_t training = of.clients - of.unseen_validation - of.unseen_test;
  for (std::uint32_t client = 0; client < of.clients; ++client) {
    random_stream stream(seed, purpose::test, 0, client);
    client_table table;
    const std::uint32_t count = of.fewest + stream.below(of.most - of.fewest + 1);
    if (client >= of.empty) table.train = draw_ratings(stream, count, of.items, client);
    if (client < training) {
      table.validation = draw_ratings(stream, 2, of.items, client);
      table.test = draw_ratings(stream, 3, of.items, client);
      made->seen.push_back(client);
    } else {
      (client < training + of.unseen_validation ? made->held_out_validation : made->held_out_test).push_back(client);
    }
    made->tables.push_back(std::move(table));
  }
  return made;
}

/// Interactions of a few users with items of which none repeats, all keyed by the seed: those of training and, of
/// training clients, one of validation and one of test. The last item has no interaction.
[[nodiscard]] inline std::shared_ptr<table_population> make_interactions(std::uint64_t seed,
                                                                         const ratings_shape& of = {}) {
  auto made = make_ratings(seed, of);
  made->what.labels = models::objective::ranking;
  for (std::uint32_t client = 0; client < of.clients; ++client) {
    random_stream stream(seed, purpose::test, 2, client);
    std::vector<std::uint32_t> items(of.items - 1);
    for (std::uint32_t item = 0; item < items.size(); ++item) items[item] = item;
    stream.shuffle(std::span(items));
    auto next = items.begin();
    auto& table = made->tables[client];
    const auto fill = [&](models::examples& data, std::size_t count) {
      data.clear();
      data.features.assign(next, next + static_cast<std::ptrdiff_t>(count));
      data.labels.assign(count, 1.0F);
      next += static_cast<std::ptrdiff_t>(count);
    };
    fill(table.train, table.train.labels.size());
    const bool trains = !table.test.labels.empty();
    fill(table.validation, trains ? 1 : 0);
    fill(table.test, trains ? 1 : 0);
  }
  return made;
}

/// Classes 0 and 1 on sparse vectors of up to four features, all keyed by the seed.
[[nodiscard]] inline std::shared_ptr<table_population> make_classes(std::uint64_t seed, const ratings_shape& of = {}) {
  auto made = make_ratings(seed, of);
  made->what.labels = models::objective::logistic;
  for (std::uint32_t client = 0; client < of.clients; ++client)
    for (auto* data : {&made->tables[client].train, &made->tables[client].validation, &made->tables[client].test}) {
      random_stream stream(seed, purpose::test, 1, client);
      models::examples other;
      for (const auto label : data->labels) {
        const std::uint32_t named = 1 + stream.below(4);
        if (other.offsets.empty()) other.offsets.push_back(0);
        for (std::uint32_t f = 0; f < named; ++f) {
          other.features.push_back(stream.below(of.items));
          other.values.push_back(stream.uniform(-1.0F, 1.0F));
        }
        other.offsets.push_back(static_cast<std::uint32_t>(other.features.size()));
        other.labels.push_back(label > 3.0F ? 1.0F : 0.0F);
      }
      *data = std::move(other);
    }
  return made;
}

}  // namespace furlong::tests
