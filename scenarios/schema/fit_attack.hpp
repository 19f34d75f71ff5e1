// The parts of [attack] that depend on the data.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace furlong::scenarios {

struct dataset;
struct scenario;

/// Fails if bad clients are named that do not train, or more than there are, or if the algorithm's updates have nothing
/// that the attack changes.
[[nodiscard]] result<void> check_attackers(const scenario& fitted, std::span<const std::uint32_t> training);
/// Finds the features that the attack names, by ids of items or words, and checks its values against the data.
[[nodiscard]] result<void> settle_attack(scenario& fitted, const dataset& data);
/// Notes how likely a round has more bad updates than a robust rule tolerates, if its reports are a uniform draw of the
/// training clients. Not where the policy draws how many they are.
void note_attackers(scenario& fitted, std::span<const std::uint32_t> training);

/// The probability that of `drawn` among `clients`, of which `bad` are bad, more than `most` are bad (hypergeometric).
[[nodiscard]] double odds_of_more(std::uint64_t clients, std::uint64_t bad, std::uint64_t drawn, std::uint64_t most);

}  // namespace furlong::scenarios
