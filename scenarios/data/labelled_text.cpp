// Labelled texts from one file: classification of each client's texts.
#include "base/utf8.hpp"
#include "scenarios/data/entries.hpp"
#include "scenarios/data/labelled_file.hpp"
#include "scenarios/data/mapped_file.hpp"
#include "scenarios/data/text_options.hpp"

namespace furlong::scenarios {

namespace {

bool is_next_token(const option_values& options) { return options.has("task") && options.text("task") == "next-token"; }

/// Builds a table row by row.
class labelled_reader {
 public:
  labelled_reader(const option_values& options, const by_column<std::string>& names)
      : tokens_(read_token_settings(options, read_token_kind(options))),
        labelled_(!names[static_cast<std::size_t>(column::label)].empty()),
        timed_(!names[static_cast<std::size_t>(column::time)].empty()) {}

  result<void> take(const by_column<std::string_view>& row, const std::string& place) {
    const auto field = [&](column position) { return row[static_cast<std::size_t>(position)]; };
    const auto user = field(column::user);  // with its blanks: they belong to a field (RFC 4180, 2.4)
    const auto label = trimmed(field(column::label));
    const bool named = !trimmed(user).empty();
    if (!named || (labelled_ && label.empty()))
      return fail(error::kind::data, place, named ? "has no label" : "names no user", "remove the row");
    if (!is_utf8(user) || !is_utf8(label)) return not_utf8(place);
    const auto count = tokens_.append(trimmed(field(column::text)), table);
    if (!count) return not_utf8(place);
    if (*count == 0) return fail(error::kind::data, place, "has an empty text", "remove the row");
    if (timed_) {
      if (auto read = take_time(trimmed(field(column::time)), place); !read) return read;
    }
    if (labelled_) label_of.push_back(labels.add(label));
    table.end_text(table.clients.add(user));
    return {};
  }

  text_table table;
  word_list labels;
  std::vector<std::uint32_t> label_of;  // label of each labelled text

 private:
  result<void> take_time(std::string_view text, const std::string& place) {
    const auto time = parse_number<std::uint32_t>(text);
    if (!time)
      return fail(error::kind::data, place, "has the time " + shown(text),
                  "expected a whole number below 2^32, such as seconds since 1970");
    table.times.push_back(*time);
    return {};
  }

  tokenizer tokens_;
  bool labelled_;
  bool timed_;
};

by_column<std::string> column_names(const option_values& options) {
  return {options.text("user_column"), options.text("text_column"),
          is_next_token(options) ? "" : options.text("label_column"),
          options.has("time_column") ? options.text("time_column") : ""};
}

result<labelled_format> choose_format(const option_values& options, const std::filesystem::path& file) {
  const auto& word = options.text("format");
  if (word == "auto") return format_of(file);
  return word == "tsv" ? labelled_format::tsv : word == "csv" ? labelled_format::csv : labelled_format::json_lines;
}

result<dataset> build(const option_values& options, const std::filesystem::path& root) {
  const auto path = find_labelled_file(root / options.text("path"));
  if (!path) return tl::unexpected(path.error());
  const auto format = choose_format(options, *path);
  if (!format) return tl::unexpected(format.error());
  const auto file = open_text(*path);
  if (!file) return tl::unexpected(file.error());
  const auto names = column_names(options);
  labelled_reader reader(options, names);
  const auto read = read_rows(file->bytes(), path->string(), *format, names,
                              [&](const auto& row, const auto& place) { return reader.take(row, place); });
  if (!read) return tl::unexpected(read.error());
  if (reader.table.texts() == 0)
    return fail(error::kind::data, path->string(), "has no texts", "expected one text per row");
  const auto tokens = read_token_settings(options, read_token_kind(options));
  auto data = is_next_token(options)
                  ? settle_sequences(reader.table, options, tokens, path->string())
                  : settle_classes(reader.table, reader.labels, reader.label_of, options, tokens, path->string());
  if (data) data->files = {*path};
  return data;
}

models::data_facts facts(const option_values& options) {
  return is_next_token(options) ? token_facts(options, models::objective::next_token) : class_facts(options);
}

constexpr const char* default_label = "label";

std::vector<option_problem> check(const option_values& options) {
  auto problems = check_texts(options);
  check_named(options, {"user_column", "text_column", "label_column", "time_column", "positive"}, problems);
  if (!is_next_token(options)) return problems;
  const auto refuse = [&](const char* name) {
    problems.push_back({name, "is about classes, and task = \"next-token\" has none", "remove it"});
  };
  if (options.has("positive")) refuse("positive");
  if (options.has("label_column") && options.text("label_column") != default_label) refuse("label_column");
  return problems;
}

}  // namespace

dataset_entry labelled_text_entry() {
  dataset_entry entry;
  entry.kind = "labelled-text";
  entry.doc =
      "Texts with a label and a user each, one client a user, from one file in UTF-8: tab-separated or comma-separated "
      "with a header, or one JSON object a line. Classes are numbered by their names, whole numbers first and by size. "
      "With task = \"next-token\" no labels are read: a text is given a start and an end, and each token is predicted "
      "from those before it.";
  entry.options = {
      text_option("path", "labelled-text", "File, or folder with one such file, under the data root."),
      choice_option("format", "auto",
                    "auto: by the ending of its name, .tsv, .csv, .json, .jsonl or .ndjson. Only csv has quotes.",
                    {"auto", "tsv", "csv", "json-lines"}),
      choice_option("task", "classes", "The target: the label of a text, or its next token.",
                    {"classes", "next-token"}),
      text_option("user_column", "user", "Column of the user's name."),
      text_option("text_column", "text", "Column of the text."),
      text_option("label_column", default_label, "Column of the label; classes."),
      text_option("time_column", std::nullopt,
                  "Column of the time, a whole number below 2^32; absent: a user's texts are in order of time."),
      positive_option(),
      token_kind_option("characters"),
  };
  add_options(entry.options, token_options(256));
  add_options(entry.options, user_options());
  add_options(entry.options, split_options("texts", {0.8, 0.1, 0.1}));
  entry.check = check;
  entry.facts = facts;
  entry.build = build;
  return entry;
}

}  // namespace furlong::scenarios
