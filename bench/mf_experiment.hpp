// The matrix factorization of the FedRecon paper with its published settings, assembled for the benchmarks.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::bench {

/// The clients and their source.
struct ratings {
  std::string source;  ///< "ml-1m" or "synthetic"
  std::shared_ptr<const federated::population> clients;
};

/// MovieLens-1M from $FURLONG_DATA, ./data or ../shared/data; otherwise synthetic ratings of about its shape (6,040
/// users, 3,706 items, 166 ratings per user, a power law of popularity). Fails if a copy is damaged.
[[nodiscard]] result<ratings> load_ratings();

/// FedRecon's published settings (rank 50, batches of 5, 100 clients a round) on these clients, evaluated at the end.
[[nodiscard]] result<federated::experiment> published_fedrecon(const ratings& from, std::uint64_t seed,
                                                               std::uint64_t rounds);

/// Writes the inputs and results for another program that does the same work, as little-endian arrays and `facts.json`:
/// ratings, test clients, the initial model, every cohort with its clients' initial private values, the loss of each
/// round and the final test error. Runs the reference loop.
[[nodiscard]] result<void> dump_work(const federated::experiment& e, const std::filesystem::path& folder);

}  // namespace furlong::bench
