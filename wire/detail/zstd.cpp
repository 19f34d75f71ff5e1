#include "wire/detail/zstd.hpp"

#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>
#include <zstd.h>

#include "wire/detail/message_checker.hpp"

namespace furlong::wire::detail {

namespace {

// Floats of models hardly compress: higher levels cost much time and gain a percent.
constexpr int level = 3;

using compressor = std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)>;
using decompressor = std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)>;

// True if a frame has the format since zstd 0.8: the library would pass others to unmaintained decoders.
bool is_of_today(std::span<const std::byte> frame) {
  std::uint32_t magic = 0;
  if (frame.size() < sizeof magic) return false;
  std::memcpy(&magic, frame.data(), sizeof magic);
  return magic == ZSTD_MAGICNUMBER;
}

}  // namespace

std::vector<std::byte> deflate(std::span<const std::byte> content) {
  if (content.empty()) return {};
  thread_local const compressor work(ZSTD_createCCtx(), &ZSTD_freeCCtx);
  std::vector<std::byte> frame(content.size() - 1);  // one that is no shorter does not fit, which is an error to zstd
  const std::size_t size =
      ZSTD_compressCCtx(work.get(), frame.data(), frame.size(), content.data(), content.size(), level);
  if (ZSTD_isError(size) != 0) return {};
  frame.resize(size);
  return frame;
}

result<void> check_content_size(std::string field, std::span<const std::byte> frame, std::size_t bytes) {
  const unsigned long long claimed = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (!is_of_today(frame) || claimed == ZSTD_CONTENTSIZE_ERROR || claimed == ZSTD_CONTENTSIZE_UNKNOWN)
    return unexpected_content(std::move(field), "bytes that are no zstd frame with the size of its content", "one");
  if (claimed != bytes)
    return unexpected_content(std::move(field), "a zstd frame of " + std::to_string(claimed) + " bytes",
                              std::to_string(bytes));
  return {};
}

result<void> inflate(std::string field, std::span<const std::byte> frame, std::span<std::byte> into) {
  if (auto fits = check_content_size(field, frame, into.size()); !fits) return fits;
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size())
    return unexpected_content(std::move(field), std::to_string(frame.size()) + " bytes", "one whole zstd frame");
  thread_local const decompressor work(ZSTD_createDCtx(), &ZSTD_freeDCtx);
  const std::size_t size = ZSTD_decompressDCtx(work.get(), into.data(), into.size(), frame.data(), frame.size());
  if (ZSTD_isError(size) != 0 || size != into.size())
    return unexpected_content(std::move(field), "a damaged zstd frame", std::to_string(into.size()) + " bytes in it");
  return {};
}

}  // namespace furlong::wire::detail
