// The at-rest form of one private value. Internal to storage/: nothing outside may turn private values into bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/layout.hpp"
#include "storage/detail/digest.hpp"
#include "storage/detail/keys.hpp"
#include "storage/detail/lives.hpp"

namespace furlong::storage::detail {

/// What a record says, as a view into its bytes.
struct record_view {
  slot_tag tag;
  std::span<const float> values;
};

/// Encodes and decodes the records of one layout. The coder itself is immutable and thread-safe; `scratch` is not.
///
/// Of a tensor over all items a client has values in the rows of its own items alone. Where less than half would be
/// left without them, rows of zeros are not stored.
class record_coder {
 public:
  /// Working space, kept from call to call so that none allocates.
  struct scratch {
    std::vector<std::uint64_t> words;  ///< a record, aligned
    std::vector<float> values;         ///< those of a record without rows of zeros: all of them, or the rows stored
    std::vector<std::uint8_t> rows;    ///< a bit for each row of the layout: it is stored
  };

  /// With `keys`, the checksum of a record is keyed: who does not have the key can make no record that passes.
  record_coder(const models::layout& layout, std::uint64_t layout_hash, keys_ptr keys = nullptr);

  /// The bytes of a record, in `space`. values.size() is the layout's size.
  [[nodiscard]] std::string_view encode(std::uint32_t client, const slot_tag& tag, std::span<const float> values,
                                        scratch& space) const;
  /// Checks every bit of a record and reads it; the view points into `space`. The failed alternative says what is wrong
  /// in a half-sentence: "the checksum does not fit".
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

/// The client that a record names, however damaged the rest of it may be; for saying whose record it was.
[[nodiscard]] std::optional<std::uint32_t> named_client(std::string_view record);

}  // namespace furlong::storage::detail
