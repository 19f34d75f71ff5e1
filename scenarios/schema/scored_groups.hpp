// Who of the data is scored: what a scenario asks of the groups of the evaluation, against what its data have.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// An error of kind usage about a key, with the place where the scenario has it.
[[nodiscard]] tl::unexpected<error> refuse(const scenario& of, const std::string& key, std::string why,
                                           std::string fix);

/// The most examples in the first part that one of these clients has.
[[nodiscard]] std::uint32_t most_examples(const federated::population& clients, std::span<const std::uint32_t> who);

/// What a run goes by must have somebody to score, which only the data can tell where it may bring parts of its own.
[[nodiscard]] result<void> check_groups(const scenario& of, const dataset& data);
/// Notes about who is scored; one for all where the source could not tell beforehand that nobody is.
void note_unscored(scenario& of, const dataset& data);

// Which tensors of the built-in models describe one client, and so may usefully be private. Any tensor may be private;
// these are what messages propose.

/// A tensor that describes one client.
struct personal_tensor {
  std::string_view model;    ///< its kind
  std::string_view name;     ///< of the tensor
  std::string_view setting;  ///< what gives the model this tensor, as a line of a scenario
};

/// All of them, those of a model in the order in which they are proposed.
[[nodiscard]] std::span<const personal_tensor> personal_tensors();

}  // namespace furlong::scenarios
