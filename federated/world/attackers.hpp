// The bad clients of a run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/experiment/client_groups.hpp"
#include "federated/experiment/client_set.hpp"

namespace furlong::federated {

struct experiment;
struct run_settings;

/// Those of the settings: listed, or drawn once among the clients that train, by the seed. A share is rounded, and at
/// least one client. Empty without an attack.
/// @param training ascending
[[nodiscard]] client_set draw_attackers(const run_settings& settings, std::span<const std::uint32_t> training);

/// True if this client is a bad one in a round that starts from this version.
[[nodiscard]] bool is_attacked_by(const experiment& run, std::uint64_t version, std::uint32_t client);

/// The clients that are not bad, in their order.
[[nodiscard]] std::vector<std::uint32_t> honest_among(const experiment& run, std::span<const std::uint32_t> clients);

/// Divides figures by who attacks: the groups of the honest clients, "honest" without others, and a last one of the bad
/// ones, "bad".
/// @param groups of all clients, or null
[[nodiscard]] client_groups divide_by_attack(const client_groups* groups, const client_set& bad, std::uint32_t clients);

}  // namespace furlong::federated
