// Evaluations of matrix factorization of rank 1 for tests.
#pragma once

#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <vector>

#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

namespace furlong::tests {

/// `reconstruct`: the tensors of unseen clients that are reconstructed.
[[nodiscard]] inline federated::experiment experiment_of(std::string_view kind,
                                                         const std::vector<std::string>& reconstruct,
                                                         const std::shared_ptr<const federated::population>& clients) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind);
  settings.client->batch_size = 1;
  *settings.reconstruction = {.solver = federated::solver_kind::least_squares, .ridge = 0.5F};
  settings.evaluation->reconstruct = reconstruct;
  const std::vector<std::string> own = kind == "fedavg" ? std::vector<std::string>{} : std::vector<std::string>{"user"};
  return make_experiment(settings, clients, {{"rank", std::int64_t{1}}}, own);
}

/// All clients of an evaluation scored, in order or from the last to the first.
[[nodiscard]] inline federated::evaluation_report report_of(const federated::experiment& e,
                                                            const models::shared_parameters& model,
                                                            federated::private_store* store = nullptr,
                                                            bool backwards = false) {
  federated::evaluation scores(e, {7, model}, store);
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i)
    BOOST_REQUIRE(scores.score(backwards ? scores.size() - 1 - i : i, use));
  return scores.report();
}

/// 260 training clients and 140 others.
inline constexpr ratings_shape crowd = {.clients = 400, .unseen_validation = 60, .unseen_test = 80, .empty = 0};

}  // namespace furlong::tests
