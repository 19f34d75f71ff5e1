// What every_place computes, on plain arrays: whole tensors, whole tables of clients, sums in double.
#pragma once

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/training.hpp"
#include "tests/groups/every_place.hpp"

namespace furlong::tests {

using arrays = std::vector<std::vector<float>>;  ///< by tensor of the model

/// A run of every_place in which all clients train in each round.
class plain_run {
 public:
  explicit plain_run(const federated::experiment& e) : e_(e) {
    const auto first = federated::initial_model(e);
    for (std::size_t t = 0; t < count(); ++t) {
      const auto slot = e.parts.slots[t];
      model.emplace_back();
      if (slot.is_private) continue;
      const auto from = first.tensor(slot.tensor);
      model[t].assign(from.begin(), from.end());
    }
    drift = zeros(model);
    memory = model;  // begins as received
    totals.assign(facts().features, 0.0F);
  }

  void round() {
    const bool by_examples = e_.settings.aggregation->rule.traits.weighs_examples;
    auto change = sums();
    auto halves = sums();
    double divisor = 0;
    double clients = 0;
    double examples = 0;
    double steps_by_examples = 0;
    for (const auto client : e_.participants->training()) {
      models::examples room;
      const auto data = e_.participants->load(client, federated::part::train, room);
      if (data.size() == 0) continue;
      const auto x = received(client);
      const auto y = train(x, data);
      const double steps = train_own(client, x, data);
      kept_user[client] = y[user()];
      for (const auto feature : data.features) totals[feature] += 1.0F;
      const double n = static_cast<double>(data.size()) * e_.settings.client->epochs;
      add_difference(change, by_examples ? n : 1.0, y, x);
      add_difference(halves, 0.5, y, x);
      divisor += by_examples ? n : 1.0;
      clients += 1.0;
      examples += n;
      steps_by_examples += n * steps;
    }
    for (const auto t : e_.parts.shared_tensors)
      for (std::size_t i = 0; i < model[t].size(); ++i) {
        const auto moved = static_cast<float>(change[t][i] / divisor);
        model[t][i] += moved;
        memory[t][i] = 0.5F * memory[t][i] + moved;
        drift[t][i] += static_cast<float>(halves[t][i] / clients);
      }
    steps_mean = static_cast<float>(steps_by_examples / examples);
    pull *= 0.9F;
  }

  /// What is predicted for a client, with what it kept.
  [[nodiscard]] std::vector<float> predict(std::uint32_t client, const models::examples_view& questions) const {
    auto w = received(client);
    if (own.contains(client)) {
      auto p = own.at(client);
      models::examples room;
      fill_unnamed(p, w, e_.clients->load(client, federated::part::train, room));
      const float a = mix.at(client);
      for (std::size_t t = 0; t < count(); ++t)
        for (std::size_t i = 0; i < w[t].size(); ++i) w[t][i] = (1.0F - a) * w[t][i] + a * p[t][i];
    }
    std::vector<float> guesses(questions.size());
    e_.model->predict(views(w), questions, guesses);
    return guesses;
  }

  /// Mean squared error over the test parts of all training clients.
  [[nodiscard]] double loss() const {
    double error = 0;
    double examples = 0;
    for (const auto client : e_.clients->training()) {
      models::examples room;
      const auto test = e_.clients->load(client, federated::part::test, room);
      const auto guesses = predict(client, test);
      for (std::size_t i = 0; i < test.size(); ++i) error += std::pow(double{guesses[i]} - test.labels[i], 2);
      examples += static_cast<double>(test.size());
    }
    return error / examples;
  }

  arrays model;
  arrays drift;
  arrays memory;
  std::vector<float> totals;
  float pull = 0.5F;
  float steps_mean = 0.0F;
  std::map<std::uint32_t, arrays> own;
  std::map<std::uint32_t, float> mix;
  std::map<std::uint32_t, std::vector<float>> kept_user;

 private:
  [[nodiscard]] std::size_t count() const { return e_.parts.model->count(); }
  [[nodiscard]] models::data_facts facts() const { return e_.clients->facts(); }
  [[nodiscard]] std::size_t user() const { return e_.parts.private_tensors.front(); }
  static arrays zeros(const arrays& like) {
    arrays made;
    for (const auto& one : like) made.emplace_back(one.size(), 0.0F);
    return made;
  }
  static void add(std::vector<float>& to, float factor, const std::vector<float>& from) {
    for (std::size_t i = 0; i < from.size(); ++i) to[i] += factor * from[i];
  }
  [[nodiscard]] std::vector<std::vector<double>> sums() const {
    std::vector<std::vector<double>> made;
    for (const auto& one : model) made.emplace_back(one.size(), 0.0);
    return made;
  }
  void add_difference(std::vector<std::vector<double>>& to, double factor, const arrays& y, const arrays& x) const {
    for (const auto t : e_.parts.shared_tensors)
      for (std::size_t i = 0; i < y[t].size(); ++i) to[t][i] += factor * (static_cast<double>(y[t][i]) - x[t][i]);
  }
  /// The model that a client trains from x.
  [[nodiscard]] arrays train(const arrays& x, const models::examples_view& data) const {
    auto y = x;
    for (std::uint32_t epoch = 0; epoch < e_.settings.client->epochs; ++epoch)
      for_batches(data, [&](const models::examples_view& batch) {
        auto g = gradient(y, batch);
        for (const auto t : e_.parts.shared_tensors) add(g[t], pull, drift[t]);
        // Rows that the client's examples do not name are not gathered.
        for (std::size_t t = 0; t < count(); ++t) add(y[t], -e_.settings.client->lr, g[t]);
      });
    fill_unnamed(y, x, data);
    return y;
  }
  /// Its pass over what it keeps. Returns the steps.
  double train_own(std::uint32_t client, const arrays& x, const models::examples_view& data) {
    auto& p = own.try_emplace(client, x).first->second;
    fill_unnamed(p, x, data);
    double steps = 0;
    for_batches(data, [&](const models::examples_view& batch) {
      auto g = gradient(p, batch);
      for (std::size_t t = 0; t < count(); ++t) {
        add(g[t], every::lambda, p[t]);
        add(g[t], -every::lambda, x[t]);
        add(p[t], -e_.settings.client->lr, g[t]);
      }
      ++steps;
    });
    fill_unnamed(p, x, data);
    auto& a = mix.try_emplace(client, 0.75F).first->second;
    a = 0.5F * a + 0.125F;
    return steps;
  }
  /// The shared tensors and the client's own user vector, trained before or first.
  [[nodiscard]] arrays received(std::uint32_t client) const {
    auto made = model;
    if (const auto at = kept_user.find(client); at != kept_user.end()) {
      made[user()] = at->second;
      return made;
    }
    models::private_parameters first(e_.parts.private_);
    federated::initial_private(e_, 0, client, first);
    const auto from = first.tensor(e_.parts.slots[user()].tensor);
    made[user()].assign(from.begin(), from.end());
    return made;
  }
  /// Rows that the client's train part does not name are the received ones.
  void fill_unnamed(arrays& p, const arrays& start, const models::examples_view& data) const {
    for (std::size_t t = 0; t < count(); ++t) {
      const auto& spec = (*e_.parts.model)[t];
      for (std::uint32_t row = 0; spec.index == models::row_index::by_feature && row < spec.rows; ++row)
        if (std::ranges::find(data.features, row) == data.features.end())
          std::copy_n(start[t].begin() + row * spec.cols, spec.cols, p[t].begin() + row * spec.cols);
    }
  }
  template <class Visit>
  void for_batches(const models::examples_view& data, const Visit& visit) const {
    const std::size_t size = e_.settings.client->batch_size;
    for (std::size_t first = 0; first < data.size(); first += size)
      visit(data.slice(first, std::min(first + size, data.size())));
  }
  [[nodiscard]] std::vector<models::tensor_view> views(const arrays& w) const {
    std::vector<models::tensor_view> made;
    for (std::size_t t = 0; t < count(); ++t)
      made.push_back({const_cast<float*>(w[t].data()), (*e_.parts.model)[t].rows, (*e_.parts.model)[t].cols});
    return made;
  }
  [[nodiscard]] arrays gradient(const arrays& w, const models::examples_view& batch) const {
    auto made = zeros(w);
    std::vector<float*> targets;
    for (auto& one : made) targets.push_back(one.data());
    std::vector<std::uint32_t> stamp(facts().features, 0);
    std::vector<std::uint32_t> touched(facts().features);
    models::gradient_views out{targets, {stamp.data(), touched.data(), 1, 0}, {}, nullptr};
    static_cast<void>(e_.model->gradient(views(w), batch, out));
    return made;
  }

  const federated::experiment& e_;
};

}  // namespace furlong::tests
