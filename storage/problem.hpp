// A problem of a private store: damage, or a file that cannot be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"

namespace furlong::storage {

struct store_problem {
  std::uint32_t shard = 0;
  std::optional<std::uint32_t> client;  ///< owner of the value, if known
  std::string file;                     ///< inside the store's folder; empty if the problem is not about one file
  std::string reason;                   ///< "the log is damaged at byte 4096: checksum does not fit"
  /// Kind runtime: the file may be intact, but cannot be read at present.
  error::kind what = error::kind::data;

  /// One line: "shard 3, client 17, shard-0003.g0/000008.log: ...".
  [[nodiscard]] std::string text() const {
    return "shard " + std::to_string(shard) + (client ? ", client " + std::to_string(*client) : std::string()) +
           (file.empty() ? std::string() : ", " + file) + ": " + reason;
  }
};

}  // namespace furlong::storage
