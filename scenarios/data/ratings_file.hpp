// Reads files of ratings: the formats of MovieLens, detected by their first line.
//
//   colons   user::item::rating::timestamp          ml-1m   ratings.dat   ratings 1 to 5
//   tabs     user<TAB>item<TAB>rating<TAB>timestamp ml-100k u.data        ratings 1 to 5
//   csv      userId,movieId,rating,timestamp        ml-25m  ratings.csv   ratings 0.5 to 5 in halves; with this header
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace furlong::scenarios {

enum class rating_format : std::uint8_t { colons, tabs, csv };

/// Users, items and times are the numbers in the file; one entry per line, in the order of the file.
struct rating_records {
  rating_format format = rating_format::colons;
  std::uint32_t first_line = 1;  ///< line of entry 0
  std::vector<std::uint32_t> users;
  std::vector<std::uint32_t> items;
  std::vector<float> ratings;
  std::vector<std::uint32_t> times;  ///< seconds since 1970

  [[nodiscard]] std::size_t size() const { return ratings.size(); }
  [[nodiscard]] std::string line_of(std::size_t entry) const { return std::to_string(first_line + entry); }
};

/// Largest user or item id: bounds the size of tables over ids. MovieLens ids are below 300,000.
constexpr std::uint32_t largest_id = (1U << 24) - 1;

/// The format that begins with this line; nothing if it is none.
[[nodiscard]] std::optional<rating_format> format_of_ratings(std::string_view first_line);
/// Reads a whole file. Fails (kind data) at the first malformed line: the error names file and line, what was found and
/// what is expected.
[[nodiscard]] result<rating_records> read_ratings(const std::filesystem::path& path);
/// The same for a text; `name` is the file in messages.
[[nodiscard]] result<rating_records> read_ratings(std::string_view text, const std::string& name);

}  // namespace furlong::scenarios
