// Files with the ratings of a federation's clients on a node:
//
//   user,item,rating[,timestamp]      header, then one rating per line, numbers without quotes
//
// Users are the federation's clients and items its features, both numbered from 0, so that a file has the same meaning
// on every machine.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "scenarios/data/rating_table.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

/// Valid range of the values in a file.
struct hosted_bounds {
  std::uint32_t users = 1;  ///< of the whole federation
  std::uint32_t items = 1;
  float low = 1.0F;  ///< ratings, both included
  float high = 5.0F;
  std::uint32_t first = 0;  ///< clients of these ratings, both included
  std::uint32_t last = 0;
};

/// Parses one file's text; `name` is the file in messages. Without timestamps all times are 0, so that a user's ratings
/// are in the order of the file. A header without ratings is valid: clients may have none. Fails (kind data) at the
/// first line that is malformed or out of bounds, naming file and line.
[[nodiscard]] result<rating_records> read_hosted_ratings(std::string_view text, const std::string& name,
                                                         const hosted_bounds& bounds);

/// `ratings.csv` of a folder; if missing, every `ratings*.csv` of the folder and `ratings.csv` of its subfolders, by
/// name.
[[nodiscard]] std::vector<std::filesystem::path> hosted_files(const std::filesystem::path& folder);

/// Reads the hosted_files of a folder. Fails (kind data) as above; if there is no such file; if a user rated an item
/// twice; and if a user is in two files, since files have no order.
/// @return of all users of the federation; users without ratings have no entries
[[nodiscard]] result<rating_table> read_hosted_folder(const std::filesystem::path& folder, const hosted_bounds& bounds);

/// The table without any ratings.
[[nodiscard]] rating_table empty_hosted_table(const hosted_bounds& bounds);

}  // namespace furlong::scenarios
