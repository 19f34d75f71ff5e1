// The private store of a node, which outlives the servers that it works for.
#pragma once

#include <filesystem>
#include <memory>

#include "federated/experiment.hpp"
#include "federated/private_store.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::tools {

/// Finds what is wrong with a store without knowing the run: another process uses it, or its key is not `key_file`'s. A
/// folder that has no store is none of these. Fails as stores do.
[[nodiscard]] result<void> check_node_store(const std::filesystem::path& folder, const std::filesystem::path& key_file);

/// Opens or makes the store of a node's clients in `folder`; nothing is kept there where the algorithm is stateless.
/// Beside the values it remembers, in `start.json`, of which start of the run they are (welcome::start_id).
/// Fails (kind usage) when the store is of another run, or has values of another start of this one, or the folder has
/// something else in it; and as stores do.
[[nodiscard]] result<std::shared_ptr<federated::private_store>> open_node_store(const federated::experiment& e,
                                                                                const std::filesystem::path& folder,
                                                                                const federated::protocol::welcome& got,
                                                                                std::uint32_t clients);

}  // namespace furlong::tools
