// A scenario while it is read: its values, where each came from, and what is wrong so far.
#pragma once

#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "federated/algorithm.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/schema.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

/// A key as it was written, and by whom.
struct source_entry {
  std::string origin;  ///< the file, or "--set KEY"
  toml_entry entry;
};

/// What [expect] says, its own name cut off: "eval.unseen.rmse.at_most" and the table "eval.unseen.rmse".
struct expect_text {
  std::vector<source_entry> values;
  std::vector<source_entry> tables;
};

/// What the file and the overrides say, not yet checked.
struct source_text {
  std::vector<source_entry> values;
  std::vector<source_entry> tables;  ///< their values mean nothing
  expect_text expect;
  expect_text smoke_expect;
  std::vector<place> smoke;  ///< where values of [smoke] stand
  bool has_smoke = false;
};

/// Puts together what a variant of a file says: the file, its [smoke] table in that variant, the overrides. Writes
/// shorthands out.
[[nodiscard]] source_text merge(const toml_document& document, const std::string& file,
                                const std::vector<setting_override>& overrides, variant which);

/// The values, places and problems of one scenario. Filled by read_values(), then examined by check_scenario().
class draft final : public federated::scenario_view {
 public:
  explicit draft(std::string file) : file_(std::move(file)) {}

  option_values values;
  /// The tables that come several times, by name; in problems they are counted from 1: "event[1].at".
  std::map<std::string, std::vector<option_values>, std::less<>> records;
  std::vector<expectation> expectations;
  std::vector<std::string> notes;
  const dataset_entry* source = nullptr;                  ///< null: unknown
  const models::model_entry* kind = nullptr;              ///< null: unknown
  const federated::algorithm_entry* algorithm = nullptr;  ///< what algorithm.kind stands for; null: unknown
  const federated::algorithm_entry* named = nullptr;      ///< the same, or its alias: what the file says
  const federated::rule_entry* rule = nullptr;            ///< of algorithm.aggregation.rule; null: unknown

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Remembers where a key or a table was written.
  void remember(const source_entry& written) { written_[written.entry.key] = written; }
  void remember(const std::string& key, const std::string& origin, const toml_value& value) {
    written_[key] = {origin, {key, value.at, value}};
  }
  /// True when the file or an override has the key; a default does not count.
  [[nodiscard]] bool is_set(std::string_view key) const { return written_.contains(key); }
  /// True when it has the key, with another value than the default: a resolved scenario writes all defaults out.
  [[nodiscard]] bool is_changed(std::string_view key) const override { return changed_.contains(key); }
  void mark_changed(const std::string& key) { changed_.insert(key); }
  /// True when all these keys have a value and no problem so far.
  [[nodiscard]] bool good(std::initializer_list<std::string_view> keys) const;

  /// Adds a problem, placed at the value of `key`, else at the heading of its table, else at the file.
  void report(const std::string& key, std::string why, std::string fix) override;
  [[nodiscard]] const option_values& given() const override { return values; }
  [[nodiscard]] bool is_good(std::string_view key) const override { return good({key}); }
  void note(std::string text) override { notes.push_back(std::move(text)); }
  /// The same, placed at one item of a list.
  void report_item(const std::string& key, std::size_t item, std::string why, std::string fix);
  /// The same, placed at the name of the key.
  void report_name(const source_entry& written, std::string why, std::string fix);
  /// Where each key was written: "file:line:column", or "--set KEY".
  [[nodiscard]] std::map<std::string, std::string, std::less<>> places() const;
  /// The problems of the file by line, then those of overrides.
  [[nodiscard]] std::vector<problem> problems() const;

 private:
  void add(const std::string& origin, place at, const std::string& key, std::string why, std::string fix);

  std::string file_;
  std::vector<problem> problems_;
  std::set<std::string, std::less<>> bad_;
  std::set<std::string, std::less<>> changed_;
  std::map<std::string, source_entry, std::less<>> written_;
};

/// Finds each key's spec, checks and converts its value, fills in defaults; reports whatever does not fit.
void read_values(const source_text& text, draft& to);
/// Takes the tables that come several times out of the text, and checks their keys one by one.
void read_records(source_text& text, draft& to);
/// Reads [expect] and [smoke.expect], reports what is wrong in either, and keeps those of the variant.
void read_expectations(const source_text& text, variant which, draft& to);
/// Reports combinations that cannot work, and notes what has no effect. Settles the values that depend on others.
void check_scenario(draft& of);
/// Its part about the algorithm and the aggregation rule; and what these decide of other tables, an alias has become
/// what it stands for.
void check_algorithm(draft& of);
void settle_algorithm(draft& of);
/// The values below a prefix, such as "model.", without it.
[[nodiscard]] option_values options_of(const draft& of, std::string_view prefix);
/// True when none of these options has a problem, so that all can be read.
[[nodiscard]] bool options_are_good(const draft& of, const std::string& prefix,
                                    const std::vector<option_spec>& options);
/// Its parts about [participation] and [private], and about the simulated world, its clock and the length of the run.
void check_participation(draft& of);
void check_simulation(draft& of);
/// Its part that only notes: keys that were changed and do nothing, and figures that are not what their name says.
void check_unused(draft& of);
/// Notes the keys that were changed and, by the table of dependencies, do nothing.
void note_idle_keys(draft& of);
/// Whether anybody's tensors are reconstructed, in training or before scoring; true where nobody can say.
[[nodiscard]] bool reconstructs(const draft& of);
/// The word of a key, as it is written in a scenario.
[[nodiscard]] inline std::string quoted(const draft& of, std::string_view key) {
  return toml_string(of.values.text(key));
}
/// Reports a key that has no meaning under an algorithm that sends nothing.
void report_unsent(draft& of, const std::string& key, const std::string& why);
/// Notes the keys of a table that were changed and do nothing.
void note_unused(draft& of, std::string_view table, std::initializer_list<const char*> keys, const std::string& why);
/// The name of a record in problems: "event[1]" for item 0.
[[nodiscard]] std::string record_name(const std::string& table, std::size_t item);

/// Whether the algorithm has private tensors.
[[nodiscard]] bool has_private(const draft& of);
/// The values of model.private that count: those of an algorithm that has private tensors.
[[nodiscard]] std::vector<std::string> private_tensors(const draft& of);
/// The name of the algorithm that the file says, for messages.
[[nodiscard]] inline const std::string& algorithm_word(const draft& of) { return of.named->kind; }

/// "file:line:column", or the origin alone.
[[nodiscard]] std::string place_text(const std::string& origin, place at);
/// The candidate most like a word that is none of them, by edit distance; empty when none is near.
[[nodiscard]] std::string nearest(std::string_view word, const std::vector<std::string>& candidates);
/// The same for dotted keys: a like name in the same table comes first, then the same name in another table.
[[nodiscard]] std::string nearest_key(std::string_view key, const std::vector<std::string>& candidates);
/// An option's value as TOML.
[[nodiscard]] std::string value_text(const option_value& value);
/// "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::string_view last = "and");

}  // namespace furlong::scenarios
