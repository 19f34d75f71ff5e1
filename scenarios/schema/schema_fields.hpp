// Helpers to bind keys to fields of the settings.
#pragma once

#include <algorithm>
#include <array>
#include <cfloat>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <type_traits>
#include <utility>

#include "scenarios/schema/schema.hpp"

namespace furlong::scenarios::fields {

using federated::run_settings;

inline constexpr option_range above_zero{0.0, 1e300, true};
inline constexpr option_range at_least_one{1.0, 1e300};
inline constexpr option_range below_one{0.0, 0.999999};
inline constexpr option_range zero_to_one{0.0, 1.0};

/// The double with the shortest text of the float: 0.1, not 0.10000000149011612.
inline double widen(float value) {
  std::array<char, 32> text{};
  std::to_chars(text.data(), text.data() + text.size() - 1, value);
  return std::strtod(text.data(), nullptr);
}

inline const run_settings& default_settings() {
  static const run_settings settings;
  return settings;
}

/// A key bound to a field of the settings; `access` returns a reference to it. Type, default and the bounds of the type
/// follow from the field.
template <class At>
key_spec key(std::string name, At access, std::string doc, option_range range = {0.0}) {
  using field = std::remove_reference_t<decltype(access(std::declval<run_settings&>()))>;
  const auto& defaults = default_settings();
  key_spec spec;
  spec.option.name = std::move(name);
  spec.option.doc = std::move(doc);
  if constexpr (std::is_same_v<field, bool>) {
    spec.option.type = option_type::boolean;
    spec.option.fallback = access(defaults);
    spec.apply = [access](run_settings& settings, const option_value& value) {
      access(settings) = std::get<bool>(value);
    };
  } else if constexpr (std::is_same_v<field, std::string>) {
    spec.option.type = option_type::text;
    spec.option.fallback = access(defaults);
    spec.apply = [access](run_settings& settings, const option_value& value) {
      access(settings) = std::get<std::string>(value);
    };
  } else if constexpr (std::is_integral_v<field>) {
    spec.option.type = option_type::integer;
    spec.option.fallback = static_cast<std::int64_t>(access(defaults));
    range.at_most = std::min(range.at_most, static_cast<double>(std::numeric_limits<field>::max()));
    spec.apply = [access](run_settings& settings, const option_value& value) {
      access(settings) = static_cast<field>(std::get<std::int64_t>(value));
    };
  } else {
    spec.option.type = option_type::number;
    if constexpr (std::is_same_v<field, float>) {
      spec.option.fallback = widen(access(defaults));
      range.at_most = std::min(range.at_most, static_cast<double>(FLT_MAX));
    } else {
      spec.option.fallback = access(defaults);
    }
    spec.apply = [access](run_settings& settings, const option_value& value) {
      access(settings) = static_cast<field>(std::get<double>(value));
    };
  }
  spec.option.at_least = range.at_least;
  spec.option.at_most = range.at_most;
  spec.option.above = range.above;
  return spec;
}

/// A key bound to an enumeration, or to a flag with words.
template <class Enum>
using words = std::vector<std::pair<std::string, Enum>>;
template <class At, class Enum>
key_spec key(std::string name, At access, words<Enum> choices, std::string doc) {
  const auto& defaults = default_settings();
  key_spec spec;
  spec.option.name = std::move(name);
  spec.option.type = option_type::choice;
  spec.option.doc = std::move(doc);
  for (const auto& [word, value] : choices) {
    spec.option.choices.push_back(word);
    if (value == access(defaults)) spec.option.fallback = word;
  }
  spec.apply = [access, choices](run_settings& settings, const option_value& value) {
    for (const auto& [word, meaning] : choices)
      if (word == std::get<std::string>(value)) access(settings) = meaning;
  };
  return spec;
}

/// The kinds of a registry's entries, as choices.
template <class Entries>
std::vector<std::string> kinds_of(const Entries& entries) {
  std::vector<std::string> kinds;
  for (const auto& entry : entries) kinds.push_back(entry.kind);
  return kinds;
}

/// A key that the parser interprets.
inline key_spec plain(option_spec option) { return {std::move(option), nullptr, true}; }
/// The same key, excluded from the run's identity.
inline key_spec may_change(key_spec spec) {
  spec.identity = false;
  return spec;
}
/// The same key, whose text is a path: a relative one starts at the file's folder.
inline key_spec beside_file(key_spec spec) {
  spec.option.beside_file = true;
  return spec;
}
/// The same key without a default.
inline key_spec optional(key_spec spec) {
  spec.option.fallback.reset();
  return spec;
}

// Accessors of fields, so that each key is one line.
#define FURLONG_AT(field) \
  [](auto& s) -> auto& { return s.field; }

}  // namespace furlong::scenarios::fields
