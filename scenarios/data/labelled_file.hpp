// Files with a labelled text a row.
//
//   tsv         a header with the names of the columns, then a row a line, fields between tabs, no quotes
//   csv         likewise between commas; a field may stand in double quotes, which are doubled inside (RFC 4180)
//   json-lines  one object a line; columns are its members, texts, whole numbers or true and false
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

enum class labelled_format : std::uint8_t { tsv, csv, json_lines };

/// The columns that are looked at.
enum class column : std::uint8_t { user, text, label, time };
constexpr std::size_t column_count = 4;
/// Something of each column, at the column's number.
template <class T>
using by_column = std::array<T, column_count>;

/// The format that a file's name ends with: .tsv, .tab; .csv; .json, .jsonl, .ndjson. Fails (kind data) at others.
[[nodiscard]] result<labelled_format> format_of(const std::filesystem::path& file);

/// The file itself, or of a folder its only file whose name tells a format. Fails (kind data) at a folder with none or
/// several, and where nothing is.
[[nodiscard]] result<std::filesystem::path> find_labelled_file(const std::filesystem::path& path);

/// What is done with a row: an error ends the reading.
/// @param place "file:line" of the row's first line
using row_reader = std::function<result<void>(const by_column<std::string_view>& row, const std::string& place)>;

/// Hands over each row of a text. `names` are the columns' names; one that is empty is not looked for.
/// Fails (kind data) at a file without rows, a missing column or one that stands twice, a row with other columns than
/// the header, a quote that is not closed, and a line that is no JSON object: the error names file and line. `name`
/// stands for the file.
[[nodiscard]] result<void> read_rows(std::string_view text, const std::string& name, labelled_format format,
                                     const by_column<std::string>& names, const row_reader& take);

// Labels by name, as the numbers that models predict.

/// What labels of texts become.
struct numbered_labels {
  models::objective labels = models::objective::categorical;
  std::uint32_t classes = 0;       ///< of categorical ones
  std::vector<std::string> names;  ///< of categorical ones, by number
  std::vector<float> of_name;
};

/// Numbers classes by their names: whole numbers first, by size, then others, by bytes. With `positive` not empty
/// labels become 1 for that class and 0 for all others. Fails (kind data) when there is one class only, or none is
/// called `positive`. `place` stands for the file.
[[nodiscard]] result<numbered_labels> number_labels(const word_list& names, const std::string& positive,
                                                    const std::string& place);
/// The option `positive`.
[[nodiscard]] option_spec positive_option();
/// What labels will be.
[[nodiscard]] models::objective labels_of(const option_values& options);

}  // namespace furlong::scenarios
