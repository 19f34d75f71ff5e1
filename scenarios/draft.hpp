// A scenario while it is read: its values, where each came from, and what is wrong so far.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/scenario.hpp"
#include "scenarios/schema.hpp"
#include "scenarios/toml_document.hpp"

namespace furlong::scenarios {

/// A key as it was written, and by whom.
struct source_entry {
  std::string origin;  ///< the file, or "--set KEY"
  toml_entry entry;
};

/// What the file and the overrides say, not yet checked.
struct source_text {
  std::vector<source_entry> values;
  std::vector<source_entry> tables;  ///< their values mean nothing
};

/// The values, places and problems of one scenario. Filled by read_values(), then examined by check_scenario().
class draft {
 public:
  explicit draft(std::string file) : file_(std::move(file)) {}

  models::option_values values;
  std::vector<std::string> notes;
  const dataset_entry* source = nullptr;      ///< null: unknown
  const models::model_entry* kind = nullptr;  ///< null: unknown

  /// Remembers where a key or a table was written.
  void remember(const source_entry& written) { written_[written.entry.key] = written; }
  /// True when the file or an override has the key; a default does not count.
  [[nodiscard]] bool is_set(std::string_view key) const { return written_.contains(key); }
  /// True when all these keys have a value and no problem so far.
  [[nodiscard]] bool good(std::initializer_list<std::string_view> keys) const;

  /// Adds a problem, placed at the value of `key`, else at the heading of its table, else at the file.
  void report(const std::string& key, std::string why, std::string mend);
  /// The same, placed at one item of a list.
  void report_item(const std::string& key, std::size_t item, std::string why, std::string mend);
  /// The same, placed at the name of the key.
  void report_name(const source_entry& written, std::string why, std::string mend);
  /// Where each key was written: "file:line:column", or "--set KEY".
  [[nodiscard]] std::map<std::string, std::string, std::less<>> places() const;
  /// The problems of the file by line, then those of overrides.
  [[nodiscard]] std::vector<problem> problems() const;

 private:
  void add(const std::string& origin, place at, const std::string& key, std::string why, std::string mend);

  std::string file_;
  std::vector<problem> problems_;
  std::set<std::string, std::less<>> bad_;
  std::map<std::string, source_entry, std::less<>> written_;
};

/// Finds each key's spec, checks and converts its value, fills in defaults; reports whatever does not fit.
void read_values(const source_text& text, draft& to);
/// Reports combinations that cannot work, and notes what has no effect. Settles the values that depend on others.
void check_scenario(draft& of);

/// Tensors private under the draft's algorithm.
[[nodiscard]] bool keeps_private(std::string_view algorithm);

/// The candidate most like a word that is none of them, by edit distance; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// The same for dotted keys: a like name in the same table comes first, then the same name in another table.
[[nodiscard]] std::string nearest_key(std::string_view key, const std::vector<std::string>& candidates);
/// An option's value as TOML.
[[nodiscard]] std::string value_text(const models::option_value& value);
/// "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::string_view last = "and");

}  // namespace furlong::scenarios
