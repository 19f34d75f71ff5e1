// The clients and their data.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/examples.hpp"
#include "models/model.hpp"

namespace furlong::federated {

/// A client's split of its examples. Clients held out from training ("unseen") may have all of them in `train`:
/// client/scored_examples.hpp says which are scored.
enum class part : std::uint8_t { train, validation, test };

/// All clients of a scenario. Immutable and thread-safe once built.
class population {
 public:
  virtual ~population() = default;

  [[nodiscard]] virtual models::data_facts facts() const = 0;
  /// Clients that may be selected for training, ascending.
  [[nodiscard]] virtual std::span<const std::uint32_t> training() const = 0;
  /// Clients held out from training, for choosing settings and for the final figures. Ascending.
  [[nodiscard]] virtual std::span<const std::uint32_t> unseen_validation() const = 0;
  [[nodiscard]] virtual std::span<const std::uint32_t> unseen_test() const = 0;
  /// One client's examples, always in the same order. The view looks into the population or into `scratch`.
  [[nodiscard]] virtual models::examples_view load(std::uint32_t client, part which,
                                                   models::examples& scratch) const = 0;
  /// Number of examples that load() returns, without loading them.
  [[nodiscard]] virtual std::uint32_t count(std::uint32_t client, part which) const {
    models::examples scratch;
    return static_cast<std::uint32_t>(load(client, which, scratch).size());
  }
  /// How far a client's labels are above or below those of other clients, as a standard normal score; used by the
  /// correlations of [devices]. 0 if labels have no such meaning.
  [[nodiscard]] virtual double taste(std::uint32_t /*client*/) const { return 0.0; }
  /// The dataset's own name for a client or a feature: "user 17", "Toy Story (1995)".
  [[nodiscard]] virtual std::string client_name(std::uint32_t client) const = 0;
  [[nodiscard]] virtual std::string feature_name(std::uint32_t feature) const = 0;
};

}  // namespace furlong::federated
