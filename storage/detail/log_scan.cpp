#include "storage/detail/log_scan.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <rocksdb/file_checksum.h>

namespace furlong::storage::detail {

namespace {

constexpr std::size_t block = 32768;
constexpr std::size_t head = 7;
enum fragment : std::uint8_t { whole = 1, first = 2, middle = 3, last = 4 };

std::uint32_t masked_crc(std::string_view type_and_payload) {
  static const auto factory = rocksdb::GetFileChecksumGenCrc32cFactory();
  const auto generator = factory->CreateFileChecksumGenerator({});
  generator->Update(type_and_payload.data(), type_and_payload.size());
  generator->Finalize();
  std::uint32_t crc = 0;
  for (const char byte : generator->GetChecksum()) crc = (crc << 8U) | static_cast<unsigned char>(byte);
  return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U;
}

bool all_zero(std::string_view bytes) {
  return std::ranges::all_of(bytes, [](char c) { return c == '\0'; });
}

/// The header at `at`; requires `head` bytes there.
struct header {
  std::uint32_t crc = 0;
  std::size_t length = 0;
  std::uint8_t type = 0;

  header(std::string_view file, std::size_t position) : type(static_cast<std::uint8_t>(file[position + 6])) {
    std::memcpy(&crc, file.data() + position, sizeof crc);
    length = static_cast<unsigned char>(file[position + 4]) +
             (std::size_t{static_cast<unsigned char>(file[position + 5])} << 8U);
  }
  [[nodiscard]] bool known() const { return type >= whole && type <= last; }
};

class scanner {
 public:
  scanner(std::string_view file, const std::function<void(std::string_view)>& each) : file_(file), each_(each) {}

  log_scan run() {
    while (position_ < file_.size() && !done_) step();
    if (open_ && !done_) found_.torn = true;  // fragments without a last one
    return std::move(found_);
  }

 private:
  [[nodiscard]] std::size_t block_end() const { return std::min((position_ / block + 1) * block, file_.size()); }
  [[nodiscard]] bool in_last_block() const { return (position_ / block + 1) * block >= file_.size(); }

  [[nodiscard]] bool valid_at(std::size_t position, std::size_t end) const {
    if (position + head > end) return false;
    const header h(file_, position);
    return h.known() && position + head + h.length <= end &&
           masked_crc(file_.substr(position + 6, 1 + h.length)) == h.crc;
  }
  /// The next valid record in this block after `start`.
  [[nodiscard]] std::optional<std::size_t> next_valid(std::size_t start) const {
    for (auto position = start; position + head <= block_end(); ++position)
      if (valid_at(position, block_end())) return position;
    return std::nullopt;
  }

  void damage(const std::string& reason, std::string_view payload) {
    found_.damages.push_back({position_, reason, collected_ + std::string(payload)});
    collected_.clear();
    open_ = false;
    lost_ = true;
  }

  void step() {
    const auto end = block_end();
    if (end - position_ < head) return trailer(end);
    const header h(file_, position_);
    if (h.type == 0 && h.length == 0 && all_zero(file_.substr(position_))) return tear();
    if (position_ + head + h.length > end) return overlong(end);
    const auto payload = file_.substr(position_ + head, h.length);
    if (masked_crc(file_.substr(position_ + 6, 1 + h.length)) != h.crc) {
      damage("checksum mismatch", payload);
      const auto behind = position_ + head + h.length;
      position_ = valid_at(behind, end) || behind == end ? behind : next_valid(position_ + 1).value_or(end);
      return;
    }
    if (!h.known()) {
      damage("unknown record type", payload);
    } else {
      follow(h, payload);
    }
    position_ += head + h.length;
  }

  /// The padding at a block's end.
  void trailer(std::size_t end) {
    if (end % block != 0) return tear();
    if (!all_zero(file_.substr(position_, end - position_))) damage("padding is not zero", {});
    position_ = end;
  }

  /// A record whose length exceeds the remaining bytes.
  void overlong(std::size_t end) {
    const auto rest = file_.substr(position_ + head, end - position_ - head);
    const bool length_changed =
        masked_crc(file_.substr(position_ + 6, 1 + rest.size())) == header(file_, position_).crc;
    const auto behind = length_changed ? std::nullopt : next_valid(position_ + 1);
    if (in_last_block() && !length_changed && !behind) return tear();
    damage("length exceeds the block", rest);
    position_ = behind.value_or(end);
  }

  void tear() {
    found_.torn = true;
    done_ = true;
  }

  /// Joins the fragments of a record.
  void follow(const header& h, std::string_view payload) {
    const bool begins = h.type == whole || h.type == first;
    if (begins && open_) damage("a record is incomplete", {});
    if (!begins && !open_) {
      if (!lost_) damage("a record lacks its first fragment", payload);
      return;  // a consequence of the damage before
    }
    if (begins) collected_.clear();
    lost_ = false;
    open_ = h.type == first || h.type == middle;
    if (open_) {
      collected_ += payload;
      return;
    }
    if (each_) each_(collected_.empty() ? payload : std::string_view(collected_ += payload));
    collected_.clear();
  }

  std::string_view file_;
  const std::function<void(std::string_view)>& each_;
  std::size_t position_ = 0;
  std::string collected_;  // payload of the fragments so far
  bool open_ = false;      // a first fragment awaits its last one
  bool lost_ = false;      // the first fragment was damaged; its successors may follow
  bool done_ = false;
  log_scan found_;
};

}  // namespace

log_scan scan_log(std::string_view file, const std::function<void(std::string_view record)>& each) {
  return scanner(file, each).run();
}

}  // namespace furlong::storage::detail
