// Reads files in RocksDB's log format (write-ahead logs and MANIFEST) and detects all damage.
//
// RocksDB can reject a damaged log, but does not report whose value was damaged, and takes a record whose changed
// length exceeds its file for an unfinished one. This reader distinguishes the two: an unfinished record is followed by
// nothing, and its checksum does not match the bytes that exist.
//
// Format: blocks of 32 KiB; in each, records of 4 bytes masked CRC-32C over type and payload, 2 bytes length, 1 byte
// type (1 whole; 2, 3, 4 first, middle, last fragment), payload. Fewer than 7 bytes at a block's end are zero.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::storage::detail {

struct log_damage {
  std::uint64_t offset = 0;  ///< byte in the file
  std::string reason;        ///< "checksum mismatch"
  std::string payload;       ///< readable part of the damaged record, from its start
};

struct log_scan {
  std::vector<log_damage> damages;
  bool torn = false;  ///< the file ends in an unfinished record, as after a crash during a write
};

/// Scans the content of a log file. Never fails: damage is reported in the result.
/// `each`: called with every valid record, its fragments joined.
[[nodiscard]] log_scan scan_log(std::string_view file, const std::function<void(std::string_view record)>& each = {});

}  // namespace furlong::storage::detail
