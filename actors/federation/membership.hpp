// Checks of nodes that join a run: their private stores and data.
#pragma once

#include <optional>
#include <string>

#include "actors/federation/interfaces.hpp"
#include "federated/state/known_stores.hpp"

namespace furlong::actors::federation {

/// Why a node may not take part with its store; nullopt: it may.
[[nodiscard]] std::optional<std::string> unlike_store(const federated::experiment& e,
                                                      const federated::server_state& state,
                                                      const federated::known_stores& stores,
                                                      const federated::client_range& clients,
                                                      const federated::store_claim& claim);

/// The rejection of a node because of its store or its data; nullopt: it may take part.
[[nodiscard]] std::optional<protocol::displaced> refusal_of(const federated::experiment& e,
                                                            const federated::server_state& state,
                                                            const federated::known_stores& stores,
                                                            const protocol::attached& node);

/// Records the store of the node's clients. Returns the event to record if values are lost.
[[nodiscard]] std::optional<federated::run_event> take_store(const federated::experiment& e,
                                                             const federated::server_state& state,
                                                             federated::known_stores& stores,
                                                             const protocol::attached& node);

}  // namespace furlong::actors::federation
