#include "base/options.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>

namespace furlong {

namespace {

option_spec ranged(std::string name, option_type type, std::string doc, const option_range& range) {
  return {.name = std::move(name),
          .type = type,
          .doc = std::move(doc),
          .at_least = range.at_least,
          .at_most = range.at_most,
          .above = range.above};
}

}  // namespace

option_spec flag_option(std::string name, std::optional<bool> fallback, std::string doc) {
  return {.name = std::move(name), .type = option_type::boolean, .fallback = fallback, .doc = std::move(doc)};
}

option_spec integer_option(std::string name, std::optional<std::int64_t> fallback, std::string doc,
                           option_range range) {
  auto option = ranged(std::move(name), option_type::integer, std::move(doc), range);
  option.fallback = fallback;
  return option;
}

option_spec number_option(std::string name, std::optional<double> fallback, std::string doc, option_range range) {
  auto option = ranged(std::move(name), option_type::number, std::move(doc), range);
  option.fallback = fallback;
  return option;
}

option_spec text_option(std::string name, std::optional<std::string> fallback, std::string doc) {
  return {.name = std::move(name), .type = option_type::text, .fallback = std::move(fallback), .doc = std::move(doc)};
}

option_spec choice_option(std::string name, std::optional<std::string> fallback, std::string doc,
                          std::vector<std::string> choices) {
  return {.name = std::move(name),
          .type = option_type::choice,
          .fallback = std::move(fallback),
          .doc = std::move(doc),
          .choices = std::move(choices)};
}

option_spec required(option_spec option) {
  option.required = true;
  return option;
}

namespace {

/// The type that values of an option have.
bool has_type(option_type type, const option_value& value) {
  switch (type) {
    case option_type::boolean: return std::holds_alternative<bool>(value);
    case option_type::integer: return std::holds_alternative<std::int64_t>(value);
    case option_type::number: return std::holds_alternative<double>(value);
    case option_type::text:
    case option_type::choice: return std::holds_alternative<std::string>(value);
    case option_type::text_list: return std::holds_alternative<std::vector<std::string>>(value);
    case option_type::number_list: return std::holds_alternative<std::vector<double>>(value);
  }
  return false;
}

bool is_within(const option_spec& option, double value) {
  return (option.above ? value > option.at_least : value >= option.at_least) && value <= option.at_most;
}

bool is_name(const std::string& name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  };
  return !name.empty() && std::ranges::all_of(name, fits) && name.front() != '.' && name.back() != '.' &&
         name.find("..") == std::string::npos;
}

}  // namespace

std::string fault_of(const option_spec& option, const option_value& value) {
  if (!has_type(option.type, value)) return "is of another type";
  const auto* word = std::get_if<std::string>(&value);
  if (option.type == option_type::choice && std::ranges::find(option.choices, *word) == option.choices.end())
    return "is \"" + *word + "\", which is none of its choices";
  const std::string beyond = "is beyond its bounds";
  if (const auto* whole = std::get_if<std::int64_t>(&value); whole != nullptr)
    return is_within(option, static_cast<double>(*whole)) ? "" : beyond;
  if (const auto* number = std::get_if<double>(&value)) return is_within(option, *number) ? "" : beyond;
  if (const auto* numbers = std::get_if<std::vector<double>>(&value))
    return std::ranges::all_of(*numbers, [&](double number) { return is_within(option, number); }) ? "" : beyond;
  return {};
}

void check_options(const std::vector<option_spec>& options, const std::string& table,
                   std::span<const std::string_view> taken) {
  std::set<std::string_view> names(taken.begin(), taken.end());
  for (const auto& option : options) {
    const auto refuse = [&](const std::string& why) {
      throw std::invalid_argument("the option " + table + "." + option.name + " " + why);
    };
    if (!is_name(option.name)) refuse("has no proper name: name it by letters, digits, _ and -");
    if (!names.insert(option.name).second) refuse("is a key already: rename it");
    if (option.type == option_type::choice && option.choices.empty()) refuse("is a choice without choices: list them");
    if (!option.fallback) continue;
    if (const auto fault = fault_of(option, *option.fallback); !fault.empty())
      refuse("has a fallback that " + fault + ": correct it");
  }
}

template <class T>
const T& option_values::get(std::string_view name) const {
  const auto entry = values_.find(name);
  if (entry == values_.end()) throw std::logic_error("option \"" + std::string(name) + "\" is not set");
  const auto* value = std::get_if<T>(&entry->second);
  if (value == nullptr) throw std::logic_error("option \"" + std::string(name) + "\" has another type");
  return *value;
}

bool option_values::flag(std::string_view name) const { return get<bool>(name); }
std::int64_t option_values::integer(std::string_view name) const { return get<std::int64_t>(name); }
const std::string& option_values::text(std::string_view name) const { return get<std::string>(name); }
const std::vector<std::string>& option_values::list(std::string_view name) const {
  return get<std::vector<std::string>>(name);
}

const std::vector<double>& option_values::numbers(std::string_view name) const {
  return get<std::vector<double>>(name);
}

double option_values::number(std::string_view name) const {
  const auto entry = values_.find(name);
  if (entry != values_.end())
    if (const auto* whole = std::get_if<std::int64_t>(&entry->second)) return static_cast<double>(*whole);
  return get<double>(name);
}

option_values defaults(const std::vector<option_spec>& specs) {
  option_values values;
  for (const auto& spec : specs)
    if (spec.fallback) values.set(spec.name, *spec.fallback);
  return values;
}

}  // namespace furlong
