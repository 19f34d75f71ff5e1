// Reads the files that RocksDB writes in its log format (write-ahead logs and MANIFEST) and finds every damage in them.
//
// RocksDB can refuse a damaged log, but not say whose value was hit, and where a changed length makes a record reach
// over the end of its file it takes it for one that was not finished. This reader tells the two apart: what follows an
// unfinished record is nothing, and its checksum does not fit what is there.
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
  std::string reason;        ///< "checksum does not fit"
  std::string payload;       ///< what can be read of the record that was hit, from its start
};

struct log_scan {
  std::vector<log_damage> damages;
  bool torn = false;  ///< the file ends in an unfinished record, as after a crash in mid-write
};

/// Scans the content of a log file. Never fails: whatever the bytes are, the answer says what is wrong with them.
/// `each`: called with every sound record, its fragments put together.
[[nodiscard]] log_scan scan_log(std::string_view file, const std::function<void(std::string_view record)>& each = {});

}  // namespace furlong::storage::detail
