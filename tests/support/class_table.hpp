// The smallest model that predicts classes: a table of log-odds, with a row for each feature. Predicts a sequence's
// next tokens, each from the one before it (a bigram model), or a text's class from its last token.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>

#include "models/model.hpp"
#include "models/parameters.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests {

class class_table final : public models::model {
 public:
  class_table(const models::data_facts& facts, bool drops = false)
      : facts_(facts),
        classes_(facts.labels == models::objective::next_token ? facts.words : facts.classes),
        drops_(drops),
        layout_(std::make_shared<models::layout>(
            std::vector<models::tensor_spec>{{"table", facts.features, classes_}, {"bias", 1, classes_}})) {}

  [[nodiscard]] std::string_view kind() const override { return "class-table"; }
  [[nodiscard]] const models::layout_ptr& tensors() const override { return layout_; }
  [[nodiscard]] models::objective objective() const override { return facts_.labels; }
  void initialize(std::size_t /*tensor*/, random_stream stream, std::span<float> values) const override {
    for (auto& value : values) value = stream.uniform(-0.5F, 0.5F);
  }

  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    ++(out.noise == nullptr ? steps_without_noise : steps_with_noise);
    for (std::size_t t = 0; t < 2; ++t)
      if (out.data[t] != nullptr) std::fill_n(out.data[t], weights[t].size(), 0.0F);
    double loss = 0.0;
    const auto total = static_cast<float>(predictions_in(batch));
    each_prediction(batch, [&](std::uint32_t from, std::uint32_t target) {
      const bool dropped = drops_ && out.noise != nullptr && out.noise->uniform() < 0.5F;
      auto odds = log_odds(weights, from);
      loss -= odds[target];
      for (std::uint32_t c = 0; c < classes_ && !dropped; ++c) {
        const float d = (std::exp(odds[c]) - (c == target ? 1.0F : 0.0F)) / total;
        if (out.data[0] != nullptr) out.data[0][std::size_t{from} * classes_ + c] += d;
        if (out.data[1] != nullptr) out.data[1][c] += d;
      }
    });
    return loss / static_cast<double>(total) * static_cast<double>(batch.size());
  }

  void predict(std::span<const models::tensor_view> weights, const models::examples_view& batch,
               std::span<float> out) const override {
    for (std::size_t i = 0; i < batch.size(); ++i)
      out[i] = static_cast<float>(likeliest(log_odds(weights, batch.features[batch.offsets[i + 1] - 1])));
  }

  void score(std::span<const models::tensor_view> weights, const models::examples_view& batch,
             models::class_scores& to) const override {
    each_prediction(batch, [&](std::uint32_t from, std::uint32_t target) {
      const auto odds = log_odds(weights, from);
      const bool right = likeliest(odds) == target;
      to.loss -= odds[target];
      ++to.predictions;
      to.correct += right ? 1 : 0;
      if (facts_.labels != models::objective::next_token || target == models::end_token) return;
      ++to.inside;
      to.inside_correct += right ? 1 : 0;
      if (target < models::first_word) return;
      ++to.words;
      to.words_correct += right ? 1 : 0;
    });
  }

  mutable std::atomic<int> steps_with_noise = 0;
  mutable std::atomic<int> steps_without_noise = 0;

 private:
  [[nodiscard]] std::size_t predictions_in(const models::examples_view& batch) const {
    std::size_t count = 0;
    each_prediction(batch, [&](auto, auto) { ++count; });
    return count;
  }

  template <class Visit>
  void each_prediction(const models::examples_view& batch, const Visit& visit) const {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto first = batch.offsets[i];
      const auto last = batch.offsets[i + 1];
      if (facts_.labels == models::objective::categorical) {
        visit(batch.features[last - 1], static_cast<std::uint32_t>(batch.labels[i]));
        continue;
      }
      for (auto at = first + 1; at < last; ++at) {
        const auto target = batch.features[at];
        visit(batch.features[at - 1], target < facts_.words ? target : std::uint32_t{models::unknown_token});
      }
    }
  }

  [[nodiscard]] std::vector<float> log_odds(std::span<const models::tensor_view> weights, std::uint32_t from) const {
    std::vector<float> odds(weights[0].row(from), weights[0].row(from) + classes_);
    double sum = 0.0;
    for (std::uint32_t c = 0; c < classes_; ++c) sum += std::exp(odds[c] += weights[1].data[c]);
    for (auto& value : odds) value -= static_cast<float>(std::log(sum));
    return odds;
  }

  [[nodiscard]] static std::uint32_t likeliest(const std::vector<float>& odds) {
    return static_cast<std::uint32_t>(std::ranges::max_element(odds) - odds.begin());
  }

  models::data_facts facts_;
  std::uint32_t classes_;
  bool drops_;
  models::layout_ptr layout_;
};

/// Adds one sentence, or one text with its class.
inline void add_text(models::examples& to, const std::vector<std::uint32_t>& tokens, float label = 0.0F) {
  if (to.offsets.empty()) to.offsets.push_back(0);
  to.features.insert(to.features.end(), tokens.begin(), tokens.end());
  to.offsets.push_back(static_cast<std::uint32_t>(to.features.size()));
  to.labels.push_back(label);
}

/// Sentences of few words (two of them unknown), in which every client has habits of its own, all keyed by the seed.
/// Each trains, and the last two clients are for validation and for test.
[[nodiscard]] inline std::shared_ptr<table_population> make_sentences(std::uint64_t seed, std::uint32_t clients = 8) {
  auto made = std::make_shared<table_population>();
  made->what = {10, clients, models::objective::next_token, 0, 8};
  for (std::uint32_t client = 0; client < clients; ++client) {
    random_stream stream(seed, purpose::test, 0, client);
    client_table table;
    for (auto* part : {&table.train, &table.test})
      for (std::uint32_t sentence = 0; sentence < 7; ++sentence) {
        std::vector<std::uint32_t> tokens{models::start_token};
        for (std::uint32_t n = 1 + stream.below(6); n > 0; --n)
          tokens.push_back(models::unknown_token + (stream.below(3) == 0 ? stream.below(8) : 1 + client % 4));
        tokens.push_back(models::end_token);
        add_text(*part, tokens);
      }
    (client + 2 < clients    ? made->seen
     : client + 2 == clients ? made->held_out_validation
                             : made->held_out_test)
        .push_back(client);
    made->tables.push_back(std::move(table));
  }
  return made;
}

/// A run of a class_table over `clients`.
[[nodiscard]] inline federated::experiment class_experiment(const federated::run_settings& settings,
                                                            std::shared_ptr<const federated::population> clients,
                                                            const std::vector<std::string>& private_names = {},
                                                            bool drops = false) {
  federated::experiment e;
  e.run = 4711;
  e.settings = settings;
  e.model = std::make_shared<class_table>(clients->facts(), drops);
  e.parts = models::split(e.model->tensors(), private_names).value();
  e.clients = clients;
  e.participants = clients;
  return e;
}

}  // namespace furlong::tests
