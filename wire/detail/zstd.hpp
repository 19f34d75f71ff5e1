// The values of a tensor as one zstd frame. Thread-safe: each thread keeps its own working memory.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::wire::detail {

/// Makes one frame that states the size of its content; empty when it would be no shorter than the content. The same
/// content gives the same frame with the same version of libzstd.
[[nodiscard]] std::vector<std::byte> deflate(std::span<const std::byte> content);

/// Fills `into` with the content of a frame. Errors name the field: the bytes are not exactly one frame, the frame does
/// not say that its content has the size of `into`, or it is damaged. Writes nowhere else and needs no memory that
/// grows with what a frame claims.
[[nodiscard]] result<void> inflate(std::string field, std::span<const std::byte> frame, std::span<std::byte> into);

/// Whether a frame says that its content has so many bytes: to be asked before memory is taken for them.
[[nodiscard]] result<void> check_content_size(std::string field, std::span<const std::byte> frame, std::size_t bytes);

}  // namespace furlong::wire::detail
