#include "scenarios/data/labelled_file.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <tuple>
#include <vector>

#include "base/utf8.hpp"
#include "scenarios/data/detail/file_errors.hpp"
#include "scenarios/data/detail/json_text.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_options.hpp"
#include "scenarios/data/text_table.hpp"

namespace furlong::scenarios {

namespace {

using detail::contradict;
using detail::refuse;
using nlohmann::json;

std::string place_of(const std::string& name, std::uint64_t line) { return name + ":" + std::to_string(line); }

/// Iterates over the rows of a file with a header.
class row_cursor {
 public:
  row_cursor(std::string_view text, const std::string& name, labelled_format format)
      : rest_(text), name_(name), quoted_(format == labelled_format::csv), separator_(quoted_ ? ',' : '\t') {}

  /// Reads the next row that is not blank; false at the end.
  result<bool> next() {
    fields_.clear();
    do {
      if (rest_.empty()) return false;
      begun_ = line_;
      line_text_ = next_line(rest_);
      ++line_;
    } while (line_text_.empty());
    unquoted_.clear();
    auto left = line_text_;
    while (true) {
      if (quoted_ && left.starts_with('"')) {
        if (auto read = take_quoted(left); !read) return tl::unexpected(read.error());
      } else {
        fields_.push_back(left.substr(0, left.find(separator_)));
        left.remove_prefix(fields_.back().size());
      }
      if (left.empty()) return true;
      if (left.front() != separator_)
        return refuse(place(), "has " + shown(left) + " after a closing quote",
                      "put a comma there, or double the quote");
      left.remove_prefix(1);
    }
  }

  [[nodiscard]] const std::vector<std::string_view>& fields() const { return fields_; }
  [[nodiscard]] std::string place() const { return place_of(name_, begun_); }
  [[nodiscard]] std::string_view line() const { return line_text_; }

 private:
  /// Consumes a quoted field; continues on the next lines if it has line breaks.
  result<void> take_quoted(std::string_view& left) {
    left.remove_prefix(1);
    std::string field;
    while (true) {
      const auto quote = left.find('"');
      field += left.substr(0, quote);
      if (quote == std::string_view::npos) {
        if (rest_.empty())
          return refuse(place(), "has a quote that is not closed", "close it, or double quotes inside of fields");
        field += '\n';
        left = next_line(rest_);
        ++line_;
        continue;
      }
      left.remove_prefix(quote + 1);
      if (!left.starts_with('"')) break;
      field += '"';
      left.remove_prefix(1);
    }
    unquoted_.push_back(std::make_unique<std::string>(std::move(field)));
    fields_.emplace_back(*unquoted_.back());
    return {};
  }

  std::string_view rest_;
  const std::string& name_;
  bool quoted_;
  char separator_;
  std::uint64_t line_ = 1;   // of the next row
  std::uint64_t begun_ = 1;  // of the last row read
  std::string_view line_text_;
  std::vector<std::string_view> fields_;
  std::vector<std::unique_ptr<std::string>> unquoted_;  // storage of unescaped quoted fields
};

constexpr const char* text_columns = "data.user_column, data.text_column, data.label_column and data.time_column";

/// The index of each column in the header.
/// @param keys that name columns, for messages
result<std::vector<std::size_t>> find_columns(const row_cursor& header, std::span<const std::string> names,
                                              const std::string& keys) {
  std::vector<std::size_t> places(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) {
    if (names[c].empty()) continue;
    const auto found = std::ranges::find(header.fields(), names[c]);
    if (found == header.fields().end())
      return contradict(header.place(), "the header " + shown(header.line()) + " has no column \"" + names[c] + "\"",
                        "name the columns in " + keys);
    if (std::find(found + 1, header.fields().end(), names[c]) != header.fields().end())
      return refuse(header.place(), "the header " + shown(header.line()) + " has the column \"" + names[c] + "\" twice",
                    "rename one of them");
    places[c] = static_cast<std::size_t>(found - header.fields().begin());
  }
  return places;
}

result<void> take_header(row_cursor& rows, const std::string& name) {
  const auto header = rows.next();
  if (!header) return tl::unexpected(header.error());
  if (!*header) return refuse(name, "the file is empty", "expected a header and one row per line");
  return {};
}

/// Calls `take` for each row after the header, which was read last.
result<void> take_rows(row_cursor& rows, const field_reader& take) {
  const auto columns = rows.fields().size();
  while (true) {
    const auto more = rows.next();
    if (!more) return tl::unexpected(more.error());
    if (!*more) return {};
    if (rows.fields().size() != columns)
      return refuse(
          rows.place(),
          "has " + std::to_string(rows.fields().size()) + " fields, but the header has " + std::to_string(columns),
          "give every row one field for each column");
    if (auto taken = take(rows.fields(), rows.place()); !taken) return taken;
  }
}

result<void> read_table(std::string_view text, const std::string& name, labelled_format format,
                        const by_column<std::string>& names, const row_reader& take) {
  by_column<std::string_view> row{};
  return read_columns(text, name, format, names, text_columns, [&](const auto& fields, const std::string& place) {
    std::ranges::copy(fields, row.begin());
    return take(row, place);
  });
}

result<json> parse_line(std::string_view line, const std::string& place) {
  std::optional<std::string> repeated;
  std::string why = "found " + shown(line);
  try {
    auto object = detail::parse_members(line, repeated);
    if (repeated)
      return refuse(place, "has " + shown(*repeated) + " twice: only the last would be used", "remove one of them");
    if (object.is_object()) return object;
  } catch (const json::parse_error&) {
  } catch (const json::out_of_range&) {
    why = "has a number that no double holds";
  }
  return refuse(place, why, "expected one JSON object per line, in UTF-8");
}

result<void> read_json_lines(std::string_view text, const std::string& name, const by_column<std::string>& names,
                             const row_reader& take) {
  by_column<std::string> values;
  by_column<std::string_view> row{};
  for (std::uint64_t number = 1; !text.empty(); ++number) {
    const auto line = trimmed(next_line(text));
    if (line.empty()) continue;
    const auto place = place_of(name, number);
    const auto object = parse_line(line, place);
    if (!object) return tl::unexpected(object.error());
    for (std::size_t c = 0; c < names.size(); ++c) {
      if (names[c].empty()) continue;
      const auto member = object->find(names[c]);
      auto value = member == object->end() ? std::nullopt : detail::text_of(*member);
      if (!value)
        return contradict(
            place,
            (member == object->end() ? "has no \"" : "has neither a text nor a whole number in \"") + names[c] + "\"",
            std::string("name the members in ") + text_columns);
      values[c] = std::move(*value);
      row[c] = values[c];
    }
    if (auto taken = take(row, place); !taken) return taken;
  }
  return {};
}

/// Orders names: numbers without leading zeros first by length, then by value.
auto rank_of(std::string_view name) {
  const bool digits = !name.empty() && std::ranges::all_of(name, [](char c) { return c >= '0' && c <= '9'; });
  return std::tuple(!digits, digits ? name.size() : 0, name);
}

}  // namespace

result<labelled_format> format_of(const std::filesystem::path& file) {
  const auto ending = file.extension().string();
  if (ending == ".tsv" || ending == ".tab") return labelled_format::tsv;
  if (ending == ".csv") return labelled_format::csv;
  if (ending == ".json" || ending == ".jsonl" || ending == ".ndjson") return labelled_format::json_lines;
  return contradict(file.string(), "the format cannot be derived from the file name", "set data.format");
}

result<std::filesystem::path> find_labelled_file(const std::filesystem::path& path) {
  std::error_code ignored;
  if (std::filesystem::is_regular_file(path, ignored)) return path;
  if (!std::filesystem::is_directory(path, ignored))
    return refuse(path.string(), "the file or folder does not exist", "correct data.path, or FURLONG_DATA");
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(path, ignored))
    if (format_of(entry.path())) found.push_back(entry.path());
  if (found.size() == 1) return found.front();
  return contradict(path.string(), "has " + std::to_string(found.size()) + " files that end in .tsv, .csv or .jsonl",
                    "name one of them in data.path");
}

result<std::vector<std::string>> read_header(std::string_view text, const std::string& name, labelled_format format) {
  row_cursor rows(without_byte_order_mark(text), name, format);
  if (auto read = take_header(rows, name); !read) return tl::unexpected(read.error());
  return std::vector<std::string>(rows.fields().begin(), rows.fields().end());
}

result<void> read_columns(std::string_view text, const std::string& name, labelled_format format,
                          std::span<const std::string> names, const std::string& keys, const field_reader& take) {
  text = without_byte_order_mark(text);
  row_cursor rows(text, name, format);
  if (auto read = take_header(rows, name); !read) return read;
  const auto places = find_columns(rows, names, keys);
  if (!places) return tl::unexpected(places.error());
  std::vector<std::string_view> row(names.size());
  return take_rows(rows, [&](const auto& fields, const std::string& place) {
    for (std::size_t c = 0; c < names.size(); ++c)
      if (!names[c].empty()) row[c] = fields[(*places)[c]];
    return take(row, place);
  });
}

result<void> read_rows(std::string_view text, const std::string& name, labelled_format format,
                       const by_column<std::string>& names, const row_reader& take) {
  text = without_byte_order_mark(text);
  if (format == labelled_format::json_lines) return read_json_lines(text, name, names, take);
  return read_table(text, name, format, names, take);
}

result<void> read_fields(std::string_view text, const std::string& name, const field_reader& take) {
  row_cursor rows(without_byte_order_mark(text), name, labelled_format::csv);
  if (auto read = take_header(rows, name); !read) return read;
  return take_rows(rows, take);
}

bool is_before(std::string_view first, std::string_view second) { return rank_of(first) < rank_of(second); }

namespace {

/// The meaning of labels.
struct numbered_labels {
  models::objective labels = models::objective::categorical;
  std::uint32_t classes = 0;       ///< if categorical
  std::vector<std::string> names;  ///< by number, if categorical
  std::vector<float> of_name;
};

/// @param positive of the option; empty: each label is a class
result<numbered_labels> number_labels(const word_list& names, const std::string& positive, const std::string& place) {
  if (names.size() == 1)
    return fail(error::kind::usage, place, "all texts have the label " + shown(names[0]),
                "at least two classes are required");
  numbered_labels made;
  made.of_name.resize(names.size());
  std::vector<std::uint32_t> order(names.size());
  std::iota(order.begin(), order.end(), 0U);
  if (!positive.empty()) {
    const auto found = std::ranges::find(order, positive, [&](auto name) { return names[name]; });
    if (found == order.end())
      return fail(error::kind::usage, place, "no text has the label " + shown(positive), "correct data.positive");
    made.labels = models::objective::logistic;
    made.of_name[*found] = 1.0F;
    return made;
  }
  std::ranges::sort(order, {}, [&](auto name) { return rank_of(names[name]); });
  made.classes = names.size();
  for (std::uint32_t number = 0; number < order.size(); ++number) {
    made.of_name[order[number]] = static_cast<float>(number);
    made.names.emplace_back(names[order[number]]);
  }
  return made;
}

/// Leaves out users and splits the others' texts.
result<dataset> settle(text_table& table, const option_values& options, const token_settings& tokens,
                       const std::string& place, models::objective labels, std::uint32_t classes) {
  auto chosen = choose_users(table, options, place);
  if (!chosen) return tl::unexpected(chosen.error());
  dataset data;
  data.notes = std::move(*chosen);
  if (auto settled = settle_texts(table, options, place, labels, classes, tokens, data); !settled)
    return tl::unexpected(settled.error());
  return data;
}

/// Notes labels that are one number written differently: each is a class of its own.
void note_equal_numbers(const word_list& names, std::vector<std::string>& notes) {
  std::map<double, std::vector<std::string>> by_number;
  for (std::uint32_t name = 0; name < names.size(); ++name)
    if (const auto number = parse_number<double>(names[name]); number && std::isfinite(*number))
      by_number[*number].push_back(shown(names[name]));
  for (const auto& [number, equal] : by_number) {
    if (equal.size() < 2) continue;
    std::string list;
    for (const auto& name : equal) list += (list.empty() ? "" : ", ") + name;
    notes.push_back("the labels " + list + " are one number and " + std::to_string(equal.size()) +
                    " different classes");
  }
}

}  // namespace

option_spec positive_option() {
  return text_option("positive", std::nullopt,
                     "The label that becomes 1; all others become 0. Absent: each label is a class.");
}

models::data_facts class_facts(const option_values& options) {
  constexpr std::uint32_t some_classes = 10;
  if (options.has("positive")) return token_facts(options, models::objective::logistic);
  return token_facts(options, models::objective::categorical, some_classes);
}

result<dataset> settle_sequences(text_table& table, const option_values& options, const token_settings& tokens,
                                 const std::string& place) {
  return settle(table, options, tokens, place, models::objective::next_token, 0);
}

result<dataset> settle_classes(text_table& table, const word_list& labels, std::span<const std::uint32_t> label_of,
                               const option_values& options, const token_settings& tokens, const std::string& place) {
  auto numbered = number_labels(labels, options.has("positive") ? options.text("positive") : "", place);
  if (!numbered) return tl::unexpected(numbered.error());
  for (const auto label : label_of) table.labels.push_back(numbered->of_name[label]);
  auto data = settle(table, options, tokens, place, numbered->labels, numbered->classes);
  if (!data) return data;
  data->classes = std::move(numbered->names);
  note_equal_numbers(labels, data->notes);
  return data;
}

}  // namespace furlong::scenarios
