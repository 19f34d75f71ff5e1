// The noise that makes a round's aggregate private.
//
// A sum of clipped updates gets noise with z times the bound of clipping as deviation, on the server or, under secure
// aggregation, in shares on the clients (privacy.noise_at). The server's is made in one of two ways
// (privacy.mechanism):
//   gaussian  new noise in every round (DP-FedAvg; McMahan et al. 2018)
//   tree      the sum of all rounds so far gets noise, once per node of a binary tree over the rounds: a round gets the
//             noise of the node that it completes, less that of the nodes which this one replaces (DP-FTRL; Kairouz et
//             al. 2021, "Practical and private (deep) learning without sampling or shuffling", algorithm 1; the tree as
//             Dwork et al. 2010 have it, without variance reduction). A new tree begins after tree_rounds rounds, and
//             with a secret key also when a server is resumed, which has another key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// The number by which a noisy sum is divided: the planned cohort, which is public, and not the number of clients that
/// reported, which is private where they are drawn by themselves. 0: of a run without privacy.noise, under FedAsync, or
/// in a simulation of fixed cohorts whose noise is keyed by the seed: their sums are divided by their updates.
/// @param clients that train
[[nodiscard]] std::uint64_t public_divisor(const run_settings& settings, std::uint64_t clients);
/// Rounds with fewer updates are abandoned. Under privacy.noise a cohort that was drawn by coins releases its noisy sum
/// whatever it is: that nobody reported is private. So does each round of a tree, whose noise the next ones continue.
/// Where clients add the noise, it is the number of shares.
[[nodiscard]] std::size_t fewest_reports(const run_settings& settings);
/// Whether the server may keep the losses of single clients, in its ledger and what is made of it: not under
/// privacy.noise.
[[nodiscard]] bool keeps_client_losses(const run_settings& settings);

/// One draw of noise that a round adds or takes back: of a node of the tree, 2^level rounds that end with the one that
/// made version + 1. Without a tree, of the round alone.
struct noise_term {
  std::uint64_t version = 0;
  unsigned level = 0;
  int sign = 1;
  friend bool operator==(const noise_term&, const noise_term&) = default;
};
/// The noise of the round that starts from `version`.
/// @param began version from which this process goes on
[[nodiscard]] std::vector<noise_term> noise_terms(const privacy_settings& settings, std::uint64_t version,
                                                  std::uint64_t began);

/// The aggregate of a round's sum, which is emptied. With a secret key (privacy.noise_key) the noise is added here, on
/// the words: the discrete Gaussian (discrete_gaussian.hpp), its deviation enlarged by what rounding adds to a client's
/// share. Means are divided by public_divisor().
/// @param began version from which this process goes on
[[nodiscard]] aggregate report_sum(const experiment& e, const server_state& state, std::uint64_t began,
                                   accumulator& sum);

/// The noise that is keyed by the scenario's seed. [privacy] noise z: N(0, (z clip)^2) on the sum of the clipped
/// updates, so N(0, (z clip / count)^2) on their mean, times round.mixing. [algorithm] aggregation.noise with noise_at
/// = "server": N(0, noise^2) once after aggregation (FedAtt's published code). Reported added tensors get the same
/// noise; those of the rule `sum` get it on the sum, and what clients say of their norms its own (clipping.hpp).
void add_server_noise(const experiment& e, const server_state& state, aggregate& round);

/// Adds a client's share of the noise to the words of its own update, where clients add it; else nothing. The shares of
/// fewest_reports() clients are the whole noise. With `privacy.key` the share comes from a key that is drawn for it.
/// @param down what the client received
void add_client_noise(const experiment& e, const models::shared_parameters& down, const task_id& of, accumulator& sum);

/// Fails (kind usage) if the noise of these settings cannot be added: with a secret key to the words of sums of another
/// rule, or if it is too strong for them; or if adaptive clipping costs too much.
/// @param clients that train
[[nodiscard]] result<void> check_noise(const experiment& e, std::uint64_t clients);

}  // namespace furlong::federated
