// The numbers of broadcasts and updates as they travel when they are not plain floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"
#include "wire/message.hpp"

namespace furlong::wire::detail {

/// Why a message cannot be encoded.
[[nodiscard]] tl::unexpected<error> refuse(std::string field, std::string reason);
/// "update.tensors[2].rows".
[[nodiscard]] std::string field_of(std::size_t tensor, const char* part);

/// A changed row and where its values are in the update.
struct placed_row {
  std::uint32_t row;
  std::uint32_t place;
};
/// The changed rows of a tensor, in order. Refuses rows that do not exist or are listed twice.
[[nodiscard]] result<std::vector<placed_row>> sorted_rows(const models::delta& change, std::size_t tensor);

/// Numbers of one tensor or several, packed.
struct payload {
  std::vector<std::byte> bytes;
  bool zstd = false;  ///< the bytes are one zstd frame
};
/// All tensors of a model, one after another. Refuses numbers that were not rounded to the format.
[[nodiscard]] result<payload> pack_model(const models::shared_parameters& model, const packing& scheme);

struct packed_tensor {
  bool by_rows = false;
  std::vector<std::uint32_t> rows;  ///< sorted
  payload values;
};
/// One tensor of an update. Refuses as pack_model() and sorted_rows() do.
/// @pre the tensor's piece fits the layout
[[nodiscard]] result<packed_tensor> pack_tensor(const models::delta& change, std::size_t tensor, update_format format,
                                                const packing& scheme);

}  // namespace furlong::wire::detail
