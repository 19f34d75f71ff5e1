// Typed, documented options: scenarios are parsed, validated and documented from this one description.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace furlong {

using option_value =
    std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>, std::vector<double>>;

/// The type of an option's values.
enum class option_type { boolean, integer, number, text, choice, text_list, number_list };

/// One key of a scenario table.
struct option_spec {
  std::string name;
  option_type type = option_type::number;
  std::optional<option_value> fallback = {};  ///< value when the key is absent; no fallback: see `required`
  std::string doc;                            ///< one sentence, with unit
  double at_least = -1e300;                   ///< bounds of integers and numbers, also of those in lists
  double at_most = 1e300;
  bool above = false;                     ///< the lower bound itself is excluded
  std::vector<std::string> choices = {};  ///< permitted values of a choice
  bool required = false;                  ///< absence is an error
  std::string same_as = {};               ///< dotted key of the scenario whose value is the default
  /// Text that begins with a path; a relative one starts at the file's folder. Nodes of a federation have their own.
  bool beside_file = false;
};

/// Bounds of an integer or a number. `above`: the lower bound itself is excluded.
struct option_range {
  double at_least = -1e300;
  double at_most = 1e300;
  bool above = false;
};

// Options of each type, without a default if `fallback` is nothing.
[[nodiscard]] option_spec flag_option(std::string name, std::optional<bool> fallback, std::string doc);
[[nodiscard]] option_spec integer_option(std::string name, std::optional<std::int64_t> fallback, std::string doc,
                                         option_range range = {});
[[nodiscard]] option_spec number_option(std::string name, std::optional<double> fallback, std::string doc,
                                        option_range range = {});
[[nodiscard]] option_spec text_option(std::string name, std::optional<std::string> fallback, std::string doc);
[[nodiscard]] option_spec choice_option(std::string name, std::optional<std::string> fallback, std::string doc,
                                        std::vector<std::string> choices);
/// The same option, whose absence is an error.
[[nodiscard]] option_spec required(option_spec option);

/// Why a value is none of the option: "is of another type"; empty: it is one.
[[nodiscard]] std::string fault_of(const option_spec& option, const option_value& value);
/// Checks the options of a part that a program registers. Throws std::invalid_argument, with the key, where a name is
/// none (parts of letters, digits, _ and -, with dots between them), is there twice or is taken, a fallback is no value
/// of its option, or a choice has no choices.
/// @param table of the keys, for messages: "model"
/// @param taken names in that table that are not the part's
void check_options(const std::vector<option_spec>& options, const std::string& table,
                   std::span<const std::string_view> taken = {});

/// Values by key, checked against their specs before they are read. A getter for a key that is absent, or of another
/// type, is a programming error and throws std::logic_error naming the key.
class option_values {
 public:
  void set(std::string name, option_value value) { values_[std::move(name)] = std::move(value); }
  [[nodiscard]] bool has(std::string_view name) const { return values_.contains(name); }
  [[nodiscard]] bool flag(std::string_view name) const;
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double number(std::string_view name) const;  ///< integers too
  [[nodiscard]] const std::string& text(std::string_view name) const;
  [[nodiscard]] const std::vector<std::string>& list(std::string_view name) const;
  [[nodiscard]] const std::vector<double>& numbers(std::string_view name) const;
  [[nodiscard]] const std::map<std::string, option_value, std::less<>>& all() const { return values_; }

 private:
  template <class T>
  const T& get(std::string_view name) const;
  std::map<std::string, option_value, std::less<>> values_;
};

/// The default values of the specs.
[[nodiscard]] option_values defaults(const std::vector<option_spec>& specs);

}  // namespace furlong
