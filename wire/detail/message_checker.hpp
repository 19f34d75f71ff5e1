// Checks the parts of one message and keeps the first error, so that reading a message stays a list of fields.
#pragma once

#include <capnp/blob.h>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/protocol/messages.hpp"
#include "wire/detail/frame.hpp"

namespace furlong::wire::detail {

/// "FIELD: found FOUND, expected EXPECTED".
[[nodiscard]] tl::unexpected<error> unexpected_content(std::string field, const std::string& found,
                                                       const std::string& expected);

class message_checker {
 public:
  /// @param message its name, which field names follow; must outlive the judge
  explicit message_checker(std::string_view message) : message_(message) {}

  [[nodiscard]] bool sound() const { return error_.has_value(); }
  /// Nothing, or the first complaint.
  [[nodiscard]] const result<void>& status() const { return error_; }

  void report(std::string_view field, const std::string& found, const std::string& expected);

  /// At most longest_list entries.
  void count(std::string_view field, std::size_t found);
  /// At most `limit` bytes of UTF-8 that stand on one line and steer neither a terminal nor the direction of writing.
  void line(std::string_view field, std::string_view text, std::size_t limit);
  /// The same, but with line breaks and tabs.
  void document(std::string_view field, std::string_view text, std::size_t limit);
  void range(const federated::client_range& clients);
  void finite(std::string_view field, double value);
  /// A number of something of which there are `count`.
  void below(std::string_view field, std::size_t value, std::size_t count);

  /// The first of a list's columns, in place. Entries are what they are in memory here: little-endian, unpadded.
  template <class T>
  std::span<const T> column(std::string_view field, capnp::Data::Reader data) {
    if (data.size() % sizeof(T) != 0)
      report(field, std::to_string(data.size()) + " bytes", "a multiple of " + std::to_string(sizeof(T)));
    const auto values = as_values<T>(data);
    count(field, values.size());
    return values;
  }
  /// One of the others, which has as many entries as the first. Do not read it unless sound() holds.
  template <class T>
  std::span<const T> column(std::string_view field, capnp::Data::Reader data, std::size_t entries) {
    if (data.size() != entries * sizeof(T))
      report(field, std::to_string(data.size()) + " bytes", std::to_string(entries * sizeof(T)));
    return as_values<T>(data);
  }
  /// One that is left out when all its entries are zero.
  template <class T>
  std::vector<T> column_or_zeros(std::string_view field, capnp::Data::Reader data, std::size_t entries) {
    if (data.size() == 0) return std::vector<T>(entries);
    const auto values = column<T>(field, data, entries);
    return {values.begin(), values.end()};
  }

 private:
  void text(std::string_view field, std::string_view found, std::size_t limit, std::u32string_view also);

  std::string_view message_;
  result<void> error_;
};

}  // namespace furlong::wire::detail
