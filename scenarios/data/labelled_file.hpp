// Files with one labelled text per row.
//
//   tsv         a header with column names, then one row per line, tab-separated, no quotes
//   csv         likewise comma-separated; a field may be in double quotes, which are doubled inside (RFC 4180)
//   json-lines  one object per line; columns are members: texts, whole numbers, true or false
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "models/model.hpp"
#include "scenarios/data/dataset.hpp"
#include "scenarios/data/text_table.hpp"
#include "scenarios/data/vocabulary.hpp"

namespace furlong::scenarios {

enum class labelled_format : std::uint8_t { tsv, csv, json_lines };

/// The columns that are read.
enum class column : std::uint8_t { user, text, label, time };
constexpr std::size_t column_count = 4;
/// A value of each column, indexed by column.
template <class T>
using by_column = std::array<T, column_count>;

/// The format of a file name's extension: .tsv, .tab; .csv; .json, .jsonl, .ndjson. Fails (kind data) for others.
[[nodiscard]] result<labelled_format> format_of(const std::filesystem::path& file);

/// The file itself, or the only file of a folder whose extension is a known format. Fails (kind data) if a folder has
/// none or several, and if the path does not exist.
[[nodiscard]] result<std::filesystem::path> find_labelled_file(const std::filesystem::path& path);

/// Handles a row; an error stops reading.
/// @param place "file:line" of the row's first line
using row_reader = std::function<result<void>(const by_column<std::string_view>& row, const std::string& place)>;

/// The names of the columns of a tsv or csv text. Fails (kind data) if it is empty or its first row is malformed.
[[nodiscard]] result<std::vector<std::string>> read_header(std::string_view text, const std::string& name,
                                                           labelled_format format);
/// Calls `each` for every row of a text. `names` are the column names; a column with an empty name is not read. Fails
/// (kind data) if a file has no rows, a column is missing or duplicated, a row has another number of columns than the
/// header, a quote is not closed, or a line is not a JSON object: the error names file and line. `name` is the file in
/// messages.
[[nodiscard]] result<void> read_rows(std::string_view text, const std::string& name, labelled_format format,
                                     const by_column<std::string>& names, const row_reader& take);
/// Calls `take` for every row after the header of a csv text, with all its fields in the order of the header. Fails as
/// read_rows().
using field_reader = std::function<result<void>(const std::vector<std::string_view>& fields, const std::string& place)>;
[[nodiscard]] result<void> read_fields(std::string_view text, const std::string& name, const field_reader& take);
/// The same with the fields of these columns of a tsv or csv text alone, in the order of `names`; of a column with an
/// empty name the field is empty. Fails also if a column is missing or twice in the header.
/// @param keys of the scenario that name columns, for messages
[[nodiscard]] result<void> read_columns(std::string_view text, const std::string& name, labelled_format format,
                                        std::span<const std::string> names, const std::string& keys,
                                        const field_reader& take);
/// Orders names: numbers without leading zeros first, by value, then others, by bytes.
[[nodiscard]] bool is_before(std::string_view first, std::string_view second);

// What sources of labelled texts have in common.

/// The option `positive`.
[[nodiscard]] option_spec positive_option();
/// Facts of texts with classes that follow from the options (dataset_entry::facts).
[[nodiscard]] models::data_facts class_facts(const option_values& options);

/// The dataset of a table of texts whose next tokens are predicted. Leaves out users (choose_users()) and splits the
/// others' texts. `place` is the source in messages.
[[nodiscard]] result<dataset> settle_sequences(text_table& table, const option_values& options,
                                               const token_settings& tokens, const std::string& place);
/// The same of texts with classes: the label of text i is labels[label_of[i]]. Classes are numbered by name: whole
/// numbers first, by value, then others, by bytes. With the option `positive`, labels are 1 for that class and 0 for
/// all others. Fails (kind usage) also if there is only one class, or none is `positive`.
[[nodiscard]] result<dataset> settle_classes(text_table& table, const word_list& labels,
                                             std::span<const std::uint32_t> label_of, const option_values& options,
                                             const token_settings& tokens, const std::string& place);

}  // namespace furlong::scenarios
