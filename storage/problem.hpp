// Damage that was found in a private store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace furlong::storage {

struct store_problem {
  std::uint32_t shard = 0;
  std::optional<std::uint32_t> client;  ///< whose value it is, where that can be told
  std::string file;                     ///< inside the store's folder; empty when no single file is meant
  std::string reason;                   ///< "the log is damaged at byte 4096: checksum does not fit"

  /// One line: "shard 3, client 17, shard-0003.g0/000008.log: ...".
  [[nodiscard]] std::string text() const {
    return "shard " + std::to_string(shard) + (client ? ", client " + std::to_string(*client) : std::string()) +
           (file.empty() ? std::string() : ", " + file) + ": " + reason;
  }
};

}  // namespace furlong::storage
