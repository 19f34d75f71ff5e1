// What a node remembers from one start to the next: `node.json`, beside the private values in its store's folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/protocol/store_claim.hpp"

namespace furlong::tools {

struct node_record {
  std::uint64_t start_id = 0;  ///< start of the run that the node took part in last (welcome::start_id)
  std::uint64_t life = 0;      ///< of the run, that it took part in last (run_history::id())
  std::uint64_t store = 0;     ///< store_claim: the store's random id; 0: no values are kept
  std::uint64_t openings = 0;
  std::uint64_t served = 0;
  federated::protocol::client_range clients;  ///< whose values they are
  std::string data_sha256;                    ///< of their data (data_digest.hpp); empty: generated
};

[[nodiscard]] std::filesystem::path node_record_file(const std::filesystem::path& folder);
/// Nothing where there is none. Fails (kind data) when it is damaged.
[[nodiscard]] result<std::optional<node_record>> read_node_record(const std::filesystem::path& folder);
/// Makes the folder, too. Durable on return.
[[nodiscard]] result<void> write_node_record(const std::filesystem::path& folder, const node_record& record);

}  // namespace furlong::tools
