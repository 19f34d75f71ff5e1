// A run in which some of the training clients are bad, and what it makes of the others' predictions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "tests/campaigns/bad_updates.hpp"

namespace furlong::campaigns {

/// One client's test examples.
struct client_errors {
  std::uint32_t client = 0;
  double squared_error = 0.0;
  std::uint64_t correct = 0;
  std::uint64_t examples = 0;
  std::optional<bool> recommended = {};  ///< the promoted item is among its ten best; nothing if it has rated it
};

/// Outcomes of the updates of the bad clients, or of the honest ones.
struct update_counts {
  std::uint64_t accepted = 0;
  std::uint64_t refused = 0;
  std::uint64_t not_finite = 0;  ///< of these
};

struct run_result {
  std::vector<client_errors> clients;  ///< all training clients
  bool diverged = false;
  update_counts bad;
  update_counts honest;
  std::uint64_t abandoned = 0;  ///< rounds
};

/// Runs the rounds of an experiment, one client at a time. The honest clients of a cohort train first: the bad ones
/// know their updates. Thread-safe.
[[nodiscard]] run_result attacked_run(const federated::experiment& e, const std::set<std::uint32_t>& bad,
                                      const attack_variant& how, const target_features& targets);

/// The errors of a prediction that is the same for everybody: the mean label of the training examples, or the most
/// frequent one.
[[nodiscard]] std::vector<client_errors> constant_prediction(const federated::experiment& e);

/// Figures over the clients that are not in `bad`.
struct honest_figures {
  double rmse = 0.0;
  double accuracy = 0.0;
  double recommended = 0.0;  ///< the share of those who have not rated the promoted item whose ten best contain it
};
[[nodiscard]] honest_figures figures_of(const std::vector<client_errors>& clients, const std::set<std::uint32_t>& bad);

/// The first cohort of a run.
[[nodiscard]] std::vector<std::uint32_t> first_cohort(const federated::experiment& e);

}  // namespace furlong::campaigns
