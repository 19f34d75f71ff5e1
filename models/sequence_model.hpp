// Shared by the models of token sequences: options for widths, and selection of gradients.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "models/layers/arena.hpp"
#include "models/layers/packed_sequences.hpp"
#include "models/model.hpp"

namespace furlong::models {

/// An option for the width of a layer, at least 1.
[[nodiscard]] option_spec width_option(std::string name, std::int64_t fallback, std::string doc);
[[nodiscard]] std::uint32_t width_of(const option_values& options, std::string_view name);

/// True if the gradient of one of the tensors first, ..., last - 1 is computed.
[[nodiscard]] bool any_trained(const gradient_views& out, std::size_t first, std::size_t last);
/// Writes the gradient of a batch that predicts nothing.
void zero_gradients(std::span<const tensor_view> weights, const gradient_views& out);

/// The row of each sequence's last step, in the order of places; zeros for an empty sequence. of: rows x cols, packed.
[[nodiscard]] tensor_view last_rows(const packed_sequences& packed, const tensor_view& of, arena& memory);

}  // namespace furlong::models
