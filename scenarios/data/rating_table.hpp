// Ratings grouped by client: the input of the split for all rating datasets.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "scenarios/data/ratings_file.hpp"

namespace furlong::scenarios {

/// Client c has entries offsets[c] to offsets[c + 1], in the order of the source.
struct rating_table {
  std::vector<std::size_t> offsets;
  std::vector<std::uint32_t> features;
  std::vector<float> labels;
  std::vector<std::uint32_t> times;     ///< empty: a client's entries are in order of time
  std::vector<std::uint32_t> user_ids;  ///< original id of each client, ascending
  std::vector<std::string> user_names;  ///< of each client, if ids are texts; empty: "user ID"
  std::vector<std::uint32_t> item_ids;  ///< original id of each feature, ascending
  std::vector<std::string> titles;      ///< name of each feature; empty or short: none
  std::vector<float> tastes;            ///< standard normal score of each client's taste; empty: derived from labels

  [[nodiscard]] std::size_t clients() const { return user_ids.size(); }
};

/// Numbers users and items densely by ascending id and groups the records by user, keeping their order. Fails (kind
/// data) if a user rated an item twice: the error names both lines of `name`.
[[nodiscard]] result<rating_table> group_by_user(rating_records records, const std::string& name);

/// The error (kind data) about an item that a user of these records rated more than once; names all lines of `name`.
[[nodiscard]] tl::unexpected<error> rated_twice(const rating_records& records, std::uint32_t user, std::uint32_t item,
                                                const std::string& name);

}  // namespace furlong::scenarios
