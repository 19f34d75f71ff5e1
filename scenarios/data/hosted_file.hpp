// Files with the ratings of a federation's own clients:
//
//   user,item,rating[,timestamp]      that header first; one rating a line, numbers without quotes
//
// Users are the federation's clients, items its features, both numbered from 0, so that a file means the same on
// whatever machine it lies.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "scenarios/data/rating_table.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

/// What a file may name.
struct hosted_bounds {
  std::uint32_t users = 1;  ///< of the whole federation
  std::uint32_t items = 1;
  float low = 1.0F;  ///< ratings, both included
  float high = 5.0F;
  std::uint32_t first = 0;  ///< clients whose ratings these are, both included
  std::uint32_t last = 0;
};

/// Reads one file's text; `name` stands for the file in messages. Without timestamps all times are 0, so that a user's
/// ratings are in the order of the file. A file with a header and no ratings is fine: clients may have none.
/// Fails (kind data) at the first line that is malformed or beyond the bounds, naming file and line.
[[nodiscard]] result<rating_records> read_hosted_ratings(std::string_view text, const std::string& name,
                                                         const hosted_bounds& bounds);

/// `ratings.csv` of a folder; where there is none, every `ratings*.csv` of the folder and `ratings.csv` of the folders
/// in it, by name.
[[nodiscard]] std::vector<std::filesystem::path> hosted_files(const std::filesystem::path& folder);

/// Reads the hosted_files of a folder. Fails (kind data) as above; when there is no such file; when a user rated an
/// item twice; and when a user is in two files, since no order is between them.
/// @return of all users of the federation: those without ratings have no entries
[[nodiscard]] result<rating_table> read_hosted_folder(const std::filesystem::path& folder, const hosted_bounds& bounds);

/// The table of nobody's ratings.
[[nodiscard]] rating_table empty_hosted_table(const hosted_bounds& bounds);

}  // namespace furlong::scenarios
