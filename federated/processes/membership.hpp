// Checks of nodes that join a run: their private stores and data.
#pragma once

#include <optional>
#include <string>

#include "federated/experiment/experiment.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/rounds/run_observer.hpp"
#include "federated/state/known_stores.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated::processes {

/// Why a node may not take part with its store; nullopt: it may.
[[nodiscard]] std::optional<std::string> unlike_store(const experiment& e, const server_state& state,
                                                      const known_stores& stores, const client_range& clients,
                                                      const store_claim& claim);

/// The rejection of a node because of its store or its data; nullopt: it may take part.
[[nodiscard]] std::optional<protocol::displaced> refusal_of(const experiment& e, const server_state& state,
                                                            const known_stores& stores, const protocol::attached& node);

/// Records the store of the node's clients. Returns the event to record if values are lost.
[[nodiscard]] std::optional<run_event> take_store(const experiment& e, const server_state& state, known_stores& stores,
                                                  const protocol::attached& node);

}  // namespace furlong::federated::processes
