// Little-endian numbers and byte strings in the letters of secure aggregation.
#pragma once

#include <cstring>

#include "base/crypto.hpp"

namespace furlong::federated::privacy::detail {

class byte_writer {
 public:
  template <class Number>
  byte_writer& number(Number value) {
    const auto at = out_.size();
    out_.resize(at + sizeof value);
    std::memcpy(out_.data() + at, &value, sizeof value);
    return *this;
  }
  byte_writer& raw(crypto::bytes_view from) {
    out_.insert(out_.end(), from.begin(), from.end());
    return *this;
  }
  /// In groups of seven bits, the lowest first.
  byte_writer& short_number(std::uint32_t value) {
    for (; value >= 0x80U; value >>= 7U) out_.push_back(static_cast<std::uint8_t>(value | 0x80U));
    out_.push_back(static_cast<std::uint8_t>(value));
    return *this;
  }
  /// After its length.
  byte_writer& text(crypto::bytes_view from) { return number(static_cast<std::uint32_t>(from.size())).raw(from); }
  [[nodiscard]] crypto::bytes take() { return std::move(out_); }

 private:
  crypto::bytes out_;
};

/// Reads what a byte_writer wrote. Beyond the end everything is 0 or empty, and done() is false.
class byte_reader {
 public:
  explicit byte_reader(crypto::bytes_view from) : rest_(from) {}
  template <class Number>
  Number number() {
    Number value{};
    const auto bytes = raw(sizeof value);
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  std::uint32_t short_number() {
    std::uint64_t value = 0;
    for (std::uint32_t shift = 0; shift < 35; shift += 7) {
      const auto part = number<std::uint8_t>();
      value |= std::uint64_t{part & 0x7fU} << shift;
      if (part < 0x80U) break;
    }
    if (value > UINT32_MAX) short_ = true;
    return static_cast<std::uint32_t>(value);
  }
  crypto::bytes_view raw(std::size_t size) {
    if (size > rest_.size()) {
      short_ = true;
      rest_ = {};
      return {};
    }
    const auto found = rest_.first(size);
    rest_ = rest_.subspan(size);
    return found;
  }
  template <std::size_t Size>
  void array(std::array<std::uint8_t, Size>& into) {
    if (const auto found = raw(Size); found.size() == Size) std::memcpy(into.data(), found.data(), Size);
  }
  crypto::bytes_view text() { return raw(number<std::uint32_t>()); }
  /// The number of entries of a list whose entries have at least so many bytes.
  std::uint32_t count(std::size_t entry_bytes) {
    const auto found = number<std::uint32_t>();
    if (found <= rest_.size() / entry_bytes) return found;
    short_ = true;
    return 0;
  }
  /// True if everything was read and nothing is left.
  [[nodiscard]] bool done() const { return !short_ && rest_.empty(); }

 private:
  crypto::bytes_view rest_;
  bool short_ = false;
};

}  // namespace furlong::federated::privacy::detail
