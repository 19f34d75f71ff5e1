// Checks of nodes that join a run: their private stores and data.
#pragma once

#include <optional>
#include <string>

#include "federated/experiment.hpp"
#include "federated/protocol/known_stores.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/protocol/server_state.hpp"
#include "federated/run_observer.hpp"

namespace furlong::federated::processes {

/// Why a node may not take part with its store; nullopt: it may.
[[nodiscard]] std::optional<std::string> unlike_store(const experiment& e, const protocol::server_state& state,
                                                      const protocol::known_stores& stores,
                                                      const protocol::client_range& clients,
                                                      const protocol::store_claim& claim);

/// The rejection of a node because of its store or its data; nullopt: it may take part.
[[nodiscard]] std::optional<protocol::displaced> refusal_of(const experiment& e, const protocol::server_state& state,
                                                            const protocol::known_stores& stores,
                                                            const protocol::attached& node);

/// Records the store of the node's clients. Returns the event to record if values are lost.
[[nodiscard]] std::optional<run_event> take_store(const experiment& e, const protocol::server_state& state,
                                                  protocol::known_stores& stores, const protocol::attached& node);

}  // namespace furlong::federated::processes
