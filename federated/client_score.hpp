// What scoring one client gives.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace furlong::federated {

/// Whom a figure is about: unseen clients held out for validation, those that train, or unseen ones held out for test.
enum class group : std::uint8_t { validation, seen, unseen };

/// Sums over the scored examples of one client.
struct client_score {
  double squared_error = 0.0;  ///< of predictions against labels (ratings)
  double loss = 0.0;           ///< logistic loss, or squared error
  std::uint64_t correct = 0;   ///< |y - yhat| <= 0.5 for ratings; the right side of even odds for classes
  std::uint64_t examples = 0;
  std::vector<std::pair<float, bool>> odds;  ///< prediction and class, for the AUC; classes only
};

/// A client's score, with its name.
struct scored_client {
  group in = group::seen;
  std::uint32_t client = 0;
  client_score score;
};

}  // namespace furlong::federated
