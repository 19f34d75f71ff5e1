// Checks that the evaluation groups of a scenario have clients in its data.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// An error of kind usage about a key, with its place in the scenario.
[[nodiscard]] tl::unexpected<error> refuse(const scenario& run, const std::string& key, std::string why,
                                           std::string fix);

/// The largest first part of these clients, in examples.
[[nodiscard]] std::uint32_t most_examples(const federated::population& clients, std::span<const std::uint32_t> members);

/// The groups that a run depends on must have clients to score, which may be known only from the data.
[[nodiscard]] result<void> check_groups(const scenario& run, const dataset& data);
/// Notes about scored groups; a single one if nothing is scored.
void note_unscored(scenario& run, const dataset& data);

// Tensors of the built-in models that describe one client, and are proposed as private in messages. Any tensor may be
// private.

/// A tensor that describes one client.
struct personal_tensor {
  std::string_view model;    ///< its kind
  std::string_view name;     ///< of the tensor
  std::string_view setting;  ///< the scenario line that enables this tensor
};

/// All of them; those of a model in the order in which they are proposed.
[[nodiscard]] std::span<const personal_tensor> personal_tensors();

}  // namespace furlong::scenarios
