// Rows that few clients own (algorithm.aggregation.rows = "per-row"): items of a recommender, words of a vocabulary.
//
// A row of a tensor with a row for each feature or client is aggregated among the n_r clients whose updates change it.
// With a 0 for each of the others a rule of medians would never move a row that fewer than half of the clients have;
// without them it would leave a row of one client to that client. So:
//
//   n_r >= fewest(f):  the robust rule among these clients;
//   else:              sum over them of x min(1, c / |x|), divided by max(n_r, kappa).
//
// c is a quantile of the lengths of changed rows: of each client's rows first, then the median over clients, so that
// nobody counts more for naming more rows. f clients then move a row that few have by at most f c / max(n_r, kappa) in
// a version.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/options.hpp"
#include "federated/aggregation/robust/pipeline.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"

namespace furlong::federated::robust {

/// The keys rows, row_quantile and kappa.
[[nodiscard]] std::vector<option_spec> row_options();

class row_rule {
 public:
  row_rule(const option_values& options, const models::layout& shared);

  /// Sets the rows of the tensors that have a row for each feature or client; rows that no update changes stay.
  /// @param changes of the clients, in their order
  void aggregate(const pipeline& rule, std::span<const models::delta* const> changes, std::size_t bad,
                 models::shared_parameters& target) const;

 private:
  struct changed_row;
  void aggregate_tensor(std::size_t tensor, const pipeline& rule, std::span<const models::delta* const> changes,
                        std::size_t bad, std::span<float> target) const;
  [[nodiscard]] double longest(std::span<const changed_row> rows) const;

  const models::layout* shared_;
  double quantile_;
  std::size_t kappa_;
};

}  // namespace furlong::federated::robust
