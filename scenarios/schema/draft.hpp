// A scenario during parsing: its values, their places, and the problems so far.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "federated/experiment/algorithm.hpp"
#include "scenarios/schema/nearest.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/schema.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

/// A key as written, and its origin.
struct source_entry {
  std::string origin;  ///< the file, or the option: "--set KEY"
  toml_entry entry;
};

/// The entries of [expect], without its name: "eval.unseen.rmse.at_most" and the table "eval.unseen.rmse".
struct expect_text {
  std::vector<source_entry> values;
  std::vector<source_entry> tables;
};

/// The entries of the file and the overrides, unchecked.
struct source_text {
  std::vector<source_entry> values;
  std::vector<source_entry> tables;  ///< their values are unused
  expect_text expect;
  expect_text smoke_expect;
  std::vector<place> smoke;  ///< places of values of [smoke]
  bool has_smoke = false;
};

/// Merges the sources of a variant: the file, its [smoke] table in that variant, the overrides. Expands shorthands.
[[nodiscard]] source_text merge(const toml_document& document, const std::string& file,
                                const std::vector<setting_override>& overrides, variant which);

/// The entry of an algorithm whose traits follow from its options (algorithm_entry::traits_of).
using described_entry = std::shared_ptr<const federated::algorithm_entry>;

/// The values, places and problems of one scenario. Filled by read_values(), then examined by check_scenario().
class draft final : public federated::scenario_view {
 public:
  explicit draft(std::string file) : file_(std::move(file)) {}

  option_values values;
  /// The repeated tables by name; problems count them from 1: "event[1].at".
  std::map<std::string, std::vector<option_values>, std::less<>> records;
  std::vector<expectation> expectations;
  std::vector<std::string> notes;
  const dataset_entry* source = nullptr;                        ///< null: unknown
  const models::model_entry* kind = nullptr;                    ///< null: unknown
  const federated::algorithm_entry* algorithm = nullptr;        ///< of algorithm.kind, aliases resolved; null: unknown
  const federated::algorithm_entry* named = nullptr;            ///< the same without resolving an alias
  const federated::rule_entry* rule = nullptr;                  ///< of algorithm.aggregation.rule; null: unknown
  const federated::policy_entry* policy = nullptr;              ///< of participation.policy; null: unknown
  const federated::availability_entry* availability = nullptr;  ///< of devices.availability.kind; null: unknown
  described_entry described;                                    ///< owns the former two, where it is not null

  [[nodiscard]] const std::string& file() const { return file_; }
  /// Records the place of a key or table.
  void remember(const source_entry& written) { written_[written.entry.key] = written; }
  void remember(const std::string& key, const std::string& origin, const toml_value& value) {
    written_[key] = {origin, {key, value.at, value}};
  }
  /// True if the file or an override has the key; defaults do not count.
  [[nodiscard]] bool is_set(std::string_view key) const { return written_.contains(key); }
  /// True if the key is set to a value other than its default: a resolved scenario lists all defaults.
  [[nodiscard]] bool is_changed(std::string_view key) const override { return changed_.contains(key); }
  void mark_changed(const std::string& key) { changed_.insert(key); }
  /// True if all these keys have a value and no problem so far.
  [[nodiscard]] bool good(std::initializer_list<std::string_view> keys) const;

  /// The same, and the value is this word, true, or above a number.
  [[nodiscard]] bool is(std::string_view key, std::string_view word) const {
    return good({key}) && values.text(key) == word;
  }
  [[nodiscard]] bool is_on(std::string_view key) const { return good({key}) && values.flag(key); }
  [[nodiscard]] bool exceeds(std::string_view key, double bound = 0.0) const {
    return good({key}) && values.number(key) > bound;
  }

  /// Adds a problem at the value of `key`, else at the heading of its table, else at the file.
  void report(const std::string& key, std::string why, std::string fix) override;
  [[nodiscard]] const option_values& given() const override { return values; }
  [[nodiscard]] bool is_good(std::string_view key) const override { return good({key}); }
  void note(std::string text) override { notes.push_back(std::move(text)); }
  /// The same, at one item of a list.
  void report_item(const std::string& key, std::size_t item, std::string why, std::string fix);
  /// The same, at the name of the key.
  void report_name(const source_entry& written, std::string why, std::string fix);
  /// The place of each key: "file:line:column", or the option: "--set KEY".
  [[nodiscard]] std::map<std::string, std::string, std::less<>> places() const;
  /// The problems of the file by line, then those of overrides.
  [[nodiscard]] std::vector<problem> problems() const;

 private:
  void add(const std::string& origin, place position, const std::string& key, std::string why, std::string fix);

  std::string file_;
  std::vector<problem> problems_;
  std::set<std::string, std::less<>> bad_;
  std::set<std::string, std::less<>> changed_;
  std::map<std::string, source_entry, std::less<>> written_;
};

/// Finds each key's spec, checks and converts its value, fills in defaults; reports problems.
/// @param described in the place of the algorithm's entry; null: that of the registry
void read_values(const source_text& text, draft& document, described_entry described);
/// Reports what the entries of the chosen parts say about keys that there are not, or values that these cannot have.
/// @param idle keys of algorithms and rules that are not chosen
void check_parts(const std::vector<key_spec>& keys, const std::vector<option_spec>& idle, draft& document);
/// The named algorithm's entry with the traits that follow from its options, which are by default those of the class
/// that comes with the data; null if these cannot be found out.
[[nodiscard]] described_entry describe_algorithm(const draft& document);
/// A class that comes with the data and the algorithm's kind must fit each other.
void check_algorithm_class(draft& document);
/// Extracts the repeated tables and checks their keys.
void read_records(source_text& text, draft& document);
/// Reads [expect] and [smoke.expect], reports problems of both, and keeps those of the variant.
void read_expectations(const source_text& text, variant which, draft& document);
/// Reports invalid combinations, and notes keys without effect. Settles values that depend on others.
void check_scenario(draft& document);
/// The part about the algorithm and the aggregation rule, and the keys that they determine; resolves an alias.
void check_algorithm(draft& document);
void settle_algorithm(draft& document);
/// What the algorithm makes of a training loop of the model's own.
void check_own_loop(draft& document, const models::model& probe);
/// The parts about tensors of the model that are private, that the algorithm names, and that evaluation reconstructs.
void check_private(draft& document, const models::model& probe);
void check_tensor_options(draft& document, const models::model& probe);
/// The default: the tensors that a client without training cannot have.
void settle_reconstruct(draft& document, const models::model& probe);
/// The indices of the named tensors; reports unknown and repeated names.
std::vector<std::size_t> find_tensors(draft& document, const std::string& key, const models::model& probe);
/// What the run makes of a model's buffers.
void check_buffers(draft& document, const models::model& probe);
/// The part about [attack].
void check_attack(draft& document);
/// The part about secure aggregation.
void check_secure_aggregation(draft& document);
/// The values with a prefix, such as "model.", which is removed.
[[nodiscard]] option_values options_of(const draft& document, std::string_view prefix);
/// The options of the dataset that have a value and no problem, with those of the algorithm that comes with it.
[[nodiscard]] option_values source_options(const draft& document);
/// True if none of these options has a problem, so that all are readable.
[[nodiscard]] bool options_are_good(const draft& document, const std::string& prefix,
                                    const std::vector<option_spec>& options);
/// The parts about [participation] and [private], and about the simulation, its clock and the length of the run.
void check_participation(draft& document);
void check_simulation(draft& document);
void check_events(draft& document);
/// The part about [privacy], and the keys that it determines.
void check_privacy(draft& document);
/// Notes changed keys without effect, and figures with misleading names.
void check_unused(draft& document);
/// Notes changed keys that have no effect by the table of dependencies.
void note_idle_keys(draft& document);
/// True if tensors are reconstructed, in training or before scoring, or if this is unknown.
[[nodiscard]] bool reconstructs(const draft& document);
/// The value of a choice key, as written in a scenario.
[[nodiscard]] inline std::string quoted(const draft& document, std::string_view key) {
  return toml_string(document.values.text(key));
}
/// Reports a key that has no meaning under an algorithm without updates.
void report_unsent(draft& document, const std::string& key, const std::string& why);
/// The first rule with a trait: a built-in one exists for each.
[[nodiscard]] std::string rule_with(bool federated::rule_traits::*trait);
/// Notes changed keys of a table that have no effect.
void note_unused(draft& document, std::string_view table, std::initializer_list<const char*> keys,
                 const std::string& why);
/// The name of a record in problems: "event[1]" for item 0.
[[nodiscard]] std::string record_name(const std::string& table, std::size_t item);

/// True if the algorithm has private tensors.
[[nodiscard]] bool has_private(const draft& document);
/// The effective values of model.private: those of an algorithm with private tensors.
[[nodiscard]] std::vector<std::string> private_tensors(const draft& document);
/// True if clients keep values of private tensors from round to round.
[[nodiscard]] bool keeps_private(const draft& document);
/// The algorithm name in the file, for messages.
[[nodiscard]] inline const std::string& algorithm_word(const draft& of) { return of.named->kind; }

/// "file:line:column", or the origin only.
[[nodiscard]] std::string place_text(const std::string& origin, place position);
/// "place: key", or only the place of an option that names the key: "--set KEY".
[[nodiscard]] std::string keyed_place(const std::string& place, const std::string& key);
/// An option's value as TOML.
[[nodiscard]] std::string value_text(const option_value& value);
/// The words of a text, which are separated by blanks.
[[nodiscard]] std::vector<std::string> split_words(const std::string& text);
/// "a, b and c".
[[nodiscard]] std::string listed(const std::vector<std::string>& words, std::string_view last = "and");

}  // namespace furlong::scenarios
