// Reading LEAF's files: {"users": [...], "num_samples": [...], "user_data": {"name": {"x": [...], "y": [...]}}}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

/// The type of samples.
enum class leaf_task : std::uint8_t {
  next_character,  ///< x a text, y the text that follows: one sequence of characters
  classes,         ///< x a text or a list with one, y a label
  vectors          ///< x a list of numbers, y 0 or 1
};

struct leaf_settings {
  leaf_task task = leaf_task::next_character;
  token_settings tokens;
  std::size_t text_field = 0;  ///< classes: index of the text if x is a list
};

/// Samples as texts or vectors, users as clients.
struct leaf_data {
  text_table table;
  word_list labels;                     ///< names of classes
  std::vector<std::uint32_t> label_of;  ///< classes: by text
  std::uint32_t dimension = 0;          ///< vectors: length of each
  /// By client: the file of its training samples, and that of its test samples; or "".
  std::vector<std::string> train_file_of, test_file_of;
};

/// The files of a dataset: one file; the *.json of a folder; or those of its subfolders train and test.
struct leaf_files {
  std::vector<std::filesystem::path> train;
  std::vector<std::filesystem::path> test;
};
/// Fails (kind data) if there are none.
[[nodiscard]] result<leaf_files> find_leaf_files(const std::filesystem::path& path);

/// Appends a file. With `tested` its samples are test data: the test part of known users; other users become clients
/// held out for the test. Fails (kind data) if the format is invalid, or if users, user_data and num_samples contradict
/// each other, naming file, user and sample.
[[nodiscard]] result<void> read_leaf(const std::filesystem::path& file, const leaf_settings& settings, bool tested,
                                     leaf_data& leaf);

}  // namespace furlong::scenarios
