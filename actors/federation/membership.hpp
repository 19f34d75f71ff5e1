// Who may take part in a run with what it has: kernels, and private stores.
#pragma once

#include <optional>
#include <string>

#include "actors/federation/interfaces.hpp"
#include "federated/protocol/known_stores.hpp"

namespace furlong::actors::federation {

/// Why a node must not take part with its store; nothing: it may.
[[nodiscard]] std::optional<std::string> unlike_store(const federated::experiment& e,
                                                      const protocol::server_state& state,
                                                      const protocol::known_stores& stores,
                                                      const protocol::client_range& clients,
                                                      const protocol::store_claim& claim);

/// What a node is told that must not take part with its store or its data; nothing: it may.
[[nodiscard]] std::optional<protocol::displaced> refusal_of(const federated::experiment& e,
                                                            const protocol::server_state& state,
                                                            const protocol::known_stores& stores,
                                                            const protocol::attached& node);

/// From now on that is the store of the node's clients. Where values are lost by it: what to write down.
[[nodiscard]] std::optional<federated::run_event> take_store(const federated::experiment& e,
                                                             const protocol::server_state& state,
                                                             protocol::known_stores& stores,
                                                             const protocol::attached& node);

}  // namespace furlong::actors::federation
