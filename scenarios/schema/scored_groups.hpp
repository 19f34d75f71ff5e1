// Who of the data is scored: what a scenario asks of the groups of the evaluation, against what its data have.
#pragma once

#include <span>
#include <string>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// An error of kind usage about a key, with the place where the scenario has it.
[[nodiscard]] tl::unexpected<error> refuse(const scenario& of, const std::string& key, std::string why,
                                           std::string mend);

/// The most examples in the first part that one of these clients has.
[[nodiscard]] std::uint32_t most_examples(const federated::population& clients, std::span<const std::uint32_t> who);

/// What a run goes by must have somebody to score, which only the data can tell where it may bring parts of its own.
[[nodiscard]] result<void> check_groups(const scenario& of, const dataset& data);
/// Notes about who is scored; one for all where the source could not tell beforehand that nobody is.
void note_unscored(scenario& of, const dataset& data);

}  // namespace furlong::scenarios
