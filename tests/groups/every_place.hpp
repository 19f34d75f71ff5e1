// An algorithm of the tests that adds a group of tensors at each place. What it computes means nothing; plain_run.hpp
// computes the same on plain arrays.
//
//   client k, from x (received), its own p_k and a_k, and the server's drift d and pull s:
//     y <- x;  SGD steps  y <- y - eta (grad(y) + s d)
//     one pass  p_k <- p_k - eta (grad(p_k) + lambda (p_k - x)), starting at x; a_k <- a_k / 2 + 1/8
//     sends y - x; half of it as the change of d; how often it has each feature; the steps of its pass, by its examples
//   server: x += mean(y - x); d += mean; memory <- memory / 2 + mean(y - x); totals += sum of the features;
//     steps <- weighted mean of the steps; s <- 0.9 s
//   predictions of a client with state: weights a_k p_k + (1 - a_k) x
#pragma once

#include "federated/aggregation/server_view.hpp"
#include "federated/client/local_task.hpp"
#include "federated/client/personalization.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests {

namespace every {
enum group_number : std::size_t { own, pull, seen, drift, memory, mix, length, totals };
inline constexpr float lambda = 0.25F;
}  // namespace every

class every_place final : public federated::algorithm {
 public:
  [[nodiscard]] std::vector<federated::tensor_group> tensors(const models::model& model,
                                                             const models::partition& parts) const override {
    using federated::first_value;
    using federated::place;
    using federated::sum_rule;
    using models::row_index;
    std::uint32_t items = 0;
    for (const auto& spec : model.tensors()->tensors())
      if (spec.index == row_index::by_feature) items = spec.rows;
    return {
        {.name = "own", .where = place::kept, .copies_of = parts.all_tensors, .first = first_value::received},
        {.name = "pull",
         .where = place::broadcast,
         .specs = {{"rate"}},
         .first = first_value::constant,
         .constant = 0.5F,
         .exact = true},
        {.name = "seen",
         .where = place::report,
         .specs = {{"count", items, 1, row_index::by_feature}},
         .rule = sum_rule::sum,
         .max_norm = 4096,
         .exact = true},
        {.name = "drift", .where = place::shared, .copies_of = parts.shared_tensors},
        {.name = "memory", .where = place::server, .copies_of = parts.shared_tensors, .first = first_value::received},
        {.name = "mix", .where = place::kept, .specs = {{"share"}}, .first = first_value::constant, .constant = 0.75F},
        {.name = "length", .where = place::report, .specs = {{"steps"}}, .rule = sum_rule::mean, .max_norm = 64},
        {.name = "totals", .where = place::server, .specs = {{"count", items, 1, row_index::by_feature}, {"steps"}}}};
  }

  [[nodiscard]] std::uint64_t plan(const federated::run_settings& settings, std::uint64_t count) const override {
    return examples_in(count, federated::client_loop(settings)) + count;
  }

  void train(federated::local_task& task) const override {
    const auto& all = task.parts().all_tensors;
    const auto& shared = task.parts().shared_tensors;
    const auto loop = task.client_loop();
    const auto drift = task.group(every::drift);
    const float pull = *task.tensor(every::pull).data;
    const models::gradient_term term{pull, drift, shared};
    task.count(task.sgd(all, loop, {&term, 1}));
    const auto change = task.reported(every::drift);
    add(change, 0.5F, task.weights(), shared);
    add(change, -0.5F, task.received(), shared);

    const auto own = task.group(every::own);
    const auto gradient = task.scratch(0);
    const auto count = task.reported(every::seen, 0);
    auto pass = loop;
    pass.epochs = 1;
    const auto done = task.each_batch(pass, [&](const models::examples_view& batch) {
      const double loss = task.gradient(batch, own, all, gradient);
      add(gradient, every::lambda, own, all);
      add(gradient, -every::lambda, task.received(), all);
      add(own, -loop.step.rate, gradient, all);
      for (const auto feature : batch.features) count.data[feature] += 1.0F;
      return loss;
    });
    task.count_unweighted(done);
    auto& mix = *task.tensor(every::mix).data;
    mix = 0.5F * mix + 0.125F;
    *task.reported(every::length, 0).data = static_cast<float>(done.steps);
  }

  void step(federated::server_view& server, const federated::aggregate& of) const override {
    algorithm::step(server, of);
    *server.tensor(every::pull).data() *= 0.9F;
    for (std::size_t i = 0; i < server.e.groups[every::memory].count(); ++i) {
      const auto memory = server.tensor(every::memory, i);
      const auto change = of.change.tensor(i);
      for (std::size_t j = 0; j < memory.size(); ++j) memory[j] = 0.5F * memory[j] + change[j];
    }
    const auto counted = server.reported(of, every::seen);
    const auto totals = server.tensor(every::totals);
    for (std::size_t j = 0; j < totals.size(); ++j) totals[j] += counted[j];
    server.tensor(every::totals, 1)[0] = server.reported(of, every::length)[0];
  }

  federated::personal_source personalize(federated::personal_task& task,
                                         const federated::client_kind& who) const override {
    if (!who.has_state) return federated::personal_source::model;
    const auto& all = task.parts().all_tensors;
    const float mix = *task.tensor(every::mix).data;
    scale(task.weights(), 1.0F - mix, all);
    add(task.weights(), mix, task.group(every::own), all);
    return federated::personal_source::stored;
  }
};

inline void register_every_place() {
  federated::register_algorithm(
      {.kind = "every-place",
       .doc = "An algorithm of the tests.",
       .traits = {.private_tensors = federated::private_use::required, .keeps_state = true},
       .build = [](const option_values&) -> result<std::shared_ptr<const federated::algorithm>> {
         return std::make_shared<const every_place>();
       }});
}

/// All 17 training clients in each of four rounds.
[[nodiscard]] inline federated::run_settings every_place_settings() {
  register_every_place();
  federated::run_settings settings;
  settings.seed = 9;
  settings.rounds = 4;
  *settings.algorithm = federated::chosen_algorithm("every-place");
  *settings.client = {.lr = 0.05F, .epochs = 2, .batch_size = 3};
  settings.participation->per_round = 17;
  settings.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  return settings;
}

[[nodiscard]] inline federated::experiment every_place_experiment(const federated::run_settings& settings) {
  return make_experiment(settings, make_ratings(41), {{"item_bias", true}, {"mean", true}}, {"user"});
}

}  // namespace furlong::tests
