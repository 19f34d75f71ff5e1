// Settings of private values and of their store.
#pragma once

#include <cstdint>
#include <string>

namespace furlong::federated {

enum class cold_start_kind : std::uint8_t { initial, reconstruct };
/// When a client keeps the private values that it trained: at the end of training, or once the server has taken its
/// update into a new model.
enum class commit_kind : std::uint8_t { after_training, after_ack };
enum class layout_kind : std::uint8_t { per_client, bucketed };

/// [private]
struct private_settings {
  cold_start_kind cold_start = cold_start_kind::initial;  ///< of a client without stored values
  commit_kind commit = commit_kind::after_training;
  layout_kind layout = layout_kind::per_client;  ///< of the store: a column family per client or per bucket of clients
  std::uint32_t open_shards = 64;                ///< of the store: databases held open at once
  std::string key_file;                          ///< of the store: encrypts it; empty: it is not encrypted
};

}  // namespace furlong::federated
