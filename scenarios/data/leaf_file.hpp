// Reading LEAF's files: {"users": [...], "num_samples": [...], "user_data": {"name": {"x": [...], "y": [...]}}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// What samples are.
enum class leaf_task : std::uint8_t {
  next_character,  ///< x a text, y the text that follows: one sequence of characters
  classes,         ///< x a text or a list with one, y a label
  vectors          ///< x a list of numbers, y 0 or 1
};

struct leaf_settings {
  leaf_task task = leaf_task::next_character;
  token_settings tokens;
  std::size_t text_field = 0;  ///< classes: the place of the text where x is a list
};

/// Samples as texts or vectors, users as clients.
struct leaf_data {
  text_table table;
  word_list labels;                     ///< names of classes
  std::vector<std::uint32_t> label_of;  ///< classes: of each text
  std::uint32_t dimension = 0;          ///< vectors: numbers in each
  /// By client: the file that its samples to train on, and those for the test, were read from; or "".
  std::vector<std::string> train_file_of, test_file_of;
};

/// The files of a dataset: one file; the *.json of a folder; or those of its folders train and test.
struct leaf_files {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;
};
/// Fails (kind data) when there is nothing of the kind.
[[nodiscard]] result<leaf_files> find_leaf_files(const std::filesystem::path& path);

/// Appends a file. With `tested` its samples are for the test: of users known by then as their test part, of others as
/// clients held out for it. Fails (kind data) at what is not of the layout, and where users, user_data and num_samples
/// contradict each other, naming file, user and sample.
[[nodiscard]] result<void> read_leaf(const std::filesystem::path& file, const leaf_settings& settings, bool tested,
                                     leaf_data& to);

}  // namespace furlong::scenarios
