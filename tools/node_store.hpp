// The private store of a node, which outlives the servers that it works for.
#pragma once

#include <filesystem>
#include <memory>

#include "federated/experiment.hpp"
#include "federated/private_store.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::tools {

/// Opens or makes the store of a node's clients in `folder`; nothing is kept there where the algorithm is stateless.
/// Beside the values it remembers, in `covered.json`, the last durable checkpoint that the server told of: a run that
/// starts again from nothing has the id of the one before, and must not go on with its values.
/// Fails (kind usage) when the store is of another run, or of an earlier start of this one; and as stores do.
[[nodiscard]] result<std::shared_ptr<federated::private_store>> open_node_store(const federated::experiment& e,
                                                                                const std::filesystem::path& folder,
                                                                                const federated::protocol::welcome& got,
                                                                                std::uint32_t clients);

}  // namespace furlong::tools
