// The bad clients of a run.
#pragma once

#include <cstdint>
#include <span>

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

}  // namespace furlong::federated
