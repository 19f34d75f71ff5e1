// Serialization of one private value on disk. Internal to storage/: no other folder may serialize private values.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.hpp"
#include "models/layout.hpp"
#include "storage/detail/incarnations.hpp"
#include "storage/detail/keys.hpp"

namespace furlong::storage::detail {

/// The content of a record, as a view of its bytes.
struct record_view {
  slot_tag tag;
  std::span<const float> values;
};

/// Encodes and decodes the records of one layout. The coder itself is immutable and thread-safe; `scratch` is not.
///
/// In a tensor over all items, a client has values only in the rows of its own items. If omitting rows of zeros more
/// than halves the record, they are not stored.
class record_coder {
 public:
  /// Buffers, reused by calls to avoid allocation.
  struct scratch {
    std::vector<std::uint64_t> words;  ///< a record, aligned
    std::vector<float> values;         ///< the stored values: all of them, or those of the stored rows
    std::vector<std::uint8_t> rows;    ///< a bit for each row of the layout: 1 if stored
  };

  /// With `keys`, the checksum of a record is keyed: without the key no valid record can be made.
  record_coder(const models::layout& layout, std::uint64_t layout_hash, keys_ptr keys = nullptr);

  /// The bytes of a record, in `space`. values.size() is the layout's size.
  [[nodiscard]] std::string_view encode(std::uint32_t client, const slot_tag& tag, std::span<const float> values,
                                        scratch& space) const;
  /// Checks every bit of a record and reads it; the view refers to `space`. The error is a half-sentence that names the
  /// reason: "the record's checksum does not match its content".
  [[nodiscard]] tl::expected<record_view, std::string> decode(std::uint32_t client, std::string_view bytes,
                                                              scratch& space) const;
  /// Bytes of the record of these values.
  [[nodiscard]] std::size_t record_bytes(std::span<const float> values, scratch& space) const;
  /// Bytes of the longest record of this layout.
  [[nodiscard]] std::size_t record_bytes() const { return 8 * words_; }

 private:
  [[nodiscard]] digest checksum(std::span<const std::uint64_t> content) const;
  [[nodiscard]] bool leave_zeros_out(std::span<const float> values, scratch& space) const;
  [[nodiscard]] bool put_zeros_in(std::span<const std::byte> stored, scratch& space) const;

  struct rows_of_tensor {
    std::uint32_t rows;
    std::uint32_t cols;
  };
  std::vector<rows_of_tensor> tensors_;
  std::size_t rows_ = 0;
  std::size_t values_ = 0;
  std::uint64_t layout_hash_ = 0;
  std::size_t words_ = 0;
  keys_ptr keys_;
};

/// The first 8 bytes of a digest as a little-endian number: the hash of a layout in its records.
[[nodiscard]] std::uint64_t short_form(const digest& content);
/// The client that a record names, even if other parts of it are damaged.
[[nodiscard]] std::optional<std::uint32_t> named_client(std::string_view record);

}  // namespace furlong::storage::detail
